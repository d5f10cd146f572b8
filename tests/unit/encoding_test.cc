#include "encoding.h"

#include <random>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "escapes.h"
#include "utf8.h"

namespace spool {
namespace {

std::string base64(std::string_view bytes, Padding padding = Padding::kPadded) {
  std::string out = "x";  // appended to, not replaced
  append_base64(bytes, padding, out);
  return out.substr(1);
}

TEST(Base64, VectorsOfRfc4648) {
  const std::pair<std::string_view, std::string_view> cases[] = {{"", ""},
                                                                 {"f", "Zg=="},
                                                                 {"fo", "Zm8="},
                                                                 {"foo", "Zm9v"},
                                                                 {"foob", "Zm9vYg=="},
                                                                 {"fooba", "Zm9vYmE="},
                                                                 {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(base64(bytes), text);
    EXPECT_EQ(base64(bytes, Padding::kRaw), text.substr(0, text.find('=')));
    std::string back;
    ASSERT_TRUE(decode_base64(text, Padding::kPadded, back));
    EXPECT_EQ(back, bytes);
  }
  EXPECT_EQ(base64("\xfb\xff"), "+/8=");
}

TEST(Base64, WhatNoEncoderWritesIsRefused) {
  std::string out = "kept";
  for (const char* text : {"Zg", "Zg=", "Z===", "====", "=", "Zh==", "Zm9=", "Zm 9", "Zm9v\n",
                           "Zg==Zg==", "Zm-_", "\xff\xff\xff\xff", "Z=g="})
    EXPECT_FALSE(decode_base64(text, Padding::kPadded, out)) << text;
  for (const char* text : {"Zg==", "Z", "Zh", "Zm9vYg="})
    EXPECT_FALSE(decode_base64(text, Padding::kRaw, out)) << text;
  EXPECT_EQ(out, "kept");
}

TEST(Base64, RandomBytesRoundTrip) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes)
      c = static_cast<char>(random());
    for (const Padding padding : {Padding::kPadded, Padding::kRaw}) {
      std::string back;
      ASSERT_TRUE(decode_base64(base64(bytes, padding), padding, back));
      ASSERT_EQ(back, bytes);
    }
  }
}

TEST(Hex, BothWays) {
  std::string out;
  append_hex(std::string_view("\0\x7f\xff", 3), out);
  EXPECT_EQ(out, "007fff");
  std::string back;
  ASSERT_TRUE(decode_hex("007FfF", back));
  EXPECT_EQ(back, std::string_view("\0\x7f\xff", 3));
  for (const char* text : {"0", "0g", "g0", "0x00", " 00"})
    EXPECT_FALSE(decode_hex(text, back)) << text;
  EXPECT_EQ(back.size(), 3U);
}

TEST(InQuotes, StaysOnOneShortLine) {
  EXPECT_EQ(in_quotes("a\n\t\r'\x7f"), "'a\\n\\t\\r\\x27\\x7f'");
  EXPECT_EQ(in_quotes(std::string_view("\0\x1b", 2)), "'\\0\\x1b'");
  EXPECT_EQ(in_quotes("\xc3\xa4"), "'\xc3\xa4'");
  EXPECT_EQ(in_quotes("\xc3"), "'\\xc3'");
  EXPECT_EQ(in_quotes(std::string(61, 'a')), "'" + std::string(60, 'a') + "...'");
  const std::string cut = in_quotes(std::string(59, 'a') + "\xc3\xa4");
  EXPECT_EQ(cut, "'" + std::string(59, 'a') + "...'");
}

TEST(Utf8, StrictByRfc3629) {
  for (const char* good : {"", "a", "\xc3\xa4", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad : {"\x80", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"})
    EXPECT_FALSE(is_utf8(bad));
  EXPECT_TRUE(is_utf8(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace spool
