// The ops of tensorsleuth.checked(), which check the elements of a data set as they pass. A good element costs one
// pass. A suspect element goes to Python, which decides about it.
//   SleuthChecked  passes its inputs on, or fails with the message that Python wrote.
//   SleuthKeeps    returns whether to keep an element.
// Both take the number of the element as their first input.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <vector>

#include "kernels/health.h"
#include "ops/tensor_view.h"
#include "ops/tf_abi.h"
#include "recording.h"

namespace sleuth {
namespace checked {

// The rules for one input. data/pipeline/native.py defines the same for ctypes.
struct Rule {
  int32_t rank;      // -1: any
  int32_t look;      // 0: do not read the values
  int32_t nan, inf;  // whether they are allowed
  double low, high;
  int64_t dims[8];      // a size; -1: any; -2 and less: a named size, the same wherever the name occurs
  const double* known;  // the allowed values, sorted; nullptr: any
  int64_t known_count;
};

enum Answer : int { kPass = 0, kFail = 1, kDrop = 2 };
constexpr int kNames = 16, kMessage = 4096;
using Tell = int (*)(int64_t plan, int64_t index, int count, const TensorView* views, char* message, int room);

std::atomic<Tell> tell{nullptr};
std::atomic<int> tellers{0};
std::mutex mutex;
std::vector<std::vector<Rule>*> plans;  // never freed: a pipeline may run as long as the process

const std::vector<Rule>* plan_of(int64_t number) {
  std::lock_guard<std::mutex> lock(mutex);
  return number >= 0 && number < int64_t(plans.size()) ? plans[size_t(number)] : nullptr;
}

bool shape_fits(const Rule& rule, const TensorView& view, int64_t* names) {
  if (rule.rank < 0) return true;
  if (view.rank != rule.rank) return false;
  for (int i = 0; i < view.rank && i < 8; ++i) {
    int64_t expected = rule.dims[i], name = -2 - expected;
    if (expected >= 0 && expected != view.dims[i]) return false;
    if (expected > -2 || name >= kNames) continue;
    if (names[name] < 0) names[name] = view.dims[i];
    if (names[name] != view.dims[i]) return false;
  }
  return true;
}

template <class T>
bool all_known(const Rule& rule, const TensorView& view) {
  const T* values = static_cast<const T*>(view.data);
  for (uint64_t i = 0; i < view.elements; ++i)
    if (values[i] == values[i] && !std::binary_search(rule.known, rule.known + rule.known_count, double(values[i])))
      return false;
  return true;
}

bool known_fits(const Rule& rule, const TensorView& view) {
  if (!rule.known) return true;
  switch (view.dtype) {
    case 1: return all_known<float>(rule, view);
    case 2: return all_known<double>(rule, view);
    case 3: return all_known<int32_t>(rule, view);
    case 4: return all_known<uint8_t>(rule, view);
    case 5: return all_known<int16_t>(rule, view);
    case 6: return all_known<int8_t>(rule, view);
    case 9: return all_known<int64_t>(rule, view);
    case 10: return all_known<bool>(rule, view);
    default: return false;  // leave it to Python
  }
}

bool values_fit(const Rule& rule, const TensorView& view) {
  if (!rule.look || !view.elements) return true;
  Health health;
  look(view.data, view.elements, view.dtype, rule.look, &health);
  if (health.nan && !rule.nan) return false;
  if ((health.neg_inf || health.pos_inf) && !rule.inf) return false;
  return !(health.min < rule.low || health.max > rule.high);  // both are NaN if no value is finite
}

bool fits(const std::vector<Rule>& rules, const std::vector<TensorView>& views) {
  int64_t names[kNames];
  std::fill(names, names + kNames, int64_t(-1));
  for (size_t i = 0; i < rules.size() && i < views.size(); ++i)
    if (!shape_fits(rules[i], views[i], names) || !values_fit(rules[i], views[i]) || !known_fits(rules[i], views[i]))
      return false;
  return true;
}

TF_Status* status() {
  static thread_local TF_Status* reused = TF_NewStatus();
  return reused;
}

struct Inputs {
  std::vector<TF_Tensor*> tensors;
  std::vector<TensorView> views;  // excluding the element's number
  int64_t index = -1;

