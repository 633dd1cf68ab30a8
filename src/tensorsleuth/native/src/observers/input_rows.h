// inside_row_hashes.bin: a hash for each row of ids that the model trains on or that `fit` validates with, in every
// step. diagnose/ uses it to find validation rows that were trained on. At most 1,024 rows and 1 MB of a batch.
//
// Batches are padded to different widths, and this code does not know the padding id. So each row has three hashes: of
// the whole row, without its leading run of equal ids, and without its trailing run. The reader knows the padding and
// selects one. Ids are hashed as 32 bits, since int32 in one data set may be int64 in the other.
#pragma once
#include <string>

#include "kernels/row_hash.h"
#include "recording.h"

namespace sleuth::input_rows {

constexpr uint64_t kLong = 4;  // tokens: shorter rows match by chance

// Returns the length of the leading (or trailing) run of equal ids.
inline uint64_t run_at_head(const uint32_t* ids, uint64_t width) {
  uint64_t run = 0;
  while (run < width && ids[run] == ids[0]) ++run;
  return run;
}

inline uint64_t run_at_tail(const uint32_t* ids, uint64_t width) {
  uint64_t run = 0;
  while (run < width && ids[width - 1 - run] == ids[width - 1]) ++run;
  return run;
}

// Fills in the fields that depend only on the ids, of which there is at least one.
inline void hash_ids(const uint32_t* ids, uint64_t width, InputRow* row) {
  uint64_t head = run_at_head(ids, width), tail = run_at_tail(ids, width);
  const char *begin = reinterpret_cast<const char*>(ids), *end = begin + 4 * width, *cut = end - 4 * tail;
  RowHash all(0);
  const char* at = all.eat(begin, cut);  // hash the common part once
  row->tailless = all.end(at, cut, uint64_t(cut - begin));
  row->whole = all.end(all.eat(at, end), end, uint64_t(end - begin));
  row->headless = hash(begin + 4 * head, uint64_t(end - begin) - 4 * head, 0);
  row->first = ids[0], row->last = ids[width - 1];
  row->flags = uint8_t((width >= kLong ? kLongWhole : 0) | (width - head >= kLong ? kLongHeadless : 0) |
                       (width - tail >= kLong ? kLongTailless : 0));
}

void saw(uint32_t series, const TensorView& tensor, const Where& where);
void moved(const Call& batch);  // a Keras loop advanced: says when a fit begins and when it validates
bool validates();
int open(const std::string& path, uint32_t chunk_rows, uint64_t chunks);  // 0 or errno
void close();
void abandon();  // in a forked child

}  // namespace sleuth::input_rows
