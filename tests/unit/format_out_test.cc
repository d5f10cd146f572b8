#include "format_out.h"

#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace spool {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

class OutputFormatTest : public ::testing::Test {
 protected:
  OutputFormatTest() {
    record_.offset = Offset(7);
    record_.timestamp = TimestampMs(1'767'323'045'678);
    record_.key = "key";
    record_.value = "value";
    record_.headers = &headers_;
    context_.topic = "topic";
    context_.partition = 3;
    context_.record = &record_;
    context_.leader_epoch = 5;
    context_.producer_id = 1000;
    context_.producer_epoch = 2;
    context_.log_start = 1;
    context_.last_stable = 8;
    context_.high_watermark = 9;
    context_.number = 42;
  }
  std::string print(std::string_view format, std::string_view null_marker = "") {
    const Result<OutputFormat> compiled = OutputFormat::compile(format, null_marker);
    if (!compiled) return "ERROR: " + compiled.error().context;
    std::string out;
    compiled->append(context_, out);
    return out;
  }
  static std::string refusal(std::string_view format) {
    const Result<OutputFormat> compiled = OutputFormat::compile(format, "");
    if (compiled) return "accepted";
    EXPECT_EQ(compiled.error().code, Errc::kUsage) << format;
    return compiled.error().context;
  }

  std::vector<HeaderView> headers_;
  RecordView record_;
  RecordContext context_;
};

TEST_F(OutputFormatTest, EveryVerb) {
  EXPECT_EQ(print("%v\\n"), "value\n");
  EXPECT_EQ(print("%p %o %v\\n"), "3 7 value\n");
  EXPECT_EQ(print("%t %k %s %K %V %S %H"), "topic key value 3 5 5 0");
  EXPECT_EQ(print("%e %x %y %[ %| %] %i"), "5 1000 2 1 8 9 42");
  EXPECT_EQ(print("%T %d"), "1767323045678 1767323045678");
  EXPECT_EQ(print("%R%s"), "\0\0\0\5value"s);
  EXPECT_EQ(print("%%%{%}\\t\\r\\0\\\\\\x41"), "%{}\t\r\0\\A"s);
  EXPECT_EQ(print(""), "");
}

TEST_F(OutputFormatTest, NullIsTheMarkerAndLengthMinusOne) {
  record_.key = std::nullopt;
  record_.value = std::nullopt;
  EXPECT_EQ(print("[%k|%v|%s|%v{hex}] %K %V %S"), "[|||] -1 -1 -1");
  EXPECT_EQ(print("[%k|%v{base64}]", "NULL"), "[NULL|NULL]");
  EXPECT_EQ(print("%R"), "\xff\xff\xff\xff");
  record_.value = "";
  EXPECT_EQ(print("[%v] %V", "NULL"), "[] 0");
}

