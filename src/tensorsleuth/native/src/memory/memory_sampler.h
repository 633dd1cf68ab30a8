// memory.bin: how much memory the process uses, looked at every 50 ms by a thread of its own, so that it is known also
// during one long op. The thread begins with the first call: TensorFlow has threads of its own by then, and a program
// that forks before finds itself as single-threaded as it would be without us.
#pragma once
#include <cstdint>
#include <string>

namespace sleuth::sampler {

int open(const std::string& path, uint32_t chunk_rows, uint64_t chunks);  // 0 or errno; takes the first sample
void wake();                                                              // the first call: begin
void close();                                                             // takes the last sample
void abandon();

}  // namespace sleuth::sampler
