// passed.bin: when ops ended that put nothing out that is looked at. A file of its own: their rows need a third of a call's.
#pragma once
#include <string>

#include "files/rows.h"

namespace sleuth::passed {

void write(const Passed& row);
int open(const std::string& path, uint32_t chunk_rows, uint64_t chunks);  // 0 or errno
void close();
void abandon();

}  // namespace sleuth::passed
