#pragma once
/// A growable byte buffer that never clears what it grows by: batches of a mebibyte are filled
/// millions of times, and zeroing them first would cost as much as the copy.

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"

namespace spool {

/// Owns its bytes; move-only; not thread-safe. Memory is kept on clear(), given back by shrink().
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t capacity) { reserve(capacity); }
  Buffer(Buffer&& other) noexcept
      : data_(std::move(other.data_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  [[nodiscard]] std::byte* data() { return data_.get(); }
  [[nodiscard]] const std::byte* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::byte* end() { return data_.get() + size_; }
  [[nodiscard]] Bytes bytes() const { return {data_.get(), size_}; }
  [[nodiscard]] MutableBytes mutable_bytes() { return {data_.get(), size_}; }
  [[nodiscard]] std::string_view text() const { return as_text(bytes()); }

  void clear() { size_ = 0; }
  /// Gives the memory back when it has grown beyond `capacity_max`; the content is dropped then.
  void shrink(std::size_t capacity_max) {
    if (capacity_ <= capacity_max) return;
    data_.reset();
    size_ = capacity_ = 0;
  }
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    // realloc moves large blocks by remapping their pages: no copy, and never twice the memory.
    void* bigger = std::realloc(data_.get(), capacity);
    CHECK(bigger != nullptr);
    (void)data_.release();
    data_.reset(static_cast<std::byte*>(bigger));
    capacity_ = capacity;
  }
  /// Room for `n` more bytes at end(). Grows by half, so that one large record does not cost
  /// double.
  void make_room(std::size_t n) {
    if (capacity_ - size_ < n) [[unlikely]]
      reserve(std::max(size_ + n, capacity_ + capacity_ / 2));
  }
  /// Sets the size; what it grows by is uninitialised.
  void resize(std::size_t size) {
    if (size > size_) make_room(size - size_);
    size_ = size;
  }
  /// Sets the size by the end, within the capacity.
  void set_end(const std::byte* end) { size_ = static_cast<std::size_t>(end - data_.get()); }
  void append(Bytes more) {
    make_room(more.size());
    if (!more.empty()) std::memcpy(end(), more.data(), more.size());
    size_ += more.size();
  }
  /// Drops the first `n` bytes.
  void consume_front(std::size_t n) {
    if (n < size_ && n > 0) std::memmove(data_.get(), data_.get() + n, size_ - n);
    size_ -= n;
  }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace spool
