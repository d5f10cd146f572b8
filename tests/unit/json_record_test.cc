#include "json_record.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "json_check.h"
#include "utf8.h"

namespace spool {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

std::string print(const RecordView& record, std::int16_t attributes = 0) {
  RecordContext context;
  context.topic = "t";
  context.partition = 2;
  context.record = &record;
  context.attributes = attributes;
  std::string out;
  append_json_record(context, out);
  return out;
}

std::string as_json(std::string_view bytes) {
  std::string out;
  append_json_bytes(bytes, out);
  return out;
}

std::string error_of(std::string_view line) {
  JsonRecordParser parser;
  ParsedRecord record;
  const Result<> result = parser.parse(line, record);
  if (result) return "accepted";
  EXPECT_EQ(result.error().code, Errc::kInvalid) << line;
  return result.error().context;
}

TEST(JsonRecord, EveryFieldIsThereInOrder) {
  std::vector<HeaderView> headers;
  RecordView record;
  record.offset = Offset(7);
  record.timestamp = TimestampMs(1'700'000'000'000);
  record.headers = &headers;
  EXPECT_EQ(print(record), R"({"topic":"t","partition":2,"offset":7,"timestamp":1700000000000,)"
                           R"("timestamp_type":"create","key":null,"value":null,"headers":[]})");
  headers = {{"a", "1"}, {"a", std::nullopt}, {"\xff", "\xff\xfe"}};
  record.key = "";
  record.value = "text";
  record.timestamp = kNoTimestamp;
  EXPECT_EQ(print(record, 0x08),
            R"({"topic":"t","partition":2,"offset":7,"timestamp":-1,"timestamp_type":"append",)"
            R"("key":"","value":"text","headers":[["a","1"],["a",null],)"
            R"([{"base64":"/w=="},{"base64":"//4="}]]})");
}

TEST(JsonRecord, TextIsEscapedAndOtherBytesAreBase64) {
  EXPECT_EQ(as_json("\b\f\n\r\t\"\\/\x7f"), "\"\\b\\f\\n\\r\\t\\\"\\\\/\x7f\"");
  EXPECT_EQ(as_json("\0\x1f"sv), R"("\u0000\u001f")");
  EXPECT_EQ(as_json("\xc3\xa4\xf0\x9f\x98\x80"), "\"\xc3\xa4\xf0\x9f\x98\x80\"");
  EXPECT_EQ(as_json("\xed\xa0\x80"), R"({"base64":"7aCA"})");
  // Every byte at every place of the eight that are looked at together.
  for (int c = 0; c < 0x80; ++c)
    for (std::size_t at = 0; at < 17; ++at) {
      std::string text(17, '\xc3');
      for (std::size_t i = 1; i < 17; i += 2)
        text[i] = '\xa4';
      text[16] = ' ';
      if (at < 16) text[at - at % 2] = text[at - at % 2 + 1] = 'x';
      text[at] = static_cast<char>(c);
      std::string one;
      append_json_bytes(text.substr(at, 1), one);
      EXPECT_EQ(as_json(text), '"' + text.substr(0, at) + one.substr(1, one.size() - 2) +
                                   text.substr(at + 1) + '"');
    }
}

TEST(JsonRecord, ReadsItsOwnEnvelope) {
  JsonRecordParser parser;
  ParsedRecord record;
  ASSERT_TRUE(parser.parse(
      R"({"topic":"t","partition":2,"offset":7,"timestamp":1700000000000,)"
      R"("timestamp_type":"append","key":{"base64":"/w=="},"value":"v\u0000\n\ud83d\ude00",)"
      R"("headers":[["a","1"],["a",null],[{"base64":"/w=="},""]]})"
      "\n",
      record));
  EXPECT_EQ(record.topic, "t");
  EXPECT_EQ(record.partition, PartitionId(2));
  EXPECT_EQ(record.timestamp, TimestampMs(1'700'000'000'000));
  EXPECT_EQ(record.key, "\xff");
  EXPECT_EQ(record.value, "v\0\n\xf0\x9f\x98\x80"sv);
  EXPECT_TRUE(record.value_given);
  ASSERT_EQ(record.headers.size(), 3U);
  EXPECT_EQ(record.headers[0].value, "1");
  EXPECT_EQ(record.headers[1].value, std::nullopt);
  EXPECT_EQ(record.headers[2].name, "\xff");
  EXPECT_EQ(record.headers[2].value, "");
}

TEST(JsonRecord, ReadsKcatsEnvelope) {
  JsonRecordParser parser;
  ParsedRecord record;
  ASSERT_TRUE(parser.parse(R"({"topic":"t","partition":0,"offset":1,"tstype":"create",)"
                           R"("ts":1700000000000,"broker":1,"headers":["a","1","b",null],)"
                           R"("key":"k","payload":"p"})",
                           record));
  EXPECT_EQ(record.timestamp, TimestampMs(1'700'000'000'000));
  EXPECT_EQ(record.value, "p");
  EXPECT_TRUE(record.value_given);
  ASSERT_EQ(record.headers.size(), 2U);
  EXPECT_EQ(record.headers[0].name, "a");
  EXPECT_EQ(record.headers[1].value, std::nullopt);
}

TEST(JsonRecord, MissingAndNullFieldsAreNull) {
  JsonRecordParser parser;
  ParsedRecord record;
  ASSERT_TRUE(parser.parse("{}", record));
  EXPECT_EQ(record.topic, std::nullopt);
  EXPECT_EQ(record.key, std::nullopt);
  EXPECT_EQ(record.value, std::nullopt);
  EXPECT_FALSE(record.value_given);
  EXPECT_EQ(record.partition, std::nullopt);
  EXPECT_EQ(record.timestamp, std::nullopt);
  ASSERT_TRUE(parser.parse(R"({"topic":null,"partition":null,"timestamp":null,"key":null,)"
                           R"("value":null,"headers":null,"other":[1,{"value":2}]})",
                           record));
  EXPECT_EQ(record.value, std::nullopt);
  EXPECT_TRUE(record.value_given);
  ASSERT_TRUE(parser.parse(R"({"timestamp":-1,"headers":[],"value":""})", record));
  EXPECT_EQ(record.timestamp, kNoTimestamp);
  EXPECT_EQ(record.value, "");
}

TEST(JsonRecord, WrongFieldsAreNamed) {
  EXPECT_EQ(error_of(R"({"value":1})"),
            R"(JSON field 'value' must be null, a string or {"base64": ".."})");
  EXPECT_EQ(error_of(R"({"payload":{"a":1}})"),
            R"(JSON field 'payload' must be null, a string or {"base64": ".."})");
  EXPECT_EQ(error_of(R"({"key":{"base64":"Zg"}})"), "JSON field 'key' holds what is not base64");
  EXPECT_EQ(error_of(R"({"partition":-1})"),
            "JSON field 'partition' must be null or an integer from 0 to 2147483647");
  EXPECT_EQ(error_of(R"({"ts":1.5})"),
            "JSON field 'ts' must be null or an integer from -1 to 9223372036854775807");
  EXPECT_EQ(error_of(R"({"value":"a","payload":"b"})"),
            "JSON field 'payload' is given twice ('payload' is another name of 'value')");
  EXPECT_EQ(error_of(R"({"headers":["a"]})"),
            "JSON field 'headers' must be pairs: a name without a value is at its end");
  for (const char* line : {R"({"key":true})",
                           R"({"key":[]})",
                           R"({"key":{"base64":"","x":1}})",
                           R"({"key":{}})",
                           R"({"key":{"base64":1}})",
                           R"({"key":"a","key":"b"})",
                           R"({"partition":2147483648})",
                           R"({"partition":"1"})",
                           R"({"partition":9223372036854775808})",
                           R"({"timestamp":-2})",
                           R"({"timestamp":9223372036854775808})",
                           R"({"topic":1})",
                           R"({"headers":{}})",
                           R"({"headers":[["a"]]})",
                           R"({"headers":[["a","b","c"]]})",
                           R"({"headers":[["a","b"],"c","d"]})",
                           R"({"headers":["c","d",["a","b"]]})",
                           R"({"headers":[null,"d"]})",
                           R"({"headers":[["a",1]]})",
                           R"({"headers":"a"})"})
    EXPECT_NE(error_of(line), "accepted") << line;
}

TEST(JsonRecord, WhatIsNoJsonIsRefusedWithItsByte) {
  EXPECT_EQ(error_of(""), "an empty line is not a JSON record");
  EXPECT_EQ(error_of(" \n"), "an empty line is not a JSON record");
  EXPECT_EQ(error_of("[]"), "not a JSON record: the line is JSON, but no object");
  EXPECT_EQ(error_of(R"({"a":1)"), "not a JSON record: the line ends too early");
  EXPECT_EQ(error_of(R"({"a":x})"), "not a JSON record: error at byte 6");
  EXPECT_EQ(error_of(R"({"a":1}{)"), "not a JSON record: error at byte 8");
  EXPECT_EQ(error_of("{\"a\":\"\n\"}"), "not a JSON record: error at byte 7");
  EXPECT_EQ(error_of("{\"a\":\"\xc3\"}"), "not a JSON record: error at byte 7");
  EXPECT_EQ(error_of(R"({"a":18446744073709551616})"),
            "not a JSON record: a number is out of range");
  EXPECT_EQ(error_of(R"({"value":"\ud800"})"),
            "not a JSON record: half of a surrogate pair at byte 11");
  for (const char* half :
       {R"({"value":"\udc00"})", R"({"value":"\ud800\ud800"})", R"({"value":"\ud800x"})",
        R"({"value":"\ud800\n"})", R"({"\udfff":1})", R"({"value":"\\\\\uDBFF\u0041"})"})
    EXPECT_NE(error_of(half).find("not a JSON record:"), std::string::npos) << half;
  EXPECT_EQ(error_of(R"({"value":"\\ud800"})"), "accepted");
}

TEST(JsonRecord, ErrorsLeaveTheParserUsable) {
  JsonRecordParser parser;
  ParsedRecord record;
  EXPECT_FALSE(parser.parse("{", record));
  JsonRecordParser moved = std::move(parser);
  ASSERT_TRUE(moved.parse(R"({"value":"x"})", record));
  EXPECT_EQ(record.value, "x");
}

TEST(JsonRecord, RandomBytesRoundTrip) {
  std::mt19937 random(3);
  JsonRecordParser parser;
  // Half of the strings are text with what needs escapes, the others are any bytes.
  const auto bytes = [&]() -> std::optional<std::string> {
    static const std::vector<std::string> kPieces{"a",       "\"",   "\\",       "\n",
                                                  "\0"s,     "\x1f", "\xc3\xa4", "\xf0\x9f\x98\x80",
                                                  "\\u0000", "/",    "\x7f"};
    if (random() % 8 == 0) return std::nullopt;
    std::string s;
    const bool text = random() % 2 == 0;
    for (auto n = random() % 50; n > 0; --n) {
      if (text)
        s += kPieces[random() % kPieces.size()];
      else
        s += static_cast<char>(random());
    }
    return s;
  };
  for (int i = 0; i < 5000; ++i) {
    const std::optional<std::string> key = bytes();
    const std::optional<std::string> value = bytes();
    const std::string name = bytes().value_or("");
    const std::optional<std::string> header_value = bytes();
    std::vector<HeaderView> headers(random() % 3, HeaderView{name, header_value});
    RecordView record;
    record.offset = Offset(i);
    record.timestamp = TimestampMs(i - 1);
    record.key = key;
    record.value = value;
    record.headers = &headers;
    const std::string line = print(record);
    ASSERT_TRUE(is_utf8(line));
    ASSERT_EQ(line.find('\n'), std::string::npos);
    ASSERT_EQ(json_error_position(line), std::nullopt) << line;
    ParsedRecord back;
    ASSERT_TRUE(parser.parse(line, back)) << line;
    ASSERT_EQ(back.key, record.key) << line;
    ASSERT_EQ(back.value, record.value) << line;
    ASSERT_EQ(back.timestamp, record.timestamp);
    ASSERT_EQ(back.partition, PartitionId(2));
    ASSERT_EQ(back.headers.size(), headers.size());
    for (std::size_t h = 0; h < headers.size(); ++h) {
      ASSERT_EQ(back.headers[h].name, headers[h].name);
      ASSERT_EQ(back.headers[h].value, headers[h].value);
    }
  }
}

TEST(JsonRecord, DamagedLinesAreNeverTakenForOthers) {
  // What is cut or changed is refused, or is JSON by the checker's judgement too.
  const std::string line =
      R"({"topic":"t","partition":2,"timestamp":17,"key":"\u00e4\ud83d\ude00","value":)"
      R"({"base64":"/w=="},"headers":[["a",null],["b","c"]],"x":[1.5e3,true,false,{}]})";
  std::mt19937 random(5);
  JsonRecordParser parser;
  for (std::size_t end = 0; end < line.size(); ++end) {
    ParsedRecord record;
    EXPECT_FALSE(parser.parse(std::string_view(line).substr(0, end), record)) << end;
    EXPECT_EQ(json_error_position(std::string_view(line).substr(0, end)), end);
  }
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = line;
    changed[random() % changed.size()] = static_cast<char>(random());
    ParsedRecord record;
    if (!parser.parse(changed, record)) continue;
    EXPECT_EQ(json_error_position(changed), std::nullopt) << changed;
  }
}

TEST(JsonCheck, PositionOfTheFirstBadByte) {
  for (const char* good : {"0", "-0.5e-7", " [1, 2 ] ", R"({"a":{"b":[]},"c":""})", "\"\\u00e4\"",
                           "true", "false", "null", R"("\ud83d\ude00")"})
    EXPECT_EQ(json_error_position(good), std::nullopt) << good;
  const std::pair<std::string_view, std::size_t> bad[] = {
      {"", 0},        {"01", 1},        {"-", 1},          {"1.", 2},
      {"1e", 2},      {"tru", 3},       {"trux", 3},       {"[1,]", 3},
      {"{,}", 1},     {"{\"a\"}", 4},   {"{\"a\":1,}", 7}, {"[1}", 2},
      {"\"\\q\"", 2}, {"\"\\u12\"", 5}, {"1 2", 2},        {"\"\\udc00\"", 1}};
  for (const auto& [text, at] : bad)
    EXPECT_EQ(json_error_position(text), at) << text;
  EXPECT_EQ(json_error_position("\"" + std::string(10'000, 'a') + "\xff\""), 10'001U);
  EXPECT_EQ(json_error_position(std::string(2000, '[')), 1024U);
}

}  // namespace
}  // namespace spool
