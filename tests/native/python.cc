// Python tensors that are born and die on several threads, with a fake Python: tensor_lifetimes.cc calls few of its
// functions, all of them under its lock.
#include <mutex>

#include "driver.h"
#include "memory/tensor_lifetimes.h"

// An eager tensor, a weak reference to one, or the callback of a reference.
struct sleuth::py::Object {
  int references = 1;
  Object* of = nullptr;  // of a weak reference: its callback
  Object* weak = nullptr;
  MethodDef* method = nullptr;
  std::vector<char> memory;
};

namespace {

using sleuth::py::Object;

constexpr int kThreads = 4;
constexpr size_t kLarge = 100'000;  // bytes: large enough for its birth to be recorded
std::mutex& gil = *new std::mutex;
Object none, function;
intptr_t shape[] = {kLarge};
std::atomic<uint64_t> deaths{0};

void play_python() {
  using namespace sleuth::py;
  None = &none;
  Py_IncRef = [](Object* object) { ++object->references; };
  Py_DecRef = [](Object* object) {
    if (!--object->references) delete object;
  };
  PyErr_Clear = [] {};
  PyCFunction_NewEx = [](MethodDef* method, Object*, Object*) {
    function.method = method;
    return &function;
  };
  PyWeakref_NewRef = [](Object* tensor, Object* callback) {
    tensor->weak = new Object;
    tensor->weak->of = callback;
    return tensor->weak;
  };
  PyObject_GetBuffer = [](Object* tensor, Buffer* buffer, int) {
    *buffer = {
        tensor->memory.data(), tensor, Size(tensor->memory.size()), 1, 1, 1, nullptr, shape, nullptr, nullptr, nullptr};
    return 0;
  };
  PyBuffer_Release = [](Buffer*) {};
}

Object* be_born(uint32_t id) {
  Object* tensor = new Object;
  tensor->memory.resize(kLarge);
  sleuth::births::noted(tensor, 4, {1, id, 0, 0, sleuth::kEager});
  return tensor;
}

// As CPython does it: only we own the weak reference during its callback.
void die(Object* tensor) {
  Object* weak = tensor->weak;
  delete tensor;
  if (!weak) return;
  weak->of->method->method(nullptr, &weak, 1);
  ++deaths;
}

void live(int thread) {
  std::vector<Object*> tensors;
  for (int i = 0; i < 20; ++i) {
    std::lock_guard<std::mutex> lock(gil);
    tensors.push_back(be_born(uint32_t(thread * 100 + i)));
  }
  for (Object* tensor : tensors) {
    std::lock_guard<std::mutex> lock(gil);
    die(tensor);
  }
}

// Some die after the recording that saw them, during the next one.
void births(const std::string& folder) {
  play_python();
  Meanwhile lives(kThreads, live);
  for (uint64_t session = 1; session <= 10; ++session) {
    uint64_t before = deaths;
    Recording recording(folder, session);
    await([&] { return deaths >= before + (kSlow ? 500 : 2000); });
  }
}

// A tensor born in the parent also dies in its child.
void births_fork(const std::string& folder) {
  play_python();
  Recording recording(folder, 1);
  Meanwhile lives(kThreads, live);
  for (int round = 0; round < 50; ++round) {
    std::lock_guard<std::mutex> lock(gil);  // Python forks while it holds its lock
    Object* tensor = be_born(7);
    fork_often(
        [&] {
          die(tensor);
          Recording own(folder, uint64_t(getpid()));
          die(be_born(8));
        },
        1);
    die(tensor);
  }
}

}  // namespace

const std::vector<Scenario> kBirths{{"births", births}, {"births-fork", births_fork}};
