// The op of tensorsleuth.expect in graphs. SleuthExpect judges its input and passes the same buffer on. It is stateful,
// so it runs even if nobody uses its output. Python makes TensorFlow order it only by its input.
#include "ops/expect.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "ops/tensor_view.h"
#include "ops/tf_abi.h"

namespace sleuth::expect {
namespace {

struct Asked {
  Plan plan;
  std::vector<double> choices;
};

// Reports a broken expectation, on the thread that found it. Returns the number of the exception to raise, or 0 to
// continue.
using Tell = int64_t (*)(int64_t expectation, const TensorView*, const Report*, uint64_t step, int64_t iteration);

std::mutex mutex;
std::unordered_map<int64_t, std::shared_ptr<const Asked>> asked;
std::atomic<Tell> tell{nullptr};
std::atomic<int> tellers{0};

std::shared_ptr<const Asked> find(int64_t number) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = asked.find(number);
  return found == asked.end() ? nullptr : found->second;
}

// ---- named sizes: one for each run of a function; the expectation that set a size may change it

struct Bound {
  uint64_t step;
  int64_t name, size, by;
};
constexpr size_t kBounds = 1 << 12;
Bound bounds[kBounds];
std::mutex bounds_mutex;

struct Scope {
  uint64_t step;
  int64_t expectation;
};

bool bind(void* in, int64_t name, int64_t size, int64_t* other_size, int64_t* other) {
  const Scope& scope = *static_cast<Scope*>(in);
  std::lock_guard<std::mutex> lock(bounds_mutex);
  Bound& bound = bounds[(scope.step * 31 + uint64_t(name)) % kBounds];
  bool known = bound.step == scope.step && bound.name == name && bound.by != scope.expectation;
  if (!known || bound.size == size) {
    if (!known) bound = {scope.step, name, size, scope.expectation};
    return true;
  }
  *other_size = bound.size, *other = bound.by;
  return false;
}

// ---- the kernel

struct Status {
  TF_Status* tf = TF_NewStatus();
  ~Status() { TF_DeleteStatus(tf); }
};

TF_Status* status() {
  static thread_local Status reused;
  return reused.tf;
}

struct Kernel {
  int64_t number;
  std::shared_ptr<const Asked> asked;
};

void* create(TF_OpKernelConstruction* construction) {
  int64_t number = 0;
  TF_OpKernelConstruction_GetAttrInt64(construction, "expectation", &number, status());
  if (TF_GetCode(status())) TF_OpKernelConstruction_Failure(construction, status());
  return new Kernel{number, find(number)};
}

void destroy(void* kernel) { delete static_cast<Kernel*>(kernel); }

int64_t told(int64_t number, const TensorView& view, const Report& report, TF_OpKernelContext* context) {
  ++tellers;
  Tell to = tell.load();
  bool before = busy;
  busy = true;  // ops that Python runs here are not the program's
  int64_t alarm = to ? to(number, &view, &report, uint64_t(TF_StepId(context)), TF_GetIterId(context)) : 0;
  busy = before;
  --tellers;
  return alarm;
}

int64_t judged(const Kernel& kernel, const TF_Tensor* tensor, TF_OpKernelContext* context) {
  const Plan& plan = kernel.asked->plan;
  TensorView view = view_of(tensor);
  Scope scope{uint64_t(TF_StepId(context)), kernel.number};
  Report report;
  bool good = judge_form(plan, view, bind, &scope, &report) && judge_values(plan, view, &report);
  if (good && !(plan.rules >> kThat & 1)) return 0;
  if (good) report = Report{}, report.rule = kThat;
  return told(kernel.number, view, report, context);
}

void compute(void* data, TF_OpKernelContext* context) {
  constexpr int kInvalidArgument = 3;
  const Kernel& kernel = *static_cast<Kernel*>(data);
  TF_Tensor* tensor = nullptr;
  TF_GetInput(context, 0, &tensor, status());
  if (TF_GetCode(status())) return TF_OpKernelContext_Failure(context, status());
  int64_t alarm = kernel.asked ? judged(kernel, tensor, context) : 0;
  if (alarm) {
    char text[96];
    snprintf(text, sizeof text, "tensorsleuth: violation %lld of an expectation", static_cast<long long>(alarm));
    TF_SetStatus(status(), kInvalidArgument, text);
    TF_OpKernelContext_Failure(context, status());
  } else {
    TF_SetOutput(context, 0, tensor, status());
    if (TF_GetCode(status())) TF_OpKernelContext_Failure(context, status());
  }
  TF_DeleteTensor(tensor);
}

void same_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  TF_ShapeHandle* shape = TF_NewShapeHandle();
  TF_ShapeInferenceContextGetInput(context, 0, shape, status);
  if (!TF_GetCode(status)) TF_ShapeInferenceContextSetOutput(context, 0, shape, status);
  TF_DeleteShapeHandle(shape);
}

__attribute__((constructor)) void publish() {
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("SleuthExpect");
  TF_OpDefinitionBuilderAddAttr(op, "T: type");
  TF_OpDefinitionBuilderAddAttr(op, "expectation: int = 0");
  TF_OpDefinitionBuilderAddInput(op, "x: T");
  // As in Identity, which replaces this op where it is left out.
  TF_OpDefinitionBuilderAddOutput(op, "output: T");
  TF_OpDefinitionBuilderSetIsStateful(op, true);
  TF_OpDefinitionBuilderSetShapeInferenceFunction(op, same_shape);
  Status status;
  TF_RegisterOpDefinition(op, status.tf);
  if (TF_GetCode(status.tf)) return;
  TF_KernelBuilder* kernel = TF_NewKernelBuilder("SleuthExpect", "CPU", create, compute, destroy);
  TF_RegisterKernelBuilder("SleuthExpect", kernel, status.tf);
}

}  // namespace
}  // namespace sleuth::expect

extern "C" {
#define SLEUTH_API __attribute__((visibility("default")))
using namespace sleuth;

SLEUTH_API void sleuth_expect_set(int64_t number, const expect::Plan* plan) {
  auto made = std::make_shared<expect::Asked>();
  made->plan = *plan;
  made->choices.assign(plan->choices, plan->choices + plan->choice_count);
  made->plan.choices = made->choices.data();
  std::lock_guard<std::mutex> lock(expect::mutex);
  expect::asked[number] = made;
}

SLEUTH_API void sleuth_expect_tell(expect::Tell tell) { expect::tell = tell; }

// Waits until no thread is in Python, but at most that many milliseconds. Returns 0 if one still is.
SLEUTH_API int sleuth_expect_drain(int milliseconds) {
  for (; expect::tellers.load() && milliseconds > 0; --milliseconds) usleep(1000);
  return !expect::tellers.load();
}

// The sizes of the structs that Python fills in; a test compares them.
SLEUTH_API int sleuth_expect_sizes() { return int(sizeof(expect::Plan)) << 16 | int(sizeof(expect::Report)); }

// In a forked child: a thread that held a lock in the parent does not exist here.
SLEUTH_API void sleuth_expect_abandon() {
  new (&expect::mutex) std::mutex();
  new (&expect::bounds_mutex) std::mutex();
  expect::tellers = 0;
}

// Judges the values of a tensor from Python; returns 0 if they break the expectation.
SLEUTH_API int sleuth_expect_judge(const expect::Plan* plan, const TensorView* tensor, expect::Report* report) {
  return expect::judge_values(*plan, *tensor, report);
}
}
