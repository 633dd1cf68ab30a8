// buffers.bin: where the large tensors lie. Tensors at one address share their memory; an address that is used again
// ended the life of what was there. Of eager tensors it is also told when Python let go of them.
#pragma once
#include <string>

#include "recording.h"

namespace sleuth::buffers {

constexpr uint64_t kLeast = 64 << 10;  // smaller tensors have no row; core/layout/rows.py says the same

bool on();
bool counts(const TensorView& tensor);  // is it large enough to be told, and somebody asks
void saw(const TensorView& tensor, const Where& where, uint32_t flags = 0);
void freed(const BufferUse& born);  // what `row_of` gave when it was born

BufferUse row_of(const TensorView& tensor, const Where& where, uint32_t flags);
void write(const BufferUse& row);

int open(const std::string& path, uint32_t chunk_rows, uint64_t chunks);  // 0 or errno
void close();
void abandon();

}  // namespace sleuth::buffers
