// The kernels that read the memory of other people's tensors: every dtype, odd lengths, no alignment. Each tensor ends
// where its memory does, so that a sanitizer sees one byte too far.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "driver.h"
#include "kernels/attention.h"
#include "kernels/change.h"
#include "kernels/health.h"
#include "kernels/measure.h"
#include "observers/input_rows.h"
#include "ops/expect.h"

extern "C" {
void sleuth_measure(const void* data, uint64_t n, int tf_dtype, uint32_t what, sleuth::Watched* row);
void sleuth_look_rows(const char*, uint64_t rows, uint64_t elements, uint64_t bytes, int tf_dtype, int look,
                      sleuth::Health*);
void sleuth_hash_rows(const char* data, uint64_t rows, uint64_t bytes, uint64_t* hashes);
uint32_t sleuth_crc32c(const unsigned char* data, uint64_t bytes);
}

namespace {

constexpr int kDtypes = 29;  // TensorFlow's numbers are below this
constexpr uint64_t kLengths[] = {0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 63, 65, 127, 1023, 2047, 2049, 4099, 16387};

uint64_t size_of(int dtype) {
  switch (dtype) {
    case 1:
    case 3:
    case 13:
    case 22: return 4;
    case 2:
    case 8:
    case 9:
    case 23: return 8;
    case 5:
    case 14:
    case 15:
    case 16:
    case 17:
    case 19: return 2;
    case 18: return 16;
    default: return 1;
  }
}

// That many arbitrary bytes, starting `shift` bytes after malloc's alignment.
class Bytes {
 public:
  Bytes(uint64_t count, uint64_t shift) : memory_(static_cast<char*>(malloc(count + shift))), shift_(shift) {
    static std::minstd_rand random(1);
    for (uint64_t i = 0; i < count; ++i) memory_.get()[shift + i] = char(random());
  }
  char* get() const { return memory_.get() + shift_; }

 private:
  struct Free {
    void operator()(char* memory) const { free(memory); }
  };
  std::unique_ptr<char, Free> memory_;
  uint64_t shift_;
};

void for_all(const std::function<void(int dtype, uint64_t length, const Bytes& bytes)>& body) {
  for (int dtype = 0; dtype < kDtypes; ++dtype)
    for (uint64_t length : kLengths)
      for (uint64_t shift : {0, 1, 3, 4}) body(dtype, length, Bytes(length * size_of(dtype), shift));
}

void health(const std::string&) {
  for_all([](int dtype, uint64_t length, const Bytes& bytes) {
    for (int isa = sleuth::kPortable; isa <= sleuth::best_isa(); ++isa)
      for (int look = sleuth::kNoTensor; look <= sleuth::kNumerics; ++look) {
        sleuth::Health found;
        sleuth::look_with(isa, bytes.get(), length, dtype, look, &found);
        CHECK(found.elements == length && (found.first_bad == ~0ull || found.first_bad < length));
      }
  });
}

void measures(const std::string&) {
  for_all([](int dtype, uint64_t length, const Bytes& bytes) {
    for (uint32_t what : {sleuth::kWatchNorm, sleuth::kWatchHistogram, sleuth::kWatchQuantiles}) {
      sleuth::Watched row{};
      sleuth_measure(bytes.get(), length, dtype, what, &row);
    }
    Bytes before(length * size_of(dtype), 1);
    std::vector<double> room(length + 1);
    sleuth::subtract(bytes.get(), before.get(), length, dtype, room.data());
  });
}

void changes(const std::string&) {
  for_all([](int dtype, uint64_t length, const Bytes& bytes) {
    sleuth::TensorView view{bytes.get(), length, length * size_of(dtype), dtype, 1, {int64_t(length)}};
    sleuth::change_since(uint32_t(dtype), view);
    sleuth::change_since(uint32_t(dtype), view);
  });
  sleuth::forget_changes();
}

// [2, 3, length, 5] with the rows at each axis in turn.
void attention(const std::string&) {
  for (int dtype : {1, 2, 14, 19})
    for (uint64_t length : {1, 7, 33, 300})
      for (int axis : {sleuth::attention::kLastButOne, sleuth::attention::kNoRows, 0, 1, 2}) {
        Bytes bytes(30 * length * size_of(dtype), 1);
        sleuth::TensorView view{bytes.get(), 30 * length, 30 * length * size_of(dtype),
                                dtype,       4,           {2, 3, int64_t(length), 5}};
        CHECK(sleuth::attention::measure(view, axis).size() >= sizeof(sleuth::attention::Header));
      }
}

void rows(const std::string&) {
  for (uint64_t width : {1, 3, 8, 47, 48, 49, 100}) {
    Bytes bytes(7 * 4 * width, 1);
    std::vector<uint64_t> hashes(7);
    std::vector<sleuth::Health> found(7);
    sleuth_hash_rows(bytes.get(), 7, 4 * width, hashes.data());
    sleuth_look_rows(bytes.get(), 7, width, 4 * width, 1, sleuth::kNumerics, found.data());
    sleuth_crc32c(reinterpret_cast<const unsigned char*>(bytes.get()), 7 * 4 * width);
    std::vector<uint32_t> ids(width, 4);
    sleuth::InputRow row{};
    sleuth::input_rows::hash_ids(ids.data(), width, &row);
  }
}

bool bind_any(void*, int64_t, int64_t, int64_t*, int64_t*) { return true; }

// All rules of tensorsleuth.expect together, and each alone.
void expectations(const std::string&) {
  double choices[] = {0, 1, 2};
  for_all([&](int dtype, uint64_t length, const Bytes& bytes) {
    sleuth::TensorView view{bytes.get(), length, length * size_of(dtype), dtype, 1, {int64_t(length)}};
    for (int64_t rules :
         {~0ll, 1ll << sleuth::expect::kFinite, 1ll << sleuth::expect::kBetween, 1ll << sleuth::expect::kOneOf,
          1ll << sleuth::expect::kIncreasing, 1ll << sleuth::expect::kSum}) {
      sleuth::expect::Plan plan{};
      plan.rules = rules, plan.choices = choices, plan.choice_count = 3, plan.rest = -1, plan.increasing = 1;
      sleuth::expect::Report report{};
      sleuth::expect::judge_form(plan, view, bind_any, nullptr, &report);
      sleuth::expect::judge_values(plan, view, &report);
    }
  });
}

}  // namespace

const std::vector<Scenario> kKernels{{"health", health},       {"measures", measures}, {"changes", changes},
                                     {"attention", attention}, {"rows", rows},         {"expectations", expectations}};