  explicit Inputs(TF_OpKernelContext* context) {
    for (int i = 0, count = TF_NumInputs(context); i < count; ++i) {
      TF_Tensor* tensor = nullptr;
      TF_GetInput(context, i, &tensor, status());
      if (TF_GetCode(status())) {
        TF_OpKernelContext_Failure(context, status());
        return;
      }
      tensors.push_back(tensor);
      if (i) views.push_back(view_of(tensor));
    }
    if (!tensors.empty()) std::memcpy(&index, TF_TensorData(tensors[0]), sizeof index);
  }
  ~Inputs() {
    for (TF_Tensor* tensor : tensors) TF_DeleteTensor(tensor);
  }
};

int ask(int64_t plan, const Inputs& inputs, char* message) {
  ++tellers;
  Tell now = tell.load();
  int answer = now ? now(plan, inputs.index, int(inputs.views.size()), inputs.views.data(), message, kMessage) : kPass;
  --tellers;
  return answer;
}

// Returns whether to keep an element, or -1 if the op has failed.
int judge(void* kernel, TF_OpKernelContext* context, const Inputs& inputs) {
  constexpr int kInvalidArgument = 3;
  int64_t number = *static_cast<int64_t*>(kernel);
  const std::vector<Rule>* rules = plan_of(number);
  if (!rules || fits(*rules, inputs.views)) return 1;
  char message[kMessage] = "tensorsleuth: an element breaks its schema";
  int answer = ask(number, inputs, message);
  if (answer != kFail) return answer == kPass;
  TF_SetStatus(status(), kInvalidArgument, message);
  TF_OpKernelContext_Failure(context, status());
  return -1;
}

void compute_checked(void* kernel, TF_OpKernelContext* context) {
  Inputs inputs(context);
  if (int(inputs.tensors.size()) < TF_NumInputs(context) || judge(kernel, context, inputs) < 0) return;
  for (size_t i = 1; i < inputs.tensors.size(); ++i) {
    TF_SetOutput(context, int(i) - 1, inputs.tensors[i], status());
    if (TF_GetCode(status())) return TF_OpKernelContext_Failure(context, status());
  }
}

void compute_keeps(void* kernel, TF_OpKernelContext* context) {
  constexpr int kBool = 10;
  Inputs inputs(context);
  if (int(inputs.tensors.size()) < TF_NumInputs(context)) return;
  int keep = judge(kernel, context, inputs);
  if (keep < 0) return;
  TF_Tensor* output = TF_AllocateOutput(context, 0, kBool, nullptr, 0, 1, status());
  if (TF_GetCode(status())) return TF_OpKernelContext_Failure(context, status());
  *static_cast<bool*>(TF_TensorData(output)) = keep > 0;
  TF_DeleteTensor(output);
}

void* create(TF_OpKernelConstruction* construction) {
  int64_t* plan = new int64_t(-1);
  TF_OpKernelConstruction_GetAttrInt64(construction, "plan", plan, status());
  if (TF_GetCode(status())) TF_OpKernelConstruction_Failure(construction, status());
  return plan;
}

void destroy(void* plan) { delete static_cast<int64_t*>(plan); }

void unknown(TF_ShapeInferenceContext* context, TF_Status* status) {
  TF_ShapeInferenceContextSetUnknownShape(context, status);
}

void publish(const char* name, const char* output, void (*compute)(void*, TF_OpKernelContext*)) {
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder(name);
  for (const char* attr : {"T: list(type)", "plan: int"}) TF_OpDefinitionBuilderAddAttr(op, attr);
  for (const char* input : {"index: int64", "values: T"}) TF_OpDefinitionBuilderAddInput(op, input);
  TF_OpDefinitionBuilderAddOutput(op, output);
  TF_OpDefinitionBuilderSetShapeInferenceFunction(op, unknown);
  TF_RegisterOpDefinition(op, status());
  if (!TF_GetCode(status()))
    TF_RegisterKernelBuilder(name, TF_NewKernelBuilder(name, "CPU", create, compute, destroy), status());
}

__attribute__((constructor)) void publish_all() {
  publish("SleuthChecked", "same: T", compute_checked);
  publish("SleuthKeeps", "keep: bool", compute_keeps);
}

}  // namespace checked
}  // namespace sleuth

extern "C" {
#define SLEUTH_API __attribute__((visibility("default")))
using namespace sleuth::checked;

// Sets the function that receives suspect elements; with nullptr, all elements pass.
SLEUTH_API void sleuth_checked_tell(Tell told) { tell = told; }

// Returns the number of a new plan: a rule for each input. `known` of a rule must stay valid.
SLEUTH_API int64_t sleuth_checked_plan(const Rule* rules, int count) {
  std::lock_guard<std::mutex> lock(mutex);
  plans.push_back(new std::vector<Rule>(rules, rules + count));
  return int64_t(plans.size()) - 1;
}

// Stops calling Python. Waits until no thread is in Python, but at most that many milliseconds.
SLEUTH_API int sleuth_checked_drain(int milliseconds) {
  tell = nullptr;
  for (; tellers.load() && milliseconds > 0; --milliseconds) usleep(1000);
  return !tellers.load();
}
}
