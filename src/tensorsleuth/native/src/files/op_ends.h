// passed.bin: the end times of ops without a probed output. They have their own file because their rows are a third of
// the size of a call's.
#pragma once
#include <string>

#include "files/rows.h"

namespace sleuth::passed {

void write(const Passed& row);
int open(const std::string& path, uint32_t chunk_rows, uint64_t chunks);  // 0 or errno
void close();
void abandon();

}  // namespace sleuth::passed
