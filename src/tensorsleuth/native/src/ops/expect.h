// What is expected of a tensor, and how it is judged. live/expect/native_judge.py states the structs for Python, and
// live/expect/judge.py judges the same in NumPy; a test holds them equal.
#pragma once
#include <cstdint>

#include "recording.h"

namespace sleuth::expect {

constexpr int kFirst = 5;  // positions and values that are told
constexpr int kMostRanks = 8, kMostDims = 16;

enum Rule : int64_t { kNone, kRank, kShape, kElements, kFinite, kBetween, kOneOf, kIncreasing, kSum, kThat };
enum Dim : int64_t { kAny, kFixed, kNamed };

// All fields are eight bytes.
struct Plan {
  int64_t rules;  // a bit for each Rule
  int64_t rank_count, ranks[kMostRanks], least_rank;
  // `rest`: where dims that do not matter stand, or -1.
  int64_t dim_count, rest, dim_kind[kMostDims], dim_value[kMostDims];
  int64_t most_elements;
  int64_t choice_count;
  const double* choices;     // in order
  int64_t increasing, axis;  // 1: each larger than the one before, 2: or equal
  double low, high, sum, tolerance;
};

struct Report {
  int64_t rule, broken, total, found;  // found: how many positions and values there are
  int64_t axis, size, other;           // of a shape: the dimension; of a name: the size that it had, and by whose word
  int64_t nan, inf;
  int64_t positions[kFirst];
  double values[kFirst], low, high;  // the range of the finite values, or of the sums
};

// Does a name that stands for a size have another size already? Then false, with that size and who said so.
using Bind = bool (*)(void* scope, int64_t name, int64_t size, int64_t* other_size, int64_t* other);

// True: as expected.
bool judge_form(const Plan& plan, const TensorView& tensor, Bind bind, void* scope, Report* report);
bool judge_values(const Plan& plan, const TensorView& tensor, Report* report);

}  // namespace sleuth::expect
