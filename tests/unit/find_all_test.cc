#include "base/find_all.h"

#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace spool {
namespace {

std::vector<std::size_t> found(const std::string& text) {
  // Exactly as long as the text, so that a look behind its end is seen.
  const std::unique_ptr<char[]> bytes(new char[text.size()]);
  text.copy(bytes.get(), text.size());
  std::array<std::uint16_t, kFindMax + 2> places{};
  const std::size_t n = find_all(bytes.get(), text.size(), '\n', places.data());
  return {places.begin(), places.begin() + static_cast<std::ptrdiff_t>(n)};
}

std::vector<std::size_t> wanted(const std::string& text) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') out.push_back(i);
  return out;
}

TEST(FindAll, EverySizeAndPlace) {
  for (std::size_t size = 0; size < 200; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'x');
      text[at] = '\n';
      ASSERT_EQ(found(text), (std::vector<std::size_t>{at})) << size;
    }
    EXPECT_EQ(found(std::string(size, 'x')), std::vector<std::size_t>());
    EXPECT_EQ(found(std::string(size, '\n')).size(), size);
  }
  EXPECT_EQ(found(std::string(kFindMax, '\n')), wanted(std::string(kFindMax, '\n')));
}

TEST(FindAll, AnyMixture) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string text(random() % (kFindMax + 1), 'x');
    const auto rare = 1 + random() % 100;
    for (char& c : text)
      c = random() % rare == 0 ? '\n' : static_cast<char>(random());
    ASSERT_EQ(found(text), wanted(text));
  }
}

}  // namespace
}  // namespace spool
