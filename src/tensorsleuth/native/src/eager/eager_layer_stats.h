// Reports each eager op to Python in a step for which layer statistics are due (live/layer_stats/eager.py). Part of
// eager_hook.cc and included only there. All of it runs under the GIL.
#pragma once

#include <unordered_map>

#include "eager/eager_place.h"
#include "observers/layer_stats.h"

namespace sleuth {
namespace {

// How often a step reports one source line: a loop may run as long as the program does.
constexpr uint32_t kRounds = 128;

struct Rounds {
  uint64_t session = 0;
  int64_t step = -1;
  std::unordered_map<uint64_t, uint32_t> seen;

  bool goes_on(uint64_t place) {
    if (step != step_now() || session != hook.session) seen.clear(), step = step_now(), session = hook.session;
    return seen[place]++ < kRounds;
  }
} rounds;

// Reports an op that was called with `args`. Errors here must not reach the program.
void look_inside(int entry, uint64_t key, Object* const* args, Size count, Object* result) {
  Place place;
  if (!rounds.goes_on(key) || !known_place(key, &place)) return;
  Object* arguments[] = {PyLong_FromUnsignedLongLong(uint64_t(entry)), tuple_of(args, count), result,
                         PyLong_FromUnsignedLongLong(place.op)};
  busy = true;
  Object* done = PyObject_Vectorcall(hook.callbacks[kLookInside], arguments, 4, nullptr);
  busy = false;
  if (done) Py_DecRef(done);
  else PyErr_Clear();
  for (int i : {0, 1, 3}) Py_DecRef(arguments[i]);
}

}  // namespace
}  // namespace sleuth
