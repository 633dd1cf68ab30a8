#include "files/buffers.h"

namespace sleuth::buffers {
namespace {

Ring rows;

}  // namespace

bool on() { return rows.is_open(); }

bool counts(const TensorView& tensor) { return tensor.bytes >= kLeast && tensor.data && on(); }

BufferUse row_of(const TensorView& tensor, const Where& where, uint32_t flags) {
  BufferUse row{};
  row.time = now_ns();
  row.step = where.step;
  row.address = uint64_t(tensor.data);
  row.bytes = tensor.bytes;
  row.tensor = where.tensor;
  row.shape = shape_number(tensor.rank, tensor.dims);
  row.iteration = where.iteration;
  row.frame = where.frame;
  row.thread = thread_number();
  row.dtype = uint8_t(tensor.dtype);
  row.kind = where.kind == kEager ? kEagerBuffer : kGraphBuffer;
  row.flags = flags;
  return row;
}

void write(const BufferUse& row) {
  uint64_t number;
  char* place = rows.claim(&number);
  if (place) write_row(place, row, row.kind);
}

void saw(const TensorView& tensor, const Where& where, uint32_t flags) {
  if (!counts(tensor)) return;
  Writing writing;
  if (writing.ok && on()) write(row_of(tensor, where, flags));
}

void freed(const BufferUse& born) {
  Writing writing;
  if (!writing.ok || !on()) return;
  BufferUse row = born;
  row.time = now_ns();
  row.thread = thread_number();
  row.kind = kFreedBuffer;
  write(row);
}

int open(const std::string& path, uint32_t chunk_rows, uint64_t chunks) {
  return rows.open(path, plan_of<BufferUse>(chunk_rows, chunks));
}

void close() { rows.close(); }

void abandon() { rows.abandon(); }

}  // namespace sleuth::buffers
