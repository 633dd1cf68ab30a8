// Watched tensors (live/watch/): each tensor id may belong to a series, which says how often and for what it is looked at.
// What is seen is a row of watched.bin; texts, images and whole values lie in watched_values.bin.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

#include "recording.h"

namespace sleuth::watches {

constexpr uint32_t kMost = 4096;           // series
constexpr uint32_t kNotGuards = 1u << 31;  // with a series: looked at for that only, no matter of the guard's

extern std::atomic<bool> active;

uint32_t look_up(uint32_t tensor);  // the series that a tensor belongs to, where its turn has come; else 0
bool not_guards(uint32_t tensor);
bool is_due(uint32_t series);

inline uint32_t asked(uint32_t tensor) { return active.load(std::memory_order_relaxed) ? look_up(tensor) : 0; }

// A histogram needs the range: the first pass finds it.
inline int closer(int look, uint32_t series) { return series && look < kFull ? int(kFull) : look; }

struct Step {  // what a step did to a variable
  bool known = false;
  double before = 0, change = 0;  // the norm of its value before, and of what was added
};

// Writes what was seen. `health`: what a look at kFull or closer found.
void saw(uint32_t series, const TensorView& tensor, const Where& where, const Health& health, const Step& step = {});
// Where no probe does, and its turn has come.
void look_at(uint32_t series, const TensorView& tensor, const Where& where);
Watched row_of(uint32_t series, const TensorView& tensor, const Where& where, const Health& health);
Health health_of(const TensorView& tensor);
void write(Watched row, const Where& where, const std::string& kept);  // a row, and what is kept beside it
void close();
void abandon();  // in a forked child

}  // namespace sleuth::watches
