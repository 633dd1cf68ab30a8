#include "files/shapes.h"

#include <new>

namespace sleuth {
namespace {

struct Row {
  uint64_t rank;
  uint64_t dims[8];
  uint64_t kind;
};
constexpr uint32_t kChunkRows = 2048;  // 160 KiB
constexpr uint64_t kMaxChunks = 512;   // a million shapes, and a table of one page
constexpr int kCacheSize = 256;
std::atomic<uint64_t> generations{0};

uint64_t hash_of(int rank, const int64_t* dims) {
  uint64_t hash = 0x9E3779B97F4A7C15ull ^ uint64_t(rank);
  for (int i = 0; i < rank && i < 8; ++i) {
    hash ^= uint64_t(dims[i]);
    hash *= 0xFF51AFD7ED558CCDull;
    hash ^= hash >> 32;
  }
  return hash | 1;
}

struct Cached {
  uint64_t key = 0, generation = 0;
  uint32_t number = 0;
};

}  // namespace

int Shapes::open(const std::string& path) {
  std::lock_guard<std::mutex> lock(mutex_);
  known_.clear();
  generation_ = ++generations;
  RingPlan plan = plan_of<Row>(kChunkRows, kMaxChunks);
  plan.keep_all = true;
  return ring_.open(path, plan);
}

void Shapes::close() { ring_.close(); }

void Shapes::abandon() {
  new (&mutex_) std::mutex();
  new (&known_) std::unordered_map<uint64_t, uint32_t>();  // another thread may have been changing it during the fork
  ring_.abandon();
}

uint32_t Shapes::number(int rank, const int64_t* dims) {
  static thread_local Cached cache[kCacheSize];
  uint64_t key = hash_of(rank, dims);
  Cached& cached = cache[(key >> 8) % kCacheSize];
  if (cached.key != key || cached.generation != generation_) cached = {key, generation_, add(key, rank, dims)};
  return cached.number;
}

uint32_t Shapes::add(uint64_t key, int rank, const int64_t* dims) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  if (known_.size() >= kMaxChunks * kChunkRows) return 0;
  uint64_t number;
  Row* row = reinterpret_cast<Row*>(ring_.claim(&number));
  if (!row) return 0;
  row->rank = uint64_t(rank);
  for (int i = 0; i < rank && i < 8; ++i) row->dims[i] = uint64_t(dims[i]);
  __atomic_store_n(&row->kind, 1, __ATOMIC_RELEASE);
  return known_[key] = uint32_t(number + 1);
}

}  // namespace sleuth
