// Watched tensors (live/watch/). Each tensor id may belong to a series, which says how often to measure it, and what. A
// measurement is a row of watched.bin; texts, images and whole values lie in watched_values.bin.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

#include "recording.h"

namespace sleuth::watches {

constexpr uint32_t kMost = 4096;           // series
constexpr uint32_t kNotGuards = 1u << 31;  // flag beside a series: probed only for it, so the guard ignores it

extern std::atomic<bool> active;

uint32_t look_up(uint32_t tensor);  // the series of a tensor if it is due, else 0
bool not_guards(uint32_t tensor);
bool is_due(uint32_t series);

inline uint32_t asked(uint32_t tensor) { return active.load(std::memory_order_relaxed) ? look_up(tensor) : 0; }

// A histogram needs the range, which the first pass finds.
inline int closer(int look, uint32_t series) { return series && look < kFull ? int(kFull) : look; }

struct Step {  // the update of a variable in a step
  bool known = false;
  double before = 0, change = 0;  // the norm of its old value, and of the update
};

// Writes a row. `health` is a summary of at least kFull.
void saw(uint32_t series, const TensorView& tensor, const Where& where, const Health& health, const Step& step = {});
// For tensors without a probe: measures the tensor if its series is due.
void look_at(uint32_t series, const TensorView& tensor, const Where& where);
Watched row_of(uint32_t series, const TensorView& tensor, const Where& where, const Health& health);
Health health_of(const TensorView& tensor);
void write(Watched row, const Where& where, const std::string& kept);  // a row, and the data kept beside it
void close();
void abandon();  // in a forked child

}  // namespace sleuth::watches
