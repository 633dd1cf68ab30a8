// buffers.bin: the addresses of large tensors. Tensors at one address share their memory, and a reused address proves
// that the earlier tensor died. For eager tensors the file also says when Python released them.
#pragma once
#include <string>

#include "recording.h"

namespace sleuth::buffers {

constexpr uint64_t kLeast = 64 << 10;  // smaller tensors have no row; core/layout/rows.py has the same number

bool on();
bool counts(const TensorView& tensor);  // large enough for a row, and the file is open
void saw(const TensorView& tensor, const Where& where, uint32_t flags = 0);
void freed(const BufferUse& born);  // `born`: the row that `row_of` returned for the tensor

BufferUse row_of(const TensorView& tensor, const Where& where, uint32_t flags);
void write(const BufferUse& row);

int open(const std::string& path, uint32_t chunk_rows, uint64_t chunks);  // 0 or errno
void close();
void abandon();

}  // namespace sleuth::buffers
