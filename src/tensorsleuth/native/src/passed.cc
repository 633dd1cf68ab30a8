#include "passed.h"

#include <cstring>

#include "ring.h"
#include "session.h"

namespace sleuth::passed {
namespace {

Ring rows;

}  // namespace

void write(const Passed& row) {
  Writing writing;
  uint64_t number;
  char* place = writing.ok && rows.is_open() ? rows.claim(&number) : nullptr;
  if (!place) return;
  Passed unfinished = row;
  unfinished.kind = 0;
  memcpy(place, &unfinished, sizeof unfinished);
  __atomic_store_n(&reinterpret_cast<Passed*>(place)->kind, row.kind, __ATOMIC_RELEASE);
}

int open(const std::string& path, uint32_t chunk_rows, uint64_t chunks) {
  return rows.open(path, {sizeof(Passed), chunk_rows, chunks, 0});
}

void close() { rows.close(); }

void abandon() { rows.abandon(); }

}  // namespace sleuth::passed
