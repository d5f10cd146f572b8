#pragma once
/// Topic ids: 16 bytes, in text URL-safe base64 without padding (22 characters), as Kafka writes
/// them.

#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace spool {

class Uuid {
 public:
  Uuid() = default;
  /// A random (version 4) id whose text does not begin with '-', so that it can stand on a command
  /// line.
  [[nodiscard]] static Uuid random();
  [[nodiscard]] static std::optional<Uuid> parse(std::string_view text);
  [[nodiscard]] std::string text() const;
  using Raw = std::array<unsigned char, 16>;
  [[nodiscard]] static Uuid from(const Raw& bytes) {
    Uuid id;
    id.bytes_ = bytes;
    return id;
  }
  [[nodiscard]] const Raw& bytes() const { return bytes_; }
  auto operator<=>(const Uuid&) const = default;

 private:
  Raw bytes_{};
};

}  // namespace spool
