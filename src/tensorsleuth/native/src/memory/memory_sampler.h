// memory.bin: the memory use of the process. A native thread samples it every 50 ms, so it is known even during one
// long op. The thread starts with the first call. By then TensorFlow has its own threads, and a program that forks
// earlier is as single-threaded as without us.
#pragma once
#include <cstdint>
#include <string>

namespace sleuth::sampler {

int open(const std::string& path, uint32_t chunk_rows, uint64_t chunks);  // 0 or errno; takes the first sample
void wake();                                                              // called at the first call: starts the thread
void close();                                                             // takes the last sample
void abandon();

}  // namespace sleuth::sampler
