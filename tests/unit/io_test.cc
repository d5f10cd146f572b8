// Kernel locks, atomic files and the real file system.

#include <array>
#include <atomic>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>

#include <gtest/gtest.h>

#include "io/atomic_file.h"
#include "io/dir_locks.h"
#include "io/watch.h"
#include "support/fault_fs.h"
#include "support/log_fixture.h"

namespace spool::test {
namespace {

class DirLocksTest : public ::testing::Test {
 protected:
  /// Another process that has the directory, as a server or a broker does.
  std::unique_ptr<File> take_exclusively() {
    auto file = must(posix_fs().open(dir / ".lock", OpenMode::kCreate, 0600));
    EXPECT_TRUE(must(file->try_lock(LockKind::kExclusive, 0, 0)));
    return file;
  }
  /// Whether somebody else could take the directory or a byte now.
  bool free(const std::string& name, std::int64_t at, std::int64_t length) {
    auto file = must(posix_fs().open(dir / name, OpenMode::kCreate, 0600));
    return !must(file->lock_holder(LockKind::kExclusive, at, length));
  }
  bool directory_free() { return free(".lock", 0, 0); }
  bool byte_free(std::string_view name) { return free("spool.locks", DirLocks::byte_of(name), 1); }

  TempDir dir;
  DirLocks a{posix_fs(), dir.path(), 0600};
  DirLocks b{posix_fs(), dir.path(), 0600};
};

TEST_F(DirLocksTest, OperationsShareTheDirectory) {
  {
    const auto one = must(a.begin());
    const auto again = must(a.begin());
    const auto other = must(b.begin());
    EXPECT_FALSE(directory_free());
  }
  EXPECT_TRUE(directory_free());
  auto moved = must(a.begin());
  {
    const auto to = std::move(moved);
    EXPECT_FALSE(directory_free());
  }
  EXPECT_TRUE(directory_free());
}

TEST_F(DirLocksTest, AnExclusiveHolderIsAConflict) {
  must(a.begin());
  auto owner = take_exclusively();
  for (DirLocks* l : {&a, &b}) {
    const auto refused = l->begin();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::kConflict);
    EXPECT_NE(refused.error().context.find(dir.path()), std::string::npos);
  }
  owner.reset();
  EXPECT_TRUE(a.begin());
}

TEST_F(DirLocksTest, ABrokersProcessIsNamed) {
  // Java takes a traditional lock, which says whose it is. It does not exclude this very process,
  // so that another one has to hold it.
  must(a.begin());
  std::array<int, 2> ready{};
  std::array<int, 2> leave{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  ASSERT_EQ(::pipe(leave.data()), 0);
  const std::string path = dir / ".lock";
  const pid_t child = ::fork();
  if (child == 0) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    struct flock whole{};
    whole.l_type = F_WRLCK;
    char byte = ::fcntl(fd, F_SETLK, &whole) == 0 ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    ::close(leave[1]);
    ::_exit(::read(leave[0], &byte, 1) == 0 ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  const auto refused = a.begin();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kConflict);
  EXPECT_NE(refused.error().context.find(fmt::format("process {}", child)), std::string::npos);
  for (const int fd : {leave[1], leave[0], ready[0], ready[1]})
    ::close(fd);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(a.begin());
}

TEST_F(DirLocksTest, TheMarkerOfACleanStopIsRemovedOnce) {
  spew(dir / ".kafka_cleanshutdown", "{}");
  must(a.begin());
  EXPECT_FALSE(exists(dir / ".kafka_cleanshutdown"));
}

TEST_F(DirLocksTest, AMarkerThatCannotBeRemovedIsTriedAgainAndNothingIsHeld) {
  FaultFs fs(posix_fs());
  DirLocks locks(fs, dir.path(), 0600);
  spew(dir / ".kafka_cleanshutdown", "{}");
  fs.plan({Call::kUnlink, 1, EIO, true, ""});
  EXPECT_FALSE(locks.begin());
  EXPECT_FALSE(locks.begin());
  EXPECT_TRUE(directory_free());
  fs.heal();
  must(locks.begin());
  EXPECT_FALSE(exists(dir / ".kafka_cleanshutdown"));
}

TEST_F(DirLocksTest, ALockFileThatABrokerRemovedIsMadeAgain) {
  must(a.begin());
  std::filesystem::remove(dir / ".lock");
  spew(dir / ".kafka_cleanshutdown", "{}");
  const auto one = must(a.begin());
  EXPECT_TRUE(exists(dir / ".lock"));
  EXPECT_FALSE(directory_free());
  EXPECT_FALSE(exists(dir / ".kafka_cleanshutdown"));
}

TEST_F(DirLocksTest, AFileInPlaceOfAnotherIsWhatCounts) {
  must(a.begin());
  std::filesystem::remove(dir / ".lock");
  const auto owner = take_exclusively();
  EXPECT_EQ(a.begin().error().code, Errc::kConflict);
}

TEST_F(DirLocksTest, BytesExcludeEachOtherByName) {
  {
    const auto one = must(a.lock_byte("append t 0"));
    EXPECT_FALSE(byte_free("append t 0"));
    const auto two = must(b.lock_byte("append t 1"));
    const auto three = must(a.lock_byte("topics"));
    EXPECT_FALSE(byte_free("append t 1"));
  }
  EXPECT_TRUE(byte_free("append t 0"));
  EXPECT_TRUE(byte_free("append t 1"));
  EXPECT_EQ(DirLocks::append_name("t", 7), "append t 7");
  EXPECT_GE(DirLocks::byte_of("topics"), 0);
}

// Whoever comes after somebody removed the file locks another one.
TEST_F(DirLocksTest, TheByteIsOfTheFileThatThePathNames) {
  must(a.lock_byte("x"));
  const auto held = must(a.lock_byte("y"));
  std::filesystem::remove(dir / "spool.locks");
  {
    const auto of_b = must(b.lock_byte("x"));
    EXPECT_FALSE(byte_free("x"));
  }
  const auto of_a = must(a.lock_byte("x"));
  EXPECT_FALSE(byte_free("x"));
  EXPECT_TRUE(
      must(posix_fs().stat(dir / "spool.locks"))
          .same_file(must(must(posix_fs().open(dir / "spool.locks", OpenMode::kRead, 0))->stat())));
}

TEST_F(DirLocksTest, AFileThatIsRemovedWhileItIsWaitedForIsNotTheOne) {
  auto first = must(b.lock_byte("x"));
  std::atomic<bool> got{false};
  std::thread waiter([&] {
    const auto byte = must(a.lock_byte("x"));
    EXPECT_FALSE(byte_free("x"));
    got = true;
  });
  while (!got && byte_free("x"))
    std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::filesystem::remove(dir / "spool.locks");
  {
    const DirLocks::ByteLock gone = std::move(first);
  }
  waiter.join();
  EXPECT_TRUE(got);
}

class DirLocksThreads : public DirLocksTest {};

TEST_F(DirLocksThreads, OneHolderAtATimeAmongThreadsAndProcesses) {
  std::atomic<int> inside{0};  // of the byte; the thread sanitizer does not know kernel locks
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (DirLocks* l : {&a, &a, &b, &b})
    threads.emplace_back([&, l] {
      for (int i = 0; i < 200; ++i) {
        const auto operation = must(l->begin());
        const auto byte = must(l->lock_byte("x"));
        EXPECT_EQ(++inside, 1);
        ++done;
        --inside;
      }
    });
  for (auto& t : threads)
    t.join();
  EXPECT_EQ(done, 800);
  EXPECT_TRUE(directory_free());
}

TEST(AtomicFile, ReplacesAsAWholeWithTheModeWhateverTheUmask) {
  const TempDir dir;
  const std::string path = dir / "f";
  const mode_t before = ::umask(077);
  for (const Durability d : {Durability::kNone, Durability::kSynced, Durability::kNamed}) {
    must(replace_file(posix_fs(), path, fmt::format("content {}", static_cast<int>(d)), 0644, d));
    EXPECT_EQ(slurp(path), fmt::format("content {}", static_cast<int>(d)));
    EXPECT_EQ(must(posix_fs().stat(path)).mode, 0644U);
    EXPECT_FALSE(exists(path + ".tmp"));
  }
  ::umask(before);
}

TEST(AtomicFile, AFailureLeavesTheOldContentAndNoTemporaryFile) {
  const TempDir dir;
  const std::string path = dir / "f";
  FaultFs fs(posix_fs());
  for (const Call call :
       {Call::kCreate, Call::kWrite, Call::kShortWrite, Call::kSync, Call::kRename}) {
    spew(path, "old");
    fs.plan({call, 1, ENOSPC, false, ""});
    const auto done = replace_file(fs, path, "new content", 0600, Durability::kNamed);
    ASSERT_FALSE(done) << call_name(call);
    EXPECT_EQ(done.error().code, Errc::kNoSpace);
    EXPECT_EQ(slurp(path), "old") << call_name(call);
    EXPECT_FALSE(exists(path + ".tmp")) << call_name(call);
  }
  fs.plan({Call::kSyncDir, 1, EIO, false, ""});
  EXPECT_FALSE(replace_file(fs, path, "new", 0600, Durability::kNamed));
}

TEST(AtomicFile, ChecksumsVouchForTheBody) {
  const std::string text = with_checksum("a\nxxh3 b\n");
  EXPECT_EQ(must(without_checksum(text, "f")), "a\nxxh3 b\n");
  EXPECT_EQ(must(without_checksum(with_checksum(""), "f")), "");
  for (std::size_t n = 0; n < text.size(); ++n)
    EXPECT_FALSE(without_checksum(text.substr(0, n), "f")) << n;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string bad = text;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_FALSE(without_checksum(bad, "f")) << i;
  }
  EXPECT_FALSE(without_checksum(text + "\n", "f"));
  EXPECT_EQ(without_checksum("", "f").error().code, Errc::kCorrupt);
}

TEST(PosixFs, ModesOfOpening) {
  const TempDir dir;
  Fs& fs = posix_fs();
  EXPECT_EQ(fs.open(dir / "no", OpenMode::kRead, 0).error().code, Errc::kNotFound);
  EXPECT_EQ(fs.open(dir / "no", OpenMode::kReadWrite, 0).error().code, Errc::kNotFound);
  auto f = must(fs.open(dir / "f", OpenMode::kCreate, 0640));
  EXPECT_EQ(must(f->stat()).mode, 0640U);
  must(f->write_at(as_bytes("hello"), 3));
  EXPECT_EQ(slurp(dir / "f"), std::string("\0\0\0hello", 8));
  std::array<std::byte, 10> raw{};
  EXPECT_EQ(must(f->read_at(raw, 6)), 2U);
  EXPECT_EQ(must(f->read_at(raw, 8)), 0U);
  EXPECT_EQ(must(f->read_at(raw, 100)), 0U);
  must(f->truncate(4));
  EXPECT_EQ(must(f->stat()).size, 4);
  must(fs.open(dir / "f", OpenMode::kCreate, 0600));
  EXPECT_EQ(slurp(dir / "f").size(), 4U);
  EXPECT_EQ(must(f->stat()).mode, 0640U) << "an existing file keeps its mode";
  must(fs.open(dir / "f", OpenMode::kReplace, 0600));
  EXPECT_EQ(slurp(dir / "f"), "");
}

TEST(PosixFs, FilesAreNotInherited) {
  const TempDir dir;
  const auto f = must(posix_fs().open(dir / "f", OpenMode::kCreate, 0600));
  int open = 0;
  for (const auto& e : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(e.path(), gone) != dir / "f") continue;
    ++open;
    EXPECT_NE(::fcntl(std::stoi(e.path().filename()), F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_EQ(open, 1);
}

TEST(PosixFs, SmallFilesAreReadWholeAndBounded) {
  const TempDir dir;
  for (const std::size_t size : {0U, 1U, 4095U, 4096U, 4097U, 12288U, 100000U}) {
    spew(dir / "f", std::string(size, 'x'));
    EXPECT_EQ(must(read_file(posix_fs(), dir / "f")).size(), size);
  }
  EXPECT_EQ(read_file(posix_fs(), dir / "f", 5000).error().code, Errc::kTooLarge);
}

TEST(Paths, Parents) {
  EXPECT_EQ(parent_path("a/b"), "a");
  EXPECT_EQ(parent_path("a"), ".");
  EXPECT_EQ(parent_path("/a"), "/");
  EXPECT_EQ(parent_path("/a/b/"), "/a");
  EXPECT_EQ(parent_path("/"), "/");
}

TEST(Watcher, TellsTheFolderInWhichSomethingHappened) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "a");
  std::filesystem::create_directory(dir / "b");
  Watcher w(true);
  if (w.fd() < 0) GTEST_SKIP() << "inotify is used up: " << w.problem();
  ASSERT_TRUE(w.add(dir / "a", 1));
  ASSERT_TRUE(w.add(dir / "b", 2));
  EXPECT_FALSE(w.add(dir / "none", 3));
  bool all = false;
  EXPECT_TRUE(w.drain(all).empty());
  spew(dir / "b/f", "x");
  EXPECT_EQ(w.drain(all), std::vector<int>{2});
  EXPECT_FALSE(all);
  std::filesystem::remove_all(dir / "a");
  EXPECT_EQ(w.drain(all), std::vector<int>{1});
  Watcher off(false);
  EXPECT_EQ(off.fd(), -1);
  EXPECT_FALSE(off.add(dir / "b", 1));
  EXPECT_FALSE(off.problem().empty());
}

}  // namespace
}  // namespace spool::test
