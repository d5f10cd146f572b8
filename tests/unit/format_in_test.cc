#include "format_in.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "format_out.h"

namespace spool {
namespace {

using namespace std::string_literals;

/// Text of a record: "p@t topic key=value [name=value..]", what is null as `~`, absent left out.
std::string describe(const ParsedRecord& record) {
  const auto text = [](const std::optional<std::string_view>& s) {
    return s ? std::string(*s) : "~"s;
  };
  std::string out;
  if (record.partition) out += std::to_string(record.partition->value());
  if (record.timestamp) out += '@' + std::to_string(record.timestamp->value());
  if (record.topic) out += ' ' + std::string(*record.topic) + ' ';
  out += text(record.key) + '=' + text(record.value);
  for (const HeaderView& header : record.headers)
    out += " [" + std::string(header.name) + '=' + text(header.value) + ']';
  return out;
}

/// All records of `input`, each as describe() has it with `;` behind it. The buffer grows by
/// `step` bytes at a time and moves each time. An error ends the text.
std::string read_all(std::string_view format, std::string_view input, std::size_t step = SIZE_MAX,
                     std::optional<std::string_view> null_marker = std::nullopt) {
  Result<InputParser> parser = InputParser::compile(format, null_marker);
  if (!parser) return "ERROR: " + parser.error().context;
  std::string out;
  std::size_t begin = 0;
  std::size_t end = std::min(step, input.size());
  for (;;) {
    const std::string buffer(input.substr(begin, end - begin));
    ParsedRecord record;
    const Result<InputStep> got = parser->next(buffer, end == input.size(), record);
    if (!got) return out + "ERROR: " + got.error().context;
    if (got->kind == InputStep::Kind::kEnd) return out;
    if (got->kind == InputStep::Kind::kRecord) {
      if (got->consumed == 0 || got->consumed > buffer.size()) return out + "BAD STEP";
      out += describe(record) + ';';
      begin += got->consumed;
    } else if (end == input.size() || got->needed <= buffer.size()) {
      return out + "STUCK";
    } else {
      end += std::min(step, input.size() - end);
    }
  }
}

/// The same at once and byte by byte, which must not differ.
std::string read(std::string_view format, std::string_view input,
                 std::optional<std::string_view> null_marker = std::nullopt) {
  const std::string whole = read_all(format, input, SIZE_MAX, null_marker);
  EXPECT_EQ(read_all(format, input, 1, null_marker), whole) << format;
  EXPECT_EQ(read_all(format, input, 3, null_marker), whole) << format;
  return whole;
}

std::string refusal(std::string_view format) {
  const Result<InputParser> parser = InputParser::compile(format);
  if (parser) return "accepted";
  EXPECT_EQ(parser.error().code, Errc::kUsage) << format;
  return parser.error().context;
}

TEST(InputParser, LinesAreValues) {
  EXPECT_EQ(read("%v\\n", ""), "");
  EXPECT_EQ(read("%v\\n", "a\n\nb"), "~=a;~=;~=b;");
  EXPECT_EQ(read("%v\\n", "a\r\n\xff\n"), "~=a\r;~=\xff;");
  EXPECT_EQ(read("%s\\n", "\n"), "~=;");
}

TEST(InputParser, LiteralsDelimit) {
  EXPECT_EQ(read("%k:%v\\n", "k1:v\nk2:\n:x:y\nk3:last"), "k1=v;k2=;=x:y;k3=last;");
  EXPECT_EQ(read("%t %k => %v\\r\\n", "t k => v\r\nt  => \r\nu k => half\r"),
            " t k=v; t =; u k=half\r;");
  EXPECT_EQ(read("<%v>", "<a><b>"), "~=a;~=b;");
  EXPECT_EQ(read("%k\\n", "a\nb\n"), "a=~;b=~;");
  EXPECT_EQ(read("%v", "all\nof it\n"), "~=all\nof it\n;");
  EXPECT_EQ(read("%vaab", "aaabaab"), "~=a;~=;");
}

TEST(InputParser, SizesMeasure) {
  EXPECT_EQ(read("%K{big32}%k%V{big32}%v", "\0\0\0\2ab\0\0\0\0\xff\xff\xff\xff\0\0\0\1c"s),
            "ab=;~=c;");
  EXPECT_EQ(read("%V %v\\n", "3 a\nb\n-1 \n0 "), "~=a\nb;~=~;~=;");
  EXPECT_EQ(read("%S %s\\n", "1 x\n"), "~=x;");
  EXPECT_EQ(read("%V%v", "2ab10123456789x"s.substr(0, 3)), "~=ab;");
  EXPECT_EQ(read("%R%s", "\0\0\0\1x"s), "~=x;");
  EXPECT_EQ(read("%V{3}%v", "abcdef"), "~=abc;~=def;");
  EXPECT_EQ(read("%k{2}%v{1}", "abCdeF"), "ab=C;de=F;");
  EXPECT_EQ(read("%V{byte}%v", "\1a\xff"s + std::string(255, 'z')),
            "~=a;~=" + std::string(255, 'z') + ";");
}

TEST(InputParser, EveryNumberFormat) {
  const std::pair<const char*, std::string> cases[] = {{"ascii", "258 "},
                                                       {"number", "258 "},
                                                       {"hex", "102 "},
                                                       {"hex64", "0000000000000102 "},
                                                       {"hex32", "00000102 "},
                                                       {"hex16", "0102 "},
                                                       {"big64", "\0\0\0\0\0\0\1\2 "s},
                                                       {"big32", "\0\0\1\2 "s},
                                                       {"big16", "\1\2 "},
                                                       {"little64", "\2\1\0\0\0\0\0\0 "s},
                                                       {"little32", "\2\1\0\0 "s},
                                                       {"little16", "\2\1 "}};
  for (const auto& [name, text] : cases)
    EXPECT_EQ(read("%p{"s + name + "} %v\\n", text + "v\n"), "258~=v;") << name;
  EXPECT_EQ(read("%p{byte}%v\\n", "\xc8v\n"), "200~=v;");
  EXPECT_EQ(read("%p{hex8}%v\\n", "c8v\n"), "200~=v;");
  EXPECT_EQ(read("%p{hex4}%v\\n", "fv\n"), "15~=v;");
  EXPECT_EQ(read("%p{bool},%v\\n", "true,v\nfalse,w\n"), "1~=v;0~=w;");
}

TEST(InputParser, PartitionTimestampAndIgnoredNumbers) {
  EXPECT_EQ(read("%p %d %v\\n", "3 1700000000000 v\n0 -1 w\n"), "3@1700000000000~=v;0@-1~=w;");
  EXPECT_EQ(read("%T{big64}%v\\n", "\xff\xff\xff\xff\xff\xff\xff\xffv\n"), "@-1~=v;");
  EXPECT_EQ(read("%o %e %x %y %v\\n", "9 -1 -1 -1 v\n"), "~=v;");
}

TEST(InputParser, Headers) {
  EXPECT_EQ(read("%H %h{%k=%v }%v\\n", "2 a=1 b=2 v\n0 w\n"), "~=v [a=1] [b=2];~=w;");
  EXPECT_EQ(read("%K{byte}%k%H{byte}%h{%K{byte}%k%V{big32}%v}%V{byte}%v",
                 "\1k\2\1a\0\0\0\1x\1b\xff\xff\xff\xff\2vv"s),
            "k=vv [a=x] [b=~];");
  EXPECT_EQ(read("%H %h{%k{hex}:%v{base64},}%v\\n", "2 61:YQ==,62:Yg==,v\n"), "~=v [a=a] [b=b];");
}

TEST(InputParser, EncodedTextIsDecoded) {
  EXPECT_EQ(read("%k{hex} %v{base64}\\n", "6b Zm9v\n 0w==\n"), "k=foo;=\xd3;");
  EXPECT_EQ(read("%V{2}%v{hex}%k{base64raw}\\n", "61Zg\n"), "f=a;");
  EXPECT_EQ(read("%v{hex}\\n", "6\n"), "ERROR: the value '6' is not hex at byte 1");
  EXPECT_EQ(read("%v{base64}\\n", "Zg\n"), "ERROR: the value 'Zg' is not base64 at byte 1");
}

TEST(InputParser, NullMarker) {
  EXPECT_EQ(read("%k:%v\\n", "~:NULL\nNULL:x\nNULL:NULLx\n", "NULL"), "~=~;~=x;~=NULLx;");
  EXPECT_EQ(read("%v{hex}\\n", "-\n2d\n", "-"), "~=~;~=-;");
  EXPECT_EQ(read("%V %v\\n", "1 -\n", "-"), "~=-;");
  EXPECT_EQ(read("%v\\n", "null\n\n"), "~=null;~=;");
}

TEST(InputParser, WhatDoesNotFitIsSaidWithItsByte) {
  EXPECT_EQ(read("%k:%v\\n", "nokey\n"), "ERROR: no ':' behind the key that begins at byte 1");
  EXPECT_EQ(read("%V{byte}%v\\n", "\1ab"), "ERROR: expected '\\n', found 'b' at byte 3");
  EXPECT_EQ(read("%p %v\\n", "x v\n"), "ERROR: 'x' is not the partition at byte 1");
  EXPECT_EQ(read("%p %v\\n", "-1 v\n"), "ERROR: partition -1 is out of range at byte 1");
  EXPECT_EQ(read("%p %v\\n", "2147483648 v\n"),
            "ERROR: partition 2147483648 is out of range at byte 1");
  EXPECT_EQ(read("%p %v\\n", "99999999999999999999 v\n"),
            "ERROR: '99999999999999999999' is not the partition at byte 1");
  EXPECT_EQ(read("%V %v\\n", "-2 v\n"), "ERROR: length of the value -2 is out of range at byte 1");
  EXPECT_EQ(read("%d %v\\n", "-2 v\n"), "ERROR: timestamp -2 is out of range at byte 1");
  EXPECT_EQ(read("%p{hex8} %v\\n", "zz v\n"), "ERROR: 'zz' is not the partition at byte 1");
  EXPECT_EQ(read("%p{bool} %v\\n", "maybe v\n"), "ERROR: 'm' is not the partition at byte 1");
  EXPECT_EQ(read("%H %h{%K{big32}%k%V{1}%v}%v\\n", "1 \xff\xff\xff\xffx\n"),
            "ERROR: the name of header 1 is null at byte 3");
  EXPECT_EQ(read("%H %h{%k=%v }\\n", "1000001 "),
            "ERROR: count of headers 1000001 is out of range at byte 1");
  EXPECT_EQ(read("%V{big32}%v", "\0\0\0\5abc"s),
            "ERROR: the input ends within the value that begins at byte 5, ends at byte 8");
  EXPECT_EQ(read("%V{big32}%v", "\0\0"s),
            "ERROR: the input ends within the length of the value that begins at byte 1, ends at "
            "byte 3");
}

TEST(InputParser, SaysHowManyBytesAreNeeded) {
  Result<InputParser> parser = InputParser::compile("%V{big32}%v\\n");
  ASSERT_TRUE(parser);
  ParsedRecord record;
  EXPECT_EQ(parser->next("", false, record)->needed, 1U);
  EXPECT_EQ(parser->next("\0"s, false, record)->needed, 4U);
  const InputStep step = *parser->next("\0\1\0\0x"s, false, record);
  EXPECT_EQ(step.kind, InputStep::Kind::kNeedMore);
  EXPECT_EQ(step.needed, 4U + 65'536U);
  EXPECT_EQ(parser->final_delimiter(), "\n");
}

TEST(InputParser, AGrowingLineIsSearchedOnce) {
  // 4 MB in steps of 64 bytes: quadratic searching would take minutes.
  Result<InputParser> parser = InputParser::compile("%k:%v\\n");
  ASSERT_TRUE(parser);
  const std::string line = "k:" + std::string(4'000'000, 'x') + "\n";
  ParsedRecord record;
  for (std::size_t end = 64; end < line.size(); end += 64) {
    const Result<InputStep> step =
        parser->next(std::string_view(line).substr(0, end), false, record);
    ASSERT_TRUE(step);
    ASSERT_EQ(step->kind, InputStep::Kind::kNeedMore);
  }
  ASSERT_EQ(parser->next(line, false, record)->consumed, line.size());
  EXPECT_EQ(record.value->size(), 4'000'000U);
  EXPECT_TRUE(record.value_given);
}

TEST(InputParser, FormatsThatCannotBeReadAreRefused) {
  EXPECT_EQ(refusal("%k%v\\n"),
            "format: %k needs a length before it or a literal behind it; it stands at position 1");
  EXPECT_EQ(refusal("%v %V"),
            "format: the length of the value must come before what it measures, at position 4");
  EXPECT_EQ(refusal("%v:%v\\n"), "format: a second value at position 4");
  EXPECT_EQ(refusal("%v %q"), "format: unknown verb '%q' in the format of an input at position 4");
  EXPECT_EQ(refusal("%h{%k=%v }"), "format: %h{...} needs the count %H before it, at position 1");
  EXPECT_EQ(refusal("%H %h"),
            "format: %h needs a format in braces, as in %H %h{%k=%v }, at "
            "position 4");
  EXPECT_EQ(refusal("%H %h{%k=%v}\\n"),
            "format: %v needs a length before it or a literal behind it; it stands at position 10");
  EXPECT_EQ(refusal("\\n"), "format reads nothing from the input");
  for (const char* format : {"",
                             "%V{0}%v",
                             "%v{0}",
                             "%H{1}%h{x}%v\\n",
                             "%H %h{%t }%v\\n",
                             "%v{json}\\n",
                             "%v{re[x]}\\n",
                             "%v{unpack[b]}\\n",
                             "%d{iso} %v\\n",
                             "%d{strftime[%F]} %v\\n",
                             "%p{3}%v\\n",
                             "%V{2}%v{2}",
                             "%v{-1}",
                             "%v{99999999999999999999}",
                             "%R{big32}%v",
                             "%i%v\\n",
                             "%[%v\\n",
                             "%a{compression}%v\\n",
                             "%v%p\\n",
                             "%s %v\\n",
                             "%d %T %v\\n",
                             "%H %h{%k=%v }%h{%k=%v }%v\\n",
                             "%v{hex[x]}\\n",
                             "%v{hex"})
    EXPECT_NE(refusal(format), "accepted") << format;
}

TEST(InputParser, WhatTheOutputFormatPrintsComesBack) {
  std::mt19937 random(7);
  const auto bytes = [&] {
    std::string s(random() % 20, '\0');
    for (char& c : s)
      c = static_cast<char>(random());
    return s;
  };
  for (const char* format :
       {"%K{big32}%k%V{big32}%v%p{big32}%d{big64}%H{big32}%h{%K{little32}%k%V{big64}%v}",
        "%T %p %K %k%V %v\\n%H %h{%K,%k%V,%v}%t\\n",
        "%p{hex32}%d{hex64}%K{hex32}%k%V{hex64}%v%H{hex}:%h{%K{hex16}%k%V{hex32}%v}"}) {
    const Result<OutputFormat> printer = OutputFormat::compile(format, "");
    ASSERT_TRUE(printer) << format;
    std::string printed;
    std::string expected;
    for (int i = 0; i < 300; ++i) {
      const std::string key = bytes();
      const std::string value = bytes();
      const std::string name = bytes();
      std::vector<HeaderView> headers;
      for (auto n = random() % 3; n > 0; --n)
        headers.push_back({name, n == 1 ? std::nullopt : std::optional<std::string_view>(value)});
      RecordView record;
      record.timestamp = TimestampMs(i % 10 == 0 ? -1 : 1'700'000'000'000 + i);
      if (random() % 4 != 0) record.key = key;
      if (random() % 4 != 0) record.value = value;
      record.headers = &headers;
      RecordContext context;
      context.topic = "topic";
      context.partition = i;
      context.record = &record;
      printer->append(context, printed);
      ParsedRecord same;
      if (std::string_view(format).find("%t") != std::string_view::npos) same.topic = "topic";
      same.key = record.key;
      same.value = record.value;
      same.headers = headers;
      same.partition = PartitionId(i);
      same.timestamp = record.timestamp;
      expected += describe(same) + ';';
    }
    EXPECT_EQ(read_all(format, printed), expected) << format;
    EXPECT_EQ(read_all(format, printed, 5), expected) << format;
  }
}

TEST(InputParser, RandomFormatsOverRandomInputNeverStickOrDependOnTheStep) {
  static const std::vector<std::string> kPieces{"%v",
                                                "%k",
                                                "%t",
                                                "%V",
                                                "%K{big16}",
                                                "%V{byte}",
                                                "%V{2}",
                                                "%p",
                                                "%d{hex8}",
                                                "%H{byte}",
                                                "%H",
                                                "%h{%k=%v,}",
                                                "%h{%K{byte}%k%V{1}%v}",
                                                "%v{hex}",
                                                "%k{base64}",
                                                "%v{1}",
                                                " ",
                                                ",",
                                                "ab",
                                                "\\n",
                                                "%e{bool}",
                                                "%y{little16}",
                                                "%k{0}",
                                                "%V{0}"};
  static const std::string kBytes = "a b,=\n\0\1\2-109ftrue6b"s;
  std::mt19937 random(11);
  int compiled = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string format;
    for (auto n = 1 + random() % 6; n > 0; --n)
      format += kPieces[random() % kPieces.size()];
    if (refusal(format) != "accepted") continue;
    ++compiled;
    std::string input;
    for (auto n = random() % 40; n > 0; --n)
      input += kBytes[random() % kBytes.size()];
    const std::string whole = read(format, input);
    EXPECT_EQ(whole.find("STUCK"), std::string::npos) << format;
    EXPECT_EQ(whole.find("BAD STEP"), std::string::npos) << format;
  }
  EXPECT_GT(compiled, 1000);
}

}  // namespace
}  // namespace spool
