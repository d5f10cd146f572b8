// The small files of a partition folder: names, epochs, checkpoints, state, producer snapshots.

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "log/checkpoint.h"
#include "log/epochs.h"
#include "log/segment.h"
#include "log/state_file.h"
#include "log/transactions.h"
#include "support/golden.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

TEST(SegmentNames, TwentyDigitsAndASuffix) {
  EXPECT_EQ(segment_path("d", Offset(17), kLogSuffix), "d/00000000000000000017.log");
  EXPECT_EQ(segment_base("00000000000000000017.log", ".log"), Offset(17));
  EXPECT_EQ(segment_base("09223372036854775807.log", ".log"), Offset(0x7fffffffffffffff));
  for (const char* bad :
       {"17.log", "00000000000000000017.index", "0000000000000000001x.log",
        "-0000000000000000017.log", "09223372036854775808.log", "000000000000000000017.log",
        "00000000000000000017.log.deleted", "00000000000000000017.log.swap", ".log", ""})
    EXPECT_FALSE(segment_base(bad, ".log")) << bad;
}

TEST(SegmentNames, AFolderListsSegmentsAndSnapshotsAscending) {
  const TempDir dir;
  for (const char* name :
       {"00000000000000000100.log", "00000000000000000000.log", "00000000000000000009.snapshot",
        "00000000000000000003.snapshot", "00000000000000000000.index", "spool.cut-7",
        "00000000000000000200.log.deleted", "00000000000000000300.log.cleaned"})
    spew(dir / name, "");
  std::filesystem::create_directory(dir / "00000000000000000400.log");
  const PartitionFiles files = must(list_partition(posix_fs(), dir.path()));
  EXPECT_EQ(files.segments, (std::vector<Offset>{Offset(0), Offset(100)}));
  EXPECT_EQ(files.snapshots, (std::vector<Offset>{Offset(3), Offset(9)}));
  EXPECT_FALSE(files.unfinished_swap);
  spew(dir / "00000000000000000000.index.swap", "");
  EXPECT_TRUE(must(list_partition(posix_fs(), dir.path())).unfinished_swap);
}

TEST(Epochs, RoundTrip) {
  const std::string text = "0\n2\n0 0\n7 109\n";
  const auto epochs = must(parse_epochs(text, "f"));
  ASSERT_EQ(epochs.size(), 2U);
  EXPECT_EQ(epochs[1].epoch, Epoch(7));
  EXPECT_EQ(epochs[1].start, Offset(109));
  EXPECT_EQ(format_epochs(epochs), text);
  EXPECT_TRUE(must(parse_epochs("", "f")).empty());
  EXPECT_TRUE(must(parse_epochs("0\n0\n", "f")).empty());
  EXPECT_EQ(must(parse_epochs("0\n1\n 3 \t 4\r\n", "f")).size(), 1U);
  EXPECT_EQ(must(parse_epochs("0\n1\n3 4", "f")).size(), 1U);
}

TEST(Epochs, MalformedFilesAreRefused) {
  for (const char* bad :
       {"1\n0\n", "x\n0\n", "0\n", "0\nx\n", "0\n-1\n", "0\n1\n", "0\n1\n0 0\n1 1\n", "0\n1\n0\n",
        "0\n1\n0 0 0\n", "0\n1\n0 x\n", "0\n1\nx 0\n", "0\n2\n1 0\n1 5\n", "0\n2\n1 5\n2 4\n",
        "0\n1\n99999999999 0\n", "\n", "0 0\n0\n", "0\n1\n0 0\n\n"}) {
    const auto got = parse_epochs(bad, "f");
    ASSERT_FALSE(got) << bad;
    EXPECT_EQ(got.error().code, Errc::kCorrupt);
  }
}

TEST(Checkpoint, GivesTheOffsetOfOnePartition) {
  const TempDir dir;
  const std::string path = dir / "log-start-offset-checkpoint";
  const auto of = [&](const char* topic, int p) {
    return checkpoint_offset(posix_fs(), path, topic, PartitionId(p));
  };
  EXPECT_EQ(must(of("t", 0)), std::nullopt);
  spew(path, "");
  EXPECT_EQ(must(of("t", 0)), std::nullopt);
  spew(path, "0\n3\nt 0 5\nt 1 6\nt-0 0 7\n");
  EXPECT_EQ(must(of("t", 0)), Offset(5));
  EXPECT_EQ(must(of("t", 1)), Offset(6));
  EXPECT_EQ(must(of("t-0", 0)), Offset(7));
  EXPECT_EQ(must(of("t", 2)), std::nullopt);
  for (const char* bad : {"1\n0\n", "0\n2\nt 0 5\n", "0\n1\nt 0\n", "0\n1\nt x 5\n", "0\n"}) {
    spew(path, bad);
    EXPECT_EQ(of("t", 0).error().code, Errc::kCorrupt) << bad;
  }
}