TEST_F(OutputFormatTest, EveryNumberFormat) {
  record_.offset = Offset(0x1122334455667788);
  EXPECT_EQ(print("%o{ascii} %o{number}"), "1234605616436508552 1234605616436508552");
  EXPECT_EQ(print("%o{hex} %o{hex64} %o{hex32} %o{hex16} %o{hex8} %o{hex4}"),
            "1122334455667788 1122334455667788 55667788 7788 88 8");
  EXPECT_EQ(print("%o{big64}"), "\x11\x22\x33\x44\x55\x66\x77\x88");
  EXPECT_EQ(print("%o{big32}%o{big16}%o{big8}%o{byte}"), "\x55\x66\x77\x88\x77\x88\x88\x88");
  EXPECT_EQ(print("%o{little64}"), "\x88\x77\x66\x55\x44\x33\x22\x11");
  EXPECT_EQ(print("%o{little32}%o{little16}%o{little8}"), "\x88\x77\x66\x55\x88\x77\x88");
  EXPECT_EQ(print("%o{bool} %H{bool}"), "true false");
  EXPECT_EQ(print("%V{hex64} %V{}"), "0000000000000005 5");
  record_.value = std::nullopt;
  EXPECT_EQ(print("%V{hex} %V{hex16}"), "ffffffffffffffff ffff");
  record_.offset = Offset(std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(print("%o"), "-9223372036854775808");
}

TEST_F(OutputFormatTest, TextEncodings) {
  record_.value = "\xfb\xff\x01\x02";
  EXPECT_EQ(print("%v{hex} %v{base64} %v{base64raw} %t{hex} %v{}"),
            "fbff0102 +/8BAg== +/8BAg 746f706963 \xfb\xff\x01\x02");
}

TEST_F(OutputFormatTest, Unpack) {
  record_.value = "\xff\xfe\xff\x01\x02\x03\x04rest"sv;
  EXPECT_EQ(print("%v{unpack[b]}|%v{unpack[B]}"), "-1|255");
  EXPECT_EQ(print("%v{unpack{h}}|%v{unpack##>h##}|%v{unpack(<H)}"), "-257|-2|65279");
  EXPECT_EQ(print("%v{unpack[<hB>Is]}"),
            "-257"
            "255"
            "16909060"
            "rest");
  EXPECT_EQ(print("%v{unpack[xxq$]}"),
            "8215694927388999423"
            "%!(3 bytes left, 0 needed)");
  record_.value = "ab";
  EXPECT_EQ(print("%v{unpack[c.$]} %v{unpack[cI]}"), "ab a%!(1 byte left, 4 needed)");
  record_.value = "\xff\xff\xff\xff\xff\xff\xff\xff";
  EXPECT_EQ(print("%v{unpack[Q]} %v{unpack[q]} %v{unpack[i]}"), "18446744073709551615 -1 -1");
}

TEST_F(OutputFormatTest, Headers) {
  headers_ = {{"a", "1"}, {"b", std::nullopt}, {"a", ""}};
  EXPECT_EQ(print("%H %h"), "3 a=1,b=,a=");
  EXPECT_EQ(print("%h", "NULL"), "a=1,b=NULL,a=");
  EXPECT_EQ(print("%h{%k:%v }", "-"), "a:1 b:- a: ");
  EXPECT_EQ(print("%h{%K{hex8}%k%V%v{hex}%{%}\\n}"), "01a131{}\n01b-1{}\n01a0{}\n");
  headers_.clear();
  EXPECT_EQ(print("[%h%h{%k}] %H"), "[] 0");
}

TEST_F(OutputFormatTest, Timestamps) {
  EXPECT_EQ(print("%d{iso} %T{iso}"), "2026-01-02T03:04:05.678Z 2026-01-02T03:04:05.678Z");
  EXPECT_EQ(print("%d{hex} %T{hex64}"), "19b7ca98f2e 0000019b7ca98f2e");
  setenv("TZ", "America/New_York", 1);
  EXPECT_EQ(print("%d{strftime[%F %T %z]}"), "2026-01-02 03:04:05 +0000");
  EXPECT_EQ(print("%d{strftime##%s|%H:%M:%s##}"), "1767323045|03:04:1767323045");
  unsetenv("TZ");
  EXPECT_EQ(print("%d{strftime{%-d %% %Ey}}x"), "2 % 26x");
  record_.timestamp = TimestampMs(0);
  EXPECT_EQ(print("%d{iso}"), "1970-01-01T00:00:00.000Z");
  record_.timestamp = kNoTimestamp;
  EXPECT_EQ(print("%d %d{iso} %d{strftime[%F]} %d{strftime[%s]}"), "-1 -1 -1 -1");
  record_.timestamp = TimestampMs(-1500);
  EXPECT_EQ(print("%d{iso} %d{strftime[%T %s]}"), "1969-12-31T23:59:58.500Z 23:59:58 -2");
  record_.timestamp = TimestampMs(253'402'300'799'999);
  EXPECT_EQ(print("%d{iso}"), "9999-12-31T23:59:59.999Z");
  record_.timestamp = TimestampMs(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(print("%d{iso}"), "9223372036854775807");
}

TEST_F(OutputFormatTest, Attributes) {
  context_.attributes = 0x04 | 0x08 | 0x10;
  EXPECT_EQ(print("%a{compression} %a{compression;number} %a{compression;hex8}"), "zstd 4 04");
  EXPECT_EQ(print("%a{timestamp-type} %a{transactional-bit;bool} %a{control-bit}"), "1 true 0");
  context_.attributes = 0x20;
  EXPECT_EQ(print("%a{compression} %a{timestamp-type} %a{control-bit;bool}"), "none 0 true");
}

TEST_F(OutputFormatTest, WhatIsNotKnownIsNamedWithItsPosition) {
  EXPECT_EQ(refusal("%v %q"), "format: unknown verb '%q' at position 4");
  EXPECT_EQ(refusal("%v{rot13}"),
            "format: unknown modifier 'rot13' of %v (known are hex, base64, base64raw, "
            "unpack[...]) at position 1");
  EXPECT_EQ(refusal("ab%o{big128}").substr(0, 44), "format: unknown modifier 'big128' of %o (kno");
  EXPECT_EQ(refusal("%v%"), "format '%v%' ends in a lone %; write %% for one");
  EXPECT_EQ(refusal("x%v{hex"),
            "format 'x%v{hex': the brace behind %v at position 2 is not closed");
  EXPECT_EQ(refusal("%d{go[2006]}"),
            "format: {go[...]} is not done here, use {iso} or {strftime[...]} instead, at position "
            "1");
  EXPECT_EQ(refusal("%d{strftime[%Q]}"), "format: strftime has no conversion '%Q' at position 1");
  EXPECT_EQ(refusal("%h{%o}"),
            "format: unknown verb '%o' in %h{...} (known are %k %v %K %V) at position 4");
  for (const char* format : {"%a",
                             "%a{x}",
                             "%a{compression;x}",
                             "%R{hex}",
                             "%d{json}",
                             "%d{strftime}",
                             "%d{strftime[]}",
                             "%d{strftime[%]}",
                             "%d{strftime[\\0]}",
                             "%v{unpack}x%v{unpack[z]}",
                             "%v{unpack[s<]}",
                             "%v{hex[1]}",
                             "%o{hex",
                             "%h{%k",
                             "%h{%h}",
                             "\\q",
                             "\\",
                             "%v{ hex}",
                             "%d{strftime[%F}",
                             "%D",
                             "%A",
                             "%\xff"})
    EXPECT_NE(refusal(format), "accepted") << format;
}

}  // namespace
}  // namespace spool
