// The ops that we put into a watched graph.
//   SleuthProbe    in the data path: records its input and returns the same buffer. It is not stateful, so nothing is
//                  serialised, dead ops stay dead, and it is placed with its producer.
//   SleuthWatch    beside the data path, in graphs that TensorFlow does not optimize: tfdbg inserts it.
//   SleuthCall     once in each function that Python calls: links TensorFlow's step id to the call.
//   SleuthPassed   after an op without a probed output, by a control edge: records when the op ended.
//   SleuthSummary  for tensors on an accelerator: records a summary that was computed there.
//   SleuthHeld     in a replay, instead of an op that reads outside state: returns the saved outputs.
//   SleuthHold     saves a value for it, as a probe with `hold` does.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "files/buffers.h"
#include "files/op_ends.h"
#include "graph/watched_functions.h"
#include "observers/breaks.h"
#include "observers/guard.h"
#include "observers/layer_stats.h"
#include "observers/watches.h"
#include "ops/repeated_tensor.h"
#include "ops/replay_inputs.h"
#include "ops/tensor_view.h"
#include "ops/tf_abi.h"
#include "recording.h"
#include "tf1_runs.h"

namespace sleuth {
namespace {

struct Probe {
  uint64_t session;
  uint32_t tensor;
  int look, dtype;
  uint32_t flags;                            // the device, see rows.h
  uint32_t hold;                             // the slot to keep the tensor in; 0: do not keep it
  uint64_t run;                              // of a session: the number of its graph; 0 in a function
  std::unique_ptr<RepeatedTensor> repeated;  // for an argument of a function of a dataset
};

struct Status {
  TF_Status* tf = TF_NewStatus();
  ~Status() { TF_DeleteStatus(tf); }
  bool ok() const { return TF_GetCode(tf) == 0; }
};

TF_Status* reused_status() {
  static thread_local Status status;
  return status.tf;
}

int64_t attribute(TF_OpKernelConstruction* construction, const char* name) {
  Status status;
  int64_t value = 0;
  TF_OpKernelConstruction_GetAttrInt64(construction, name, &value, status.tf);
  if (!status.ok()) TF_OpKernelConstruction_Failure(construction, status.tf);
  return value;
}

void* create(TF_OpKernelConstruction* construction) {
  auto* probe = new Probe{uint64_t(attribute(construction, "session")),
                          uint32_t(attribute(construction, "tensor")),
                          int(attribute(construction, "look")),
                          int(attribute(construction, "dtype")),
                          uint32_t(attribute(construction, "device")) << kDeviceShift,
                          uint32_t(attribute(construction, "hold")),
                          uint64_t(attribute(construction, "run")),
                          attribute(construction, "argument") ? std::make_unique<RepeatedTensor>() : nullptr};
  note_kernel(probe->session, probe->tensor);
  return probe;
}

void destroy(void* probe) { delete static_cast<Probe*>(probe); }

struct Input {
  TF_Tensor* tensor = nullptr;
  Input(TF_OpKernelContext* context, int index) {
    TF_GetInput(context, index, &tensor, reused_status());
    if (TF_GetCode(reused_status())) TF_OpKernelContext_Failure(context, reused_status());
  }
  ~Input() {
    if (tensor) TF_DeleteTensor(tensor);
  }
};

Where place_of(TF_OpKernelContext* context, const Probe& probe) {
  uint64_t frame = TF_GetFrameId(context);
  return {uint64_t(TF_StepId(context)), probe.tensor, uint32_t(TF_GetIterId(context)), uint32_t(frame ^ (frame >> 32)),
          kGraph};
}

// Fails the op, so that nothing after a bad value runs and no variable is spoiled. Python turns this into the
// explanation.
void fail(TF_OpKernelContext* context) {
  constexpr int kInvalidArgument = 3;
  TF_SetStatus(reused_status(), kInvalidArgument, "tensorsleuth: a value that is not finite");
  TF_OpKernelContext_Failure(context, reused_status());
}

// The same for a hit of a condition.
void stop_at(TF_OpKernelContext* context, int hit) {
  constexpr int kAborted = 10;
  char text[64];
  snprintf(text, sizeof text, "tensorsleuth: stopped by hit %d of break_when", hit);
  TF_SetStatus(reused_status(), kAborted, text);
  TF_OpKernelContext_Failure(context, reused_status());
}

void keep(TF_OpKernelContext* context, uint64_t tf_step, uint32_t slot) {
  Input again(context, 0);  // a second reference to the same memory
  if (again.tensor) held::keep(tf_step, slot, again.tensor);
  again.tensor = nullptr;
}

// Nobody else looks at this tensor, so a row for it needs no more than what is known.
bool is_plain(const Probe& probe) {
  return !breaks::asked(probe.tensor) && !watches::asked(probe.tensor) && !inside::asked(probe.tensor) && !guard::on();
}

bool note_argument(TF_OpKernelContext* context, const TensorView& view, const Where& where, uint32_t flags,
                   const Probe& probe) {
  Health health;
  bool known = is_plain(probe) && probe.repeated->knows(view, probe.look, &health);
  bool bad = note(view, probe.look, where, probe.flags | flags, &health, known);
  if (!known && is_plain(probe))
    probe.repeated->saw(view, probe.look, health, [&] {
      Input again(context, 0);
      TF_Tensor* taken = again.tensor;
      again.tensor = nullptr;
      return taken;
    });
  return bad;
}

// Returns false if the guard must stop the graph after this tensor.
bool look_at(TF_OpKernelContext* context, const TF_Tensor* tensor, const Probe& probe) {
  Where where = place_of(context, probe);
  bool steady = probe.run ? int64_t(where.step) <= 0 : !where.step;  // step ids of functions can be any number
  if (probe.run) where.step = runs::join(probe.run, where.step);
  if (probe.run && where.step == runs::kUnwatched) return true;
  uint32_t flags = steady ? kSteady : 0u;
  bool bad = probe.repeated ? note_argument(context, view_of(tensor), where, flags, probe)
                            : note(view_of(tensor), probe.look, where, probe.flags | flags);
  bool others = breaks::asked(probe.tensor) & breaks::kNotGuards || watches::not_guards(probe.tensor);
  return !(bad && where.step && guard::strict() && !others);
}

void compute_probe(void* kernel, TF_OpKernelContext* context) {
  const Probe& probe = *static_cast<Probe*>(kernel);
  Input input(context, 0);
  if (!input.tensor) return;
  if (probe.hold && recording(probe.session)) keep(context, uint64_t(TF_StepId(context)), probe.hold);
  if (probe.look >= kNotItself && recording(probe.session) && !probe.run) {
    buffers::saw(view_of(input.tensor), place_of(context, probe), probe.flags | (TF_StepId(context) ? 0u : kSteady));
    uint32_t series = probe.look == kDoNotLook ? inside::asked(probe.tensor) : 0;
    if (series) inside::saw(series, view_of(input.tensor), place_of(context, probe));
  }
  if (probe.look < kNotItself && recording(probe.session)) {
    bool go_on = look_at(context, input.tensor, probe);
    if (int hit = breaks::take_stop()) return stop_at(context, hit);
    if (!go_on) return fail(context);
  }
  TF_SetOutput(context, 0, input.tensor, reused_status());
  if (TF_GetCode(reused_status())) TF_OpKernelContext_Failure(context, reused_status());
}

void compute_watch(void* kernel, TF_OpKernelContext* context) {
  const Probe& probe = *static_cast<Probe*>(kernel);
  Input input(context, 0);
  if (!input.tensor) return;
  if (recording(probe.session) && !look_at(context, input.tensor, probe)) fail(context);
}

void compute_call(void* kernel, TF_OpKernelContext* context) {
  Input input(context, 0);
  if (!input.tensor || !recording(static_cast<Probe*>(kernel)->session)) return;
  Call call{};
  call.time = now_ns();
  call.call = *static_cast<uint64_t*>(TF_TensorData(input.tensor));
  call.thread = thread_number();
  call.kind = kJoin;
  call.tf_step = uint64_t(TF_StepId(context));
  held::joined(call.tf_step, call.call);
  note_call(call);
}

void compute_passed(void* kernel, TF_OpKernelContext* context) {
  const Probe& probe = *static_cast<Probe*>(kernel);
  if (!recording(probe.session)) return;
  passed::write({now_ns(), uint64_t(TF_StepId(context)), probe.tensor, uint32_t(probe.look), thread_number(), 0, 1, 0});
}

void compute_hold(void* kernel, TF_OpKernelContext* context) { keep(context, 0, static_cast<Probe*>(kernel)->hold); }

struct Held {
  uint32_t hold;
  uint64_t needed;  // one bit for each output
  int count;
  int dtypes[64];
};

void* create_held(TF_OpKernelConstruction* construction) {
  auto held = new Held{uint32_t(attribute(construction, "hold")),
                       uint64_t(attribute(construction, "needed")),
                       int(attribute(construction, "count")),
                       {}};
  Status status;
  TF_OpKernelConstruction_GetAttrTypeList(construction, "Tout", held->dtypes, 64, status.tf);
  if (!status.ok()) TF_OpKernelConstruction_Failure(construction, status.tf);
  return held;
}

void destroy_held(void* held) { delete static_cast<Held*>(held); }

void compute_held(void* kernel, TF_OpKernelContext* context) {
  constexpr int kNotFound = 5;
  const Held& held = *static_cast<Held*>(kernel);
  for (int i = 0; i < held.count; ++i) {
    const TF_Tensor* kept = held::next(held.hold + uint32_t(i));
    if (kept) {
      TF_SetOutput(context, i, kept, reused_status());
    } else if (held.needed >> i & 1) {
      TF_SetStatus(reused_status(), kNotFound, "tensorsleuth: a value that the step took was not kept");
    } else {  // nobody uses it
      int64_t none = 0;
      TF_Tensor* empty = TF_AllocateOutput(context, i, held.dtypes[i], &none, 1, 0, reused_status());
      if (empty) TF_DeleteTensor(empty);
    }
    if (TF_GetCode(reused_status())) return TF_OpKernelContext_Failure(context, reused_status());
  }
}

void unknown_shapes(TF_ShapeInferenceContext* context, TF_Status* status) {
  TF_ShapeInferenceContextSetUnknownShape(context, status);
}

void compute_summary(void* kernel, TF_OpKernelContext* context) {
  const Probe& probe = *static_cast<Probe*>(kernel);
  Input counts(context, 0), moments(context, 1), dims(context, 2);
  if (!counts.tensor || !moments.tensor || !dims.tensor || !recording(probe.session)) return;
  TensorView view{nullptr, 0, 0, probe.dtype, int(TF_TensorElementCount(dims.tensor)), {}};
  const int64_t* sizes = static_cast<int64_t*>(TF_TensorData(dims.tensor));
  for (int i = 0; i < view.rank && i < 8; ++i) view.dims[i] = sizes[i];
  note_summary(static_cast<double*>(TF_TensorData(counts.tensor)), static_cast<double*>(TF_TensorData(moments.tensor)),
               view, probe.look, place_of(context, probe));
  if (int hit = breaks::take_stop()) stop_at(context, hit);
}

void same_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  TF_ShapeHandle* shape = TF_NewShapeHandle();
  TF_ShapeInferenceContextGetInput(context, 0, shape, status);
  if (!TF_GetCode(status)) TF_ShapeInferenceContextSetOutput(context, 0, shape, status);
  TF_DeleteShapeHandle(shape);
}

TF_OpDefinitionBuilder* op(const char* name) {
  TF_OpDefinitionBuilder* builder = TF_NewOpDefinitionBuilder(name);
  for (const char* attr : {"session: int = 0", "tensor: int = 0", "look: int = 0", "dtype: int = 0", "device: int = 0",
                           "hold: int = 0", "run: int = 0", "argument: int = 0"})
    TF_OpDefinitionBuilderAddAttr(builder, attr);
  return builder;
}

using Create = void* (*)(TF_OpKernelConstruction*);
using Destroy = void (*)(void*);

void publish(const char* name, TF_OpDefinitionBuilder* definition, void (*compute)(void*, TF_OpKernelContext*),
             Create make = create, Destroy end = destroy) {
  Status status;
  TF_RegisterOpDefinition(definition, status.tf);
  if (status.ok()) TF_RegisterKernelBuilder(name, TF_NewKernelBuilder(name, "CPU", make, compute, end), status.tf);
}

__attribute__((constructor)) void publish_all() {
  TF_OpDefinitionBuilder* probe = op("SleuthProbe");
  TF_OpDefinitionBuilderAddAttr(probe, "T: type");
  TF_OpDefinitionBuilderAddInput(probe, "x: T");
  TF_OpDefinitionBuilderAddOutput(probe, "y: T");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(probe, same_shape);
  publish("SleuthProbe", probe, compute_probe);

  TF_OpDefinitionBuilder* watch = op("SleuthWatch");
  for (const char* attr :
       {"T: type", "device_name: string = ''", "tensor_name: string = ''", "debug_urls: list(string) = []"})
    TF_OpDefinitionBuilderAddAttr(watch, attr);
  TF_OpDefinitionBuilderAddInput(watch, "x: T");
  TF_OpDefinitionBuilderSetIsStateful(watch, true);
  publish("SleuthWatch", watch, compute_watch);

  TF_OpDefinitionBuilder* call = op("SleuthCall");
  TF_OpDefinitionBuilderAddInput(call, "call: int64");
  TF_OpDefinitionBuilderSetIsStateful(call, true);
  publish("SleuthCall", call, compute_call);

  TF_OpDefinitionBuilder* passed = op("SleuthPassed");
  TF_OpDefinitionBuilderSetIsStateful(passed, true);
  publish("SleuthPassed", passed, compute_passed);

  TF_OpDefinitionBuilder* summary = op("SleuthSummary");
  TF_OpDefinitionBuilderAddInput(summary, "counts: double");
  TF_OpDefinitionBuilderAddInput(summary, "moments: double");
  TF_OpDefinitionBuilderAddInput(summary, "dims: int64");
  TF_OpDefinitionBuilderSetIsStateful(summary, true);
  publish("SleuthSummary", summary, compute_summary);

  TF_OpDefinitionBuilder* hold = op("SleuthHold");
  TF_OpDefinitionBuilderAddAttr(hold, "T: type");
  TF_OpDefinitionBuilderAddInput(hold, "x: T");
  TF_OpDefinitionBuilderSetIsStateful(hold, true);
  publish("SleuthHold", hold, compute_hold);

  TF_OpDefinitionBuilder* held = op("SleuthHeld");
  for (const char* attr : {"Tout: list(type)", "needed: int = 0", "count: int = 0"})
    TF_OpDefinitionBuilderAddAttr(held, attr);
  TF_OpDefinitionBuilderAddOutput(held, "y: Tout");
  TF_OpDefinitionBuilderSetIsStateful(held, true);
  TF_OpDefinitionBuilderSetShapeInferenceFunction(held, unknown_shapes);
  publish("SleuthHeld", held, compute_held, create_held, destroy_held);
}

}  // namespace
}  // namespace sleuth

// Returns how many rows were written without reading the tensor again.
extern "C" __attribute__((visibility("default"))) uint64_t sleuth_repeated_rows() {
  return sleuth::repeated_rows.load();
}