TEST(StateFile, RoundTripAndEveryFlippedBitIsSeen) {
  const TempDir dir;
  PartitionState s{"boot-id", 7, 0xffffffffffffffff, Offset(123), true, true, Offset(77)};
  must(write_state(posix_fs(), dir.path(), s, 0600, Durability::kNone));
  const auto back = must(read_state(posix_fs(), dir.path()));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->boot_id, "boot-id");
  EXPECT_EQ(back->device, 7U);
  EXPECT_EQ(back->inode, 0xffffffffffffffffU);
  EXPECT_EQ(back->recovery_point, Offset(123));
  EXPECT_TRUE(back->plain);
  EXPECT_TRUE(back->suspect);
  EXPECT_EQ(back->suspect_from, Offset(77));
  EXPECT_EQ(back->trusted_point(), Offset(77));
  FileStat folder;
  folder.device = 7;
  folder.inode = 0xffffffffffffffff;
  EXPECT_TRUE(back->same_life("boot-id", folder));
  EXPECT_FALSE(back->same_life("boot-ie", folder));
  folder.inode = 8;
  EXPECT_FALSE(back->same_life("boot-id", folder));
  const std::string path = dir / "spool.state";
  const std::string whole = slurp(path);
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    flip_bit(path, byte, byte % 8);
    const auto bad = read_state(posix_fs(), dir.path());
    EXPECT_TRUE(bad && !*bad) << byte;
    spew(path, whole);
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    spew(path, whole.substr(0, size));
    const auto torn = read_state(posix_fs(), dir.path());
    EXPECT_TRUE(torn && !*torn) << size;
  }
}

TEST(StateFile, ANewerVersionIsRefused) {
  const TempDir dir;
  EXPECT_EQ(must(read_state(posix_fs(), dir.path())), std::nullopt);
  spew(dir / "spool.state", with_checksum("spool state 2\nboot x\n"));
  EXPECT_EQ(read_state(posix_fs(), dir.path()).error().code, Errc::kUnsupported);
}

std::string snapshot(const std::vector<std::pair<std::int64_t, std::int64_t>>& entries) {
  std::string out(10 + entries.size() * 46, '\0');
  auto* at = reinterpret_cast<std::byte*>(out.data());
  store_be<std::int16_t>(at, 1);
  store_be<std::int32_t>(at + 6, static_cast<std::int32_t>(entries.size()));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    store_be<std::int64_t>(at + 10 + i * 46, entries[i].first);
    store_be<std::int64_t>(at + 10 + i * 46 + 38, entries[i].second);
  }
  store_be<std::uint32_t>(at + 2, crc32c(as_bytes(out).subspan(6)));
  return out;
}

TEST(Snapshot, ParsesProducersAndTheirOpenTransactions) {
  EXPECT_TRUE(must(parse_snapshot(snapshot({}), "f")).empty());
  const auto entries = must(parse_snapshot(snapshot({{5, -1}, {1000, 77}}), "f"));
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].producer_id, 5);
  EXPECT_EQ(entries[0].first_offset, Offset(-1));
  EXPECT_EQ(entries[1].producer_id, 1000);
  EXPECT_EQ(entries[1].first_offset, Offset(77));
}

TEST(Snapshot, EveryTruncationAndFlippedBitIsRefused) {
  const std::string whole = snapshot({{5, -1}, {1000, 77}});
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_EQ(parse_snapshot(whole.substr(0, n), "f").error().code, Errc::kCorrupt) << n;
  EXPECT_FALSE(parse_snapshot(whole + "x", "f"));
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    std::string bad = whole;
    bad[byte] = static_cast<char>(bad[byte] ^ (1 << (byte % 8)));
    EXPECT_FALSE(parse_snapshot(bad, "f")) << byte;
  }
  std::string negative = snapshot({});
  store_be<std::int32_t>(reinterpret_cast<std::byte*>(negative.data()) + 6, -1);
  store_be<std::uint32_t>(reinterpret_cast<std::byte*>(negative.data()) + 2,
                          crc32c(as_bytes(negative).subspan(6)));
  EXPECT_FALSE(parse_snapshot(negative, "f"));
}

TEST(Snapshot, KafkasOwnTellTheHangingTransaction) {
  const std::string path = golden_data() + "/hanging-0/00000000000000000025.snapshot";
  const auto entries = must(parse_snapshot(slurp(path), path));
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].first_offset, Offset(10));
}

}  // namespace
}  // namespace spool::test
