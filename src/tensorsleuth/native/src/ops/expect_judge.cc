// Judges a tensor. One pass of the health kernel detects a problem; only then a second pass finds the positions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/health.h"
#include "kernels/health_decode.h"
#include "ops/expect.h"

namespace sleuth::expect {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool asks(const Plan& plan, Rule rule) { return plan.rules >> rule & 1; }

bool broken(Report* report, Rule rule) {
  report->rule = rule;
  return false;
}

// Calls `body` with a function that returns element i as a double; false if the type is not numeric.
template <class Body>
bool with_values(const TensorView& tensor, Body body) {
  const char* data = static_cast<const char*>(tensor.data);
  auto plain = [&](auto zero) {
    using T = decltype(zero);
    body([data](uint64_t i) { return double(read<T>(data + i * sizeof(T))); });
    return true;
  };
  auto decoded = [&](auto decode) {
    body([data, decode](uint64_t i) mutable { return double(decode(data + i * decltype(decode)::kBytes)); });
    return true;
  };
  switch (tensor.dtype) {
    case 1: return plain(float{});
    case 2: return plain(double{});
    case 3:
    case 13: return plain(int32_t{});
    case 4:
    case 12: return plain(uint8_t{});
    case 5:
    case 15: return plain(int16_t{});
    case 6:
    case 11: return plain(int8_t{});
    case 8: return decoded(Complex<float>{});
    case 9: return plain(int64_t{});
    case 10: return decoded(Bool{});
    case 14: return decoded(Brain{});
    case 16:
    case 17: return plain(uint16_t{});
    case 18: return decoded(Complex<double>{});
    case 19: return decoded(Half{});
    case 22: return plain(uint32_t{});
    case 23: return plain(uint64_t{});
    case 24:
    case 25:
    case 26:
    case 27:
    case 28: return decoded(Table{float8_values(tensor.dtype)});
  }
  return false;
}

void count(Report* report, uint64_t position, double value) {
  ++report->broken;
  if (report->found == kFirst) return;
  report->positions[report->found] = int64_t(position);
  report->values[report->found++] = value;
}

void stretch(Report* report, double value) {
  report->nan += std::isnan(value);
  report->inf += std::isinf(value);
  if (!std::isfinite(value)) return;
  report->low = std::min(report->low, value);
  report->high = std::max(report->high, value);
}

template <class Good>
bool judge_each(const TensorView& tensor, Rule rule, Report* report, Good good) {
  Report found{};
  found.total = int64_t(tensor.elements), found.low = kInfinity, found.high = -kInfinity;
  bool known = with_values(tensor, [&](auto value) {
    for (uint64_t i = 0; i < tensor.elements; ++i) {
      double x = value(i);
      stretch(&found, x);
      if (!good(x)) count(&found, i, x);
    }
  });
  if (!known || !found.broken) return true;
  *report = found;
  return broken(report, rule);
}

struct Lines {  // the values along one axis: element k of line i lies at first(i) + k * inner
  int64_t outer = 1, length = 1, inner = 1;
  Lines(const TensorView& tensor, int64_t axis) {
    int rank = std::min(tensor.rank, 8);
    int64_t at = axis < 0 ? axis + rank : axis;
    for (int i = 0; i < rank; ++i) (i < at ? outer : i == at ? length : inner) *= tensor.dims[i];
  }
  int64_t count() const { return outer * inner; }
  int64_t first(int64_t line) const { return line / inner * length * inner + line % inner; }
};

bool judge_increasing(const Plan& plan, const TensorView& tensor, Report* report) {
  Lines lines(tensor, plan.axis);
  Report found{};
  found.total = lines.count() * std::max<int64_t>(lines.length - 1, 0);
  bool known = with_values(tensor, [&](auto value) {
    for (int64_t outer = 0; outer < lines.outer; ++outer)
      for (int64_t k = 1; k < lines.length; ++k)
        for (int64_t inner = 0; inner < lines.inner; ++inner) {
          int64_t at = (outer * lines.length + k) * lines.inner + inner;
          double before = value(uint64_t(at - lines.inner)), x = value(uint64_t(at));
          if (!(plan.increasing == 1 ? x > before : x >= before)) count(&found, uint64_t(at), x);
        }
  });
  if (!known || !found.broken) return true;
  *report = found;
  return broken(report, kIncreasing);
}

bool judge_sums(const Plan& plan, const TensorView& tensor, Report* report) {
  Lines lines(tensor, plan.axis);
  Report found{};
  found.total = lines.count(), found.low = kInfinity, found.high = -kInfinity;
  bool known = with_values(tensor, [&](auto value) {
    for (int64_t line = 0; line < lines.count(); ++line) {
      double sum = 0;
      for (int64_t k = 0, at = lines.first(line); k < lines.length; ++k, at += lines.inner) sum += value(uint64_t(at));
      stretch(&found, sum);
      if (!(std::fabs(sum - plan.sum) <= plan.tolerance)) count(&found, uint64_t(line), sum);
    }
  });
  if (!known || !found.broken) return true;
  *report = found;
  return broken(report, kSum);
}

bool fits(const Plan& plan, const TensorView& tensor, int64_t at, int64_t axis, Bind bind, void* scope,
          Report* report) {
  int64_t size = axis < 8 ? tensor.dims[axis] : 0;
  if (plan.dim_kind[at] == kAny || axis >= 8) return true;
  report->axis = axis;
  if (plan.dim_kind[at] == kFixed) return size == plan.dim_value[at];
  return !bind || bind(scope, plan.dim_value[at], size, &report->size, &report->other);
}

bool judge_shape(const Plan& plan, const TensorView& tensor, Bind bind, void* scope, Report* report) {
  *report = Report{};
  report->axis = report->other = -1;
  int64_t given = plan.dim_count, rank = tensor.rank;
  if (plan.rest < 0 ? rank != given : rank < given) return broken(report, kShape);
  for (int64_t i = 0; i < given; ++i) {  // before the ellipsis count from the front, after it from the end
    int64_t axis = plan.rest >= 0 && i >= plan.rest ? rank - given + i : i;
    if (!fits(plan, tensor, i, axis, bind, scope, report)) return broken(report, kShape);
  }
  return true;
}

}  // namespace

