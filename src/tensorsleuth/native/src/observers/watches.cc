#include "observers/watches.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "files/values.h"
#include "kernels/health.h"
#include "kernels/measure.h"
#include "observers/layer_stats.h"
#include "observers/tensor_map.h"
#include "ops/tstring.h"

namespace sleuth::watches {

std::atomic<bool> active{false};

namespace {

struct Plan {
  std::atomic<int64_t> every{0};  // 0: never
  std::atomic<uint32_t> what{0};
};

Plan plans[kMost];
TensorMap<uint32_t> series_of;
std::mutex mutex;

struct Files {  // the files of rows, and of the values beside them
  Ring rows;
  Values values;

  const uint32_t row_size;

  int open(const char* row_path, const char* value_rows, const char* bytes, uint64_t chunk_rows, uint64_t chunks,
           uint64_t bound) {
    if (rows.is_open()) return 0;
    RingPlan plan = plan_of<Watched>(chunk_rows, chunks);
    plan.row_size = row_size;
    int error = rows.open(row_path, plan);
    return error ? error : values.open(bytes, value_rows, bound);
  }
  void close() { rows.close(), values.close(); }
  void abandon() { rows.abandon(), values.abandon(); }
};

Files watched{{}, {}, sizeof(Watched)},
    ours{{}, {}, kInsideRow};  // series that the program watches; series of layer_stats.h
Files& files_of(uint32_t series) { return inside::has(series) ? ours : watched; }

constexpr uint64_t kImages = 4, kTexts = 64, kTextBytes = 4096;

// Returns how many images of a tensor [N, H, W] or [N, H, W, C] to keep. A single image counts as one.
uint64_t images_in(const TensorView& tensor) {
  bool several = tensor.rank == 4 || (tensor.rank == 3 && tensor.dims[2] > 4);
  return several ? std::min<uint64_t>(kImages, uint64_t(tensor.dims[0])) : 1;
}

uint64_t image_bytes(const TensorView& tensor) {
  bool several = tensor.rank == 4 || (tensor.rank == 3 && tensor.dims[2] > 4);
  return several && tensor.dims[0] > 0 ? tensor.bytes / uint64_t(tensor.dims[0]) * images_in(tensor) : tensor.bytes;
}

// Each text follows its length, 4 bytes.
std::string texts_in(const TensorView& tensor, uint32_t* kept) {
  std::string all;
  *kept = uint32_t(std::min(kTexts, tensor.elements));
  for (uint32_t i = 0; i < *kept; ++i) {
    std::string_view text = text_of(static_cast<const char*>(tensor.data) + i * kStringBytes).substr(0, kTextBytes);
    uint32_t length = uint32_t(text.size());
    all.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
  }
  return all;
}

// Keeps the tensor's own data, if selected; returns its flag, or 0.
uint32_t keep(Values& values, uint64_t number, const TensorView& tensor, const Where& where, uint32_t what,
              Watched* row) {
  if (tensor.dtype == kStringDtype) {
    if (!(what & kWatchText) || where.kind != kGraph) return 0;  // strings of eager tensors arrive as text
    std::string texts = texts_in(tensor, &row->kept);
    return values.keep(number, texts.data(), texts.size()) ? kWatchText : 0u;
  }
  if (what & kWatchValue && values.keep(number, tensor.data, tensor.bytes)) {
    row->kept = tensor.rank && tensor.rank <= 8 ? uint32_t(tensor.dims[0]) : 1;
    return kWatchValue | (what & kWatchImage);
  }
  if (!(what & kWatchImage) || tensor.rank < 2 || tensor.rank > 4) return 0;
  row->kept = uint32_t(images_in(tensor));
  return values.keep(number, tensor.data, image_bytes(tensor)) ? kWatchImage : 0u;
}

}  // namespace

Watched row_of(uint32_t series, const TensorView& tensor, const Where& where, const Health& health) {
  Watched row{};
  row.time = now_ns();
  row.step = step_now();
  row.run = where.step;
  row.series = series;
  row.iteration = where.kind == kGraph ? where.iteration : 0;
  row.shape = shape_number(tensor.rank, tensor.dims);
  row.thread = thread_number();
  row.dtype = uint8_t(tensor.dtype);
  row.elements = tensor.elements;
  row.nan = health.nan, row.neg_inf = health.neg_inf, row.pos_inf = health.pos_inf, row.zero = health.zero;
  row.min = health.min, row.max = health.max;
  return row;
}

Health health_of(const TensorView& tensor) {
  Health health;
  look(tensor.data, tensor.elements, tensor.dtype, kFull, &health);
  return health;
}

namespace {

double norm_of(const TensorView& tensor, const Health& health) {
  Watched row = row_of(0, tensor, Where{}, health);
  measure(tensor.data, tensor.elements, tensor.dtype, kWatchNorm, &row);
  return row.norm;
}

class Update {  // the update of a variable in a step
 public:
  Update(const TensorView& after, const TensorView* before) : view(after) {
    if (!before || before->elements != after.elements || before->dtype != after.dtype) return;
    room_.reset(new double[after.elements + 1]);
    view.dtype = subtract(after.data, before->data, after.elements, after.dtype, room_.get());
    view.data = room_.get();
    view.bytes = after.elements * (view.dtype == 2 ? 8 : 4);
    if (!view.dtype) return;
    health = health_of(view);
    step = {true, norm_of(*before, health_of(*before)), norm_of(view, health)};
  }

  TensorView view;
  Health health;
  Step step;

