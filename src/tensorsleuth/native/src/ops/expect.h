// Expectations on a tensor, and how to judge them. live/expect/native_judge.py defines the structs for Python.
// live/expect/judge.py judges the same in NumPy, and a test keeps them equal.
#pragma once
#include <cstdint>

#include "recording.h"

namespace sleuth::expect {

constexpr int kFirst = 5;  // positions and values to report
constexpr int kMostRanks = 8, kMostDims = 16;

enum Rule : int64_t { kNone, kRank, kShape, kElements, kFinite, kBetween, kOneOf, kIncreasing, kSum, kThat };
enum Dim : int64_t { kAny, kFixed, kNamed };

// All fields have eight bytes.
struct Plan {
  int64_t rules;  // one bit for each Rule
  int64_t rank_count, ranks[kMostRanks], least_rank;
  // `rest`: the position of an ellipsis (any further dimensions), or -1.
  int64_t dim_count, rest, dim_kind[kMostDims], dim_value[kMostDims];
  int64_t most_elements;
  int64_t choice_count;
  const double* choices;     // sorted
  int64_t increasing, axis;  // 1: strictly increasing, 2: may repeat
  double low, high, sum, tolerance;
};

struct Report {
  int64_t rule, broken, total, found;  // found: the number of positions and values reported
  int64_t axis, size, other;           // of a shape: the dimension; of a name: its earlier size, and who set it
  int64_t nan, inf;
  int64_t positions[kFirst];
  double values[kFirst], low, high;  // the range of the finite values, or of the sums
};

// Returns false if a named size already has another value, with that size and the expectation that set it.
using Bind = bool (*)(void* scope, int64_t name, int64_t size, int64_t* other_size, int64_t* other);

// Both return true if the tensor is as expected.
bool judge_form(const Plan& plan, const TensorView& tensor, Bind bind, void* scope, Report* report);
bool judge_values(const Plan& plan, const TensorView& tensor, Report* report);

}  // namespace sleuth::expect