bool judge_form(const Plan& plan, const TensorView& tensor, Bind bind, void* scope, Report* report) {
  *report = Report{};
  const int64_t* ranks = plan.ranks;
  if (asks(plan, kRank) && std::find(ranks, ranks + plan.rank_count, tensor.rank) == ranks + plan.rank_count)
    return broken(report, kRank);
  if (asks(plan, kShape) && !judge_shape(plan, tensor, bind, scope, report)) return false;
  if (tensor.rank < plan.least_rank) return broken(report, kRank);
  if (asks(plan, kElements) && int64_t(tensor.elements) > plan.most_elements) return broken(report, kElements);
  return true;
}

bool judge_values(const Plan& plan, const TensorView& tensor, Report* report) {
  *report = Report{};
  Health health;
  bool finite = asks(plan, kFinite), between = asks(plan, kBetween);
  if (finite || between) look(tensor.data, tensor.elements, tensor.dtype, between ? kFull : kCurt, &health);
  bool odd = health.first_bad != Health{}.first_bad;
  if (finite && odd && !judge_each(tensor, kFinite, report, [](double x) { return std::isfinite(x); })) return false;
  bool outside = odd || health.min < plan.low || health.max > plan.high;
  auto inside = [&](double x) { return x >= plan.low && x <= plan.high; };
  if (between && outside && !judge_each(tensor, kBetween, report, inside)) return false;
  auto known = [&](double x) { return std::binary_search(plan.choices, plan.choices + plan.choice_count, x); };
  auto chosen = [&](double x) { return !std::isnan(x) && known(x); };
  if (asks(plan, kOneOf) && !judge_each(tensor, kOneOf, report, chosen)) return false;
  if (asks(plan, kIncreasing) && !judge_increasing(plan, tensor, report)) return false;
  return !asks(plan, kSum) || judge_sums(plan, tensor, report);
}

}  // namespace sleuth::expect