 private:
  std::unique_ptr<double[]> room_;
};

void write(Watched row, const TensorView& tensor, const Where& where, uint32_t what) {
  uint64_t number;
  Files& files = files_of(row.series);
  char* place = files.rows.claim(&number);
  if (!place) return;
  row.flags |= keep(files.values, number, tensor, where, what, &row);
  write_row(place, row, where.kind, files.row_size);
}

}  // namespace

uint32_t look_up(uint32_t tensor) {
  uint32_t series = series_of.get(tensor) & ~kNotGuards;
  return series && is_due(series) ? series : 0;
}

bool not_guards(uint32_t tensor) {
  return active.load(std::memory_order_relaxed) && series_of.get(tensor) & kNotGuards;
}

bool is_due(uint32_t series) {
  int64_t every = series < kMost ? plans[series].every.load(std::memory_order_relaxed) : 0, step = step_now();
  return every > 0 && active.load(std::memory_order_relaxed) && (step < 0 || step % every == 0);
}

void saw(uint32_t series, const TensorView& tensor, const Where& where, const Health& health, const Step& step) {
  if (where.kind == kGraph && !where.step) return;  // the graph optimizer is folding a constant
  if (!files_of(series).rows.is_open()) return;
  uint32_t what = inside::has(series) ? uint32_t(kWatchNorm) : plans[series].what.load();
  Watched row = row_of(series, tensor, where, health);
  row.flags = tensor.dtype == kStringDtype ? 0 : what & (kWatchScalar | kWatchNorm);
  if (step.known) row.before = step.before, row.change = step.change, row.flags |= kWatchCompared;
  if (tensor.dtype != kStringDtype) measure(tensor.data, tensor.elements, tensor.dtype, what, &row);
  write(row, tensor, where, what);
}

void look_at(uint32_t series, const TensorView& tensor, const Where& where) {
  Writing writing;
  if (!writing.ok || !is_due(series)) return;
  saw(series, tensor, where, health_of(tensor));
}

void write(Watched row, const Where& where, const std::string& kept) {
  uint64_t number;
  Files& files = files_of(row.series);
  char* place = files.rows.is_open() ? files.rows.claim(&number) : nullptr;
  if (!place) return;
  if (!kept.empty() && !files.values.keep(number, kept.data(), kept.size())) row.flags = 0;
  write_row(place, row, where.kind, files.row_size);
}

void close() {
  active = false;
  watched.close();
  ours.close();
}

void abandon() {
  new (&mutex) std::mutex();
  active = false;
  watched.abandon();
  ours.abandon();
}

}  // namespace sleuth::watches

extern "C" {
#define SLEUTH_API __attribute__((visibility("default")))
using namespace sleuth;

// Opens the files of the current recording. 0 or errno.
SLEUTH_API int sleuth_watch_open(const char* rows, const char* value_rows, const char* values, uint64_t chunk_rows,
                                 uint64_t chunks, uint64_t value_bytes) {
  return watches::watched.open(rows, value_rows, values, chunk_rows, chunks, value_bytes);
}

// The same for the series of layer_stats.h.
SLEUTH_API int sleuth_inside_open(const char* rows, const char* value_rows, const char* values, uint64_t chunk_rows,
                                  uint64_t chunks, uint64_t value_bytes) {
  return watches::ours.open(rows, value_rows, values, chunk_rows, chunks, value_bytes);
}

SLEUTH_API void sleuth_watch_activate(int on) { watches::active = on != 0; }

// Makes a series due every so many steps (0: never), and sets what to measure.
SLEUTH_API void sleuth_watch_set(uint32_t series, int64_t every, uint32_t what) {
  if (series >= watches::kMost) return;
  watches::plans[series].what = what;
  watches::plans[series].every = every;
}

SLEUTH_API void sleuth_watch_on(uint32_t tensor, uint32_t series) {
  std::lock_guard<std::mutex> lock(watches::mutex);
  watches::series_of.put(tensor, series);
}

// Forgets the watched tensors, because tensor ids are about to change meaning.
SLEUTH_API void sleuth_watch_forget() {
  std::lock_guard<std::mutex> lock(watches::mutex);
  watches::series_of.clear();
}

SLEUTH_API int sleuth_watch_due(uint32_t series) { return watches::is_due(series); }

SLEUTH_API uint64_t sleuth_watch_rows() {
  Writing reading;  // keeps the file mapped during the read
  return reading.ok && watches::watched.rows.is_open() ? watches::watched.rows.header()->head.load() : 0;
}

// Measures a tensor that no probe sees.
SLEUTH_API void sleuth_watch_saw(uint32_t series, const TensorView* tensor, const Where* where) {
  watches::look_at(series, *tensor, *where);
}

// Measures a variable after a step, and before it. `of_value` and `of_update` are the series, 0 for none.
SLEUTH_API void sleuth_watch_variable(uint32_t of_value, uint32_t of_update, const TensorView* after,
                                      const TensorView* before, const Where* where) {
  Writing writing;
  if (!writing.ok) return;
  watches::Update update(*after, before);
  if (of_value) watches::saw(of_value, *after, *where, watches::health_of(*after), update.step);
  if (of_update && update.step.known) watches::saw(of_update, update.view, *where, update.health, update.step);
}

// The texts of an eager tensor, each after its length.
SLEUTH_API void sleuth_watch_text(uint32_t series, const void* texts, uint64_t bytes, uint32_t kept,
                                  const TensorView* tensor) {
  Writing writing;
  if (!writing.ok) return;
  Where where{0, 0, 0, 0, kEager};
  Watched row = watches::row_of(series, *tensor, where, Health{});
  row.kept = kept;
  row.flags = bytes ? uint32_t(kWatchText) : 0u;
  watches::write(row, where, std::string(static_cast<const char*>(texts), bytes));
}
}
