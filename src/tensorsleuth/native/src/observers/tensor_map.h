// Maps tensor ids to numbers. Probes read it without a lock. Pages are allocated on demand and never freed.
#pragma once
#include <atomic>
#include <cstdint>

namespace sleuth {

template <class Number>
class TensorMap {
 public:
  Number get(uint32_t tensor) const {
    std::atomic<Number>* page = pages_[tensor >> kPageBits].load(std::memory_order_acquire);
    return page ? page[tensor & (kPage - 1)].load(std::memory_order_relaxed) : Number{};
  }

  void put(uint32_t tensor, Number number) {  // one writer at a time
    auto& page = pages_[tensor >> kPageBits];
    if (!page.load(std::memory_order_acquire)) page = new std::atomic<Number>[kPage] {};
    page.load()[tensor & (kPage - 1)] = number;
  }

  void clear() {
    for (auto& page : pages_)
      if (auto* numbers = page.load())
        for (int i = 0; i < kPage; ++i) numbers[i] = Number{};
  }

 private:
  static constexpr int kPageBits = 12, kPages = 1 << (32 - kPageBits), kPage = 1 << kPageBits;
  std::atomic<std::atomic<Number>*> pages_[kPages] = {};
};

}  // namespace sleuth
