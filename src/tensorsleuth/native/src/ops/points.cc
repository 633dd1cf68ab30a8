// The ops that user code puts into its graphs through our Python API. Neither has an output.
//   SleuthPoint  `tensorsleuth.watch(x, name=…)`: measures its input for a series.
//   SleuthLog    `tensorsleuth.log(…)`: passes its inputs to Python, which prints them.
#include <unistd.h>

#include <atomic>
#include <vector>

#include "observers/watches.h"
#include "ops/tensor_view.h"
#include "ops/tf_abi.h"
#include "ops/tstring.h"
#include "recording.h"

namespace sleuth {
namespace {

// The number of the message, how many values, and the values.
using Print = void (*)(int64_t message, int count, const TensorView* values);
std::atomic<Print> on_log{nullptr};
std::atomic<int> printing{0};

struct Status {
  TF_Status* tf = TF_NewStatus();
  ~Status() { TF_DeleteStatus(tf); }
};

struct Inputs {
  std::vector<TF_Tensor*> tensors;
  std::vector<TensorView> views;

  explicit Inputs(TF_OpKernelContext* context) {
    Status status;
    for (int i = 0; i < TF_NumInputs(context); ++i) {
      TF_Tensor* tensor = nullptr;
      TF_GetInput(context, i, &tensor, status.tf);
      if (TF_GetCode(status.tf)) {
        TF_OpKernelContext_Failure(context, status.tf);
        return;
      }
      tensors.push_back(tensor);
      views.push_back(view_of(tensor));
    }
  }
  ~Inputs() {
    for (TF_Tensor* tensor : tensors) TF_DeleteTensor(tensor);
  }
};

void* create(TF_OpKernelConstruction* construction) {
  Status status;
  int64_t number = 0;
  TF_OpKernelConstruction_GetAttrInt64(construction, "number", &number, status.tf);
  if (TF_GetCode(status.tf)) TF_OpKernelConstruction_Failure(construction, status.tf);
  return new int64_t(number);
}

void destroy(void* number) { delete static_cast<int64_t*>(number); }

void compute_point(void* kernel, TF_OpKernelContext* context) {
  uint32_t series = uint32_t(*static_cast<int64_t*>(kernel));
  if (!watches::is_due(series)) return;
  Inputs inputs(context);
  if (inputs.views.empty()) return;
  uint64_t frame = TF_GetFrameId(context);
  Where where{uint64_t(TF_StepId(context)), 0, uint32_t(TF_GetIterId(context)), uint32_t(frame ^ (frame >> 32)),
              kGraph};
  watches::look_at(series, inputs.views[0], where);
}

struct Printing {  // counts itself, so that the end of the process can wait for it
  Printing() { ++printing; }
  ~Printing() { --printing; }
};

void compute_log(void* kernel, TF_OpKernelContext* context) {
  Printing counted;
  Print print = on_log.load();
  if (!print) return;
  Inputs inputs(context);
  if (int(inputs.views.size()) != TF_NumInputs(context)) return;
  bool before = busy;
  busy = true;  // ops that Python runs here are not the program's
  print(*static_cast<int64_t*>(kernel), int(inputs.views.size()), inputs.views.data());
  busy = before;
}

void publish(const char* name, const char* type, const char* input, void (*compute)(void*, TF_OpKernelContext*)) {
  Status status;
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder(name);
  for (const char* attr : {"number: int = 0", type}) TF_OpDefinitionBuilderAddAttr(op, attr);
  TF_OpDefinitionBuilderAddInput(op, input);
  TF_OpDefinitionBuilderSetIsStateful(op, true);
  TF_RegisterOpDefinition(op, status.tf);
  if (!TF_GetCode(status.tf))
    TF_RegisterKernelBuilder(name, TF_NewKernelBuilder(name, "CPU", create, compute, destroy), status.tf);
}

__attribute__((constructor)) void publish_all() {
  publish("SleuthPoint", "T: type", "x: T", compute_point);
  publish("SleuthLog", "T: list(type) >= 0", "x: T", compute_log);
}

}  // namespace
}  // namespace sleuth

extern "C" {
#define SLEUTH_API __attribute__((visibility("default")))

SLEUTH_API void sleuth_log_tell(sleuth::Print print) { sleuth::on_log = print; }

// Waits until no thread prints, but at most that many milliseconds. Returns 0 if one still does.
SLEUTH_API int sleuth_log_drain(int milliseconds) {
  for (; sleuth::printing.load() && milliseconds > 0; --milliseconds) usleep(1000);
  return !sleuth::printing.load();
}

// The text at `index` of a string tensor in a graph: its address and its length.
SLEUTH_API uint64_t sleuth_text(const sleuth::TensorView* tensor, uint64_t index, const char** text) {
  auto found = sleuth::text_of(static_cast<const char*>(tensor->data) + index * sleuth::kStringBytes);
  *text = found.data();
  return found.size();
}
}
