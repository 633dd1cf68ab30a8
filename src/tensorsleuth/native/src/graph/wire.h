// Just enough of the protocol buffer wire format to read and write a GraphDef.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sleuth::wire {

struct Field {
  uint32_t number = 0, type = 0;
  uint64_t varint = 0;
  std::string_view bytes;  // of a length-delimited field
  std::string_view whole;  // including the tag, to copy it unchanged
};

inline bool take_varint(std::string_view* data, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64 && !data->empty(); shift += 7) {
    uint64_t byte = uint8_t((*data)[0]);
    data->remove_prefix(1);
    *value |= (byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

class Reader {
 public:
  explicit Reader(std::string_view data) : data_(data) {}
  bool next(Field* field) {
    if (data_.empty()) return false;
    const char* start = data_.data();
    uint64_t tag;
    if (!varint(&tag)) return fail();
    *field = Field{};
    field->number = uint32_t(tag >> 3);
    field->type = uint32_t(tag & 7);
    if (!value(field)) return fail();
    field->whole = {start, size_t(data_.data() - start)};
    return true;
  }
  bool failed() const { return failed_; }

 private:
  bool value(Field* field) {
    if (field->type == 0) return varint(&field->varint);
    uint64_t size = field->type == 1 ? 8 : field->type == 5 ? 4 : 0;
    if (field->type == 2) {
      if (!varint(&size)) return false;
    } else if (!size) {
      return false;
    }
    if (size > data_.size()) return false;
    field->bytes = data_.substr(0, size);
    data_.remove_prefix(size);
    return true;
  }
  bool varint(uint64_t* value) { return take_varint(&data_, value); }
  bool fail() {
    failed_ = true;
    return false;
  }

  std::string_view data_;
  bool failed_ = false;
};

// The numbers of a packed field.
class Numbers {
 public:
  explicit Numbers(std::string_view data) : data_(data) {}
  bool next() { return take_varint(&data_, &value); }
  uint64_t value = 0;

 private:
  std::string_view data_;
};

inline void put_varint(std::string* out, uint64_t value) {
  for (; value >= 128; value >>= 7) out->push_back(char(value | 128));
  out->push_back(char(value));
}

inline void put_bytes(std::string* out, uint32_t number, std::string_view bytes) {
  put_varint(out, number << 3 | 2);
  put_varint(out, bytes.size());
  out->append(bytes);
}

inline void put_number(std::string* out, uint32_t number, uint64_t value) {
  put_varint(out, number << 3);
  put_varint(out, value);
}

}  // namespace sleuth::wire
