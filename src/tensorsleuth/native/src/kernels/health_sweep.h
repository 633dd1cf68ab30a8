// The sweeps over a block: counts and moments. Compiled once for each instruction set, see health_look.h.
#include "kernels/health_lanes.h"

namespace sleuth::SLEUTH_ISA {

// Adds the leading elements that fill vectors of this width to `found`, and returns how many.
template <Depth depth, size_t Bytes, class T>
SLEUTH_TARGET size_t sweep_by(const char* p, size_t n, Found<T>& found) {
  constexpr size_t kLanes = Bytes / sizeof(T);
  if (n < kLanes) return 0;
  Lanes<depth, T, Bytes> one, two;  // two chains hide the latency of an addition
  size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    one.add(p + i * sizeof(T));
    two.add(p + i * sizeof(T) + Bytes);
  }
  for (; i + kLanes <= n; i += kLanes) one.add(p + i * sizeof(T));
  one.add(two);
  one.give(found);
  return i;
}

template <Depth depth, class T>
SLEUTH_TARGET Found<T> sweep(const char* p, size_t n) {
  Found<T> found;
  size_t done = sweep_by<depth, SLEUTH_WIDTH>(p, n, found);
  sweep_by<depth, sizeof(T)>(p + done * sizeof(T), n - done, found);
  return found;
}

template <class T>
size_t first_odd(const char* p) {
  size_t i = 0;
  while (read<T>(p + i * sizeof(T)) * T{0} == 0) ++i;
  return i;
}

struct Moments {
  double count = 0, mean = 0, squares = 0;  // squares: sum of squared distances from the mean

  void add(double n, double m, double s) {  // Chan, Golub and LeVeque
    double all = count + n, apart = m - mean;
    squares += s + apart * apart * (count * n / all);
    mean += apart * (n / all);
    count = all;
  }
};

struct Sums {
  double value = 0, square = 0;
};

template <class T, size_t lanes>
SLEUTH_TARGET inline Vec<double, lanes * sizeof(double)> widen(const char* p) {
  Vec<double, lanes * sizeof(double)> wide;
  for (size_t l = 0; l < lanes; ++l) wide[l] = read<T>(p + l * sizeof(T));
  return wide;
}

template <bool sick, class T, size_t Bytes>
SLEUTH_TARGET size_t sum_by(const char* p, size_t n, double middle, Sums& sums) {
  using V = Vec<double, Bytes>;
  constexpr size_t kLanes = Bytes / sizeof(double), kChains = kLanes > 1 ? 4 : 1, kStep = kLanes * kChains;
  V value[kChains] = {}, square[kChains] = {};
  size_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    for (size_t c = 0; c < kChains; ++c) {
      V d = widen<T, kLanes>(p + (i + c * kLanes) * sizeof(T)) - middle;
      if constexpr (sick) d = d * 0 == 0 ? d : V{};  // skips NaN and infinities
      value[c] += d;
      square[c] += d * d;
    }
  }
  for (size_t c = 0; c < kChains; ++c)
    for (size_t l = 0; l < kLanes; ++l) sums.value += value[c][l], sums.square += square[c][l];
  return i;
}

template <bool sick, class T>
SLEUTH_TARGET Sums sum(const char* p, size_t n, double middle) {
  Sums sums;
  size_t done = sum_by<sick, T, SLEUTH_WIDTH>(p, n, middle, sums);
  sum_by<sick, T, sizeof(double)>(p + done * sizeof(T), n - done, middle, sums);
  return sums;
}

// For healthy floats whose squares are in range. Sums a few at a time in single precision, which is twice as fast, and
// continues in double. Distances are taken from near the mean, so nothing cancels: mean and standard deviation are
// accurate to a millionth of the deviation.
SLEUTH_TARGET inline bool fits_floats(const Found<float>& found) {
  float range = found.max - found.min;
  return found.rough && range > 1e-15f && range < 1e15f;
}

SLEUTH_TARGET inline size_t sum_floats(const char* p, size_t n, float middle, Sums& sums) {
  using V = Vec<float, SLEUTH_WIDTH>;
  constexpr size_t kLanes = SLEUTH_WIDTH / sizeof(float), kChains = 4, kStep = kLanes * kChains, kGroup = 16 * kStep;
  size_t start = 0;
  for (; start + kGroup <= n; start += kGroup) {
    V value[kChains] = {}, square[kChains] = {};
    for (size_t i = start; i < start + kGroup; i += kStep) {
      for (size_t c = 0; c < kChains; ++c) {
        V x;
        std::memcpy(&x, p + (i + c * kLanes) * sizeof(float), sizeof x);
        V d = x - middle;
        value[c] += d;
        square[c] += d * d;
      }
    }
    V all = (value[0] + value[1]) + (value[2] + value[3]), squares = (square[0] + square[1]) + (square[2] + square[3]);
    for (size_t l = 0; l < kLanes; ++l) sums.value += all[l], sums.square += squares[l];
  }
  return start;
}

// Distances are taken from the middle of the block's range. The mean is at most half a range away, and n values with a
// range of r have a variance of at least r*r/2n. So cancellation costs at most 12 of 53 bits.
template <class T>
SLEUTH_TARGET void add_moments(const char* p, size_t n, const Found<T>& found, Moments& moments) {
  double count = n - found.bad(), middle = 0.5 * found.min + 0.5 * found.max;
  if (count == 0) return;
  Sums sums;
  if constexpr (std::is_same_v<T, float>) {
    if (fits_floats(found)) {
      middle = float(found.sum / count);
      size_t done = sum_floats(p, n, float(middle), sums);
      p += done * sizeof(T), n -= done;
    }
  }
  Sums rest = found.bad() ? sum<true, T>(p, n, middle) : sum<false, T>(p, n, middle);
  sums.value += rest.value, sums.square += rest.square;
  double offset = sums.value / count;
  moments.add(count, middle + offset, std::max(0.0, sums.square - sums.value * offset));
}

}  // namespace sleuth::SLEUTH_ISA
