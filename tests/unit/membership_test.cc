#include "group/membership.h"

#include <csignal>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/log_fixture.h"

namespace spool::test {
namespace {

/// A member with a directory, locks and descriptors of its own, as a process has them.
struct Member {
  explicit Member(std::unique_ptr<Process> p, const std::string& group = "g",
                  bool is_static = false)
      : process(std::move(p)),
        offsets(*process->store),
        membership(std::make_unique<Membership>(*process->store, offsets,
                                                Membership::Options{group, "client", is_static})) {}
  /// Looks, and releases at once what it has to give up.
  Membership::Change look() {
    Membership::Change change = must(membership->look());
    membership->release(change.give_up);
    return change;
  }
  std::string has() const {
    std::string out;
    for (const TopicPartition& tp : membership->claims())
      out += fmt::format("{}{}{}", out.empty() ? "" : " ", tp.topic, tp.partition.value());
    return out;
  }

  std::unique_ptr<Process> process;
  OffsetStore offsets;
  std::unique_ptr<Membership> membership;
};

class MembershipTest : public LogTest {
 protected:
  std::unique_ptr<Member> member(const std::string& topic = "t", int partitions = 6,
                                 const std::string& group = "g") {
    auto m = std::make_unique<Member>(new_process(), group);
    must(m->membership->join(topic, numbers(partitions)));
    return m;
  }
  static std::vector<PartitionId> numbers(int count) {
    std::vector<PartitionId> out;
    for (int i = 0; i < count; ++i)
      out.emplace_back(i);
    return out;
  }
  /// Looks with all of them until nothing changes; at every step no partition has two owners.
  static void settle(const std::vector<Member*>& members) {
    for (int round = 0; round < 20; ++round) {
      bool changed = false;
      for (Member* m : members) {
        const auto change = m->look();
        changed = changed || !change.gained.empty() || !change.give_up.empty();
        std::set<TopicPartition> owned;
        for (const Member* other : members)
          for (const TopicPartition& tp : other->membership->claims())
            EXPECT_TRUE(owned.insert(tp).second) << "two owners";
      }
      if (!changed) return;
    }
    ADD_FAILURE() << "never at rest";
  }
};

TEST_F(MembershipTest, SharesAreAsEvenAsTheyCanBe) {
  for (int partitions = 0; partitions < 20; ++partitions)
    for (int members = 1; members < 10; ++members) {
      int next = 0;
      for (int rank = 0; rank < members; ++rank) {
        const Share share = fair_share(partitions, members, rank);
        EXPECT_EQ(share.first, next);
        EXPECT_GE(share.count, partitions / members);
        EXPECT_LE(share.count, (partitions + members - 1) / members);
        next += share.count;
      }
      EXPECT_EQ(next, partitions);
    }
}

TEST_F(MembershipTest, MembersShareAndTheLeaversPartitionsAreTakenOver) {
  const auto a = member();
  settle({a.get()});
  EXPECT_EQ(a->has(), "t0 t1 t2 t3 t4 t5");
  auto b = member();
  settle({a.get(), b.get()});
  EXPECT_EQ(a->has(), "t0 t1 t2");
  EXPECT_EQ(b->has(), "t3 t4 t5");
  auto c = member();
  settle({a.get(), b.get(), c.get()});
  EXPECT_EQ(a->has(), "t0 t1");
  EXPECT_EQ(b->has().size(), 5U);
  EXPECT_EQ(c->has().size(), 5U);
  b.reset();
  settle({a.get(), c.get()});
  EXPECT_EQ(a->membership->claims().size(), 3U);
  EXPECT_EQ(c->membership->claims().size(), 3U);
  a->membership->leave("t");
  settle({c.get()});
  EXPECT_EQ(c->has(), "t0 t1 t2 t3 t4 t5");
}

TEST_F(MembershipTest, ExtraMembersAreIdleAndGroupsAndTopicsAreStrangers) {
  const auto a = member("t", 2);
  const auto b = member("t", 2);
  const auto c = member("t", 2);
  const auto other = member("t", 2, "other");
  settle({a.get(), b.get(), c.get()});
  EXPECT_EQ(a->has(), "t0");
  EXPECT_EQ(b->has(), "t1");
  EXPECT_EQ(c->has(), "");
  settle({other.get()});
  EXPECT_EQ(other->has(), "t0 t1");
  must(c->membership->join("u", numbers(3)));
  settle({a.get(), b.get(), c.get()});
  EXPECT_EQ(c->has(), "u0 u1 u2");
}

TEST_F(MembershipTest, NothingIsGivenUpBeforeTheMemberSaysSo) {
  const auto a = member();
  (void)must(a->membership->look());
  const auto b = member();
  auto wants = must(b->membership->look());
  EXPECT_TRUE(wants.gained.empty());
  EXPECT_TRUE(wants.wanting);
  const auto change = must(a->membership->look());
  EXPECT_EQ(change.give_up.size(), 3U);
  wants = must(b->membership->look());
  EXPECT_TRUE(wants.gained.empty()) << "still the other's";
  a->membership->release(change.give_up);
  wants = must(b->membership->look());
  EXPECT_EQ(wants.gained.size(), 3U);
  EXPECT_FALSE(wants.wanting);
}

TEST_F(MembershipTest, AStaticChoiceIsKeptAndTheOthersShareTheRest) {
  Member fixed(new_process(), "g", true);
  must(fixed.membership->join("t", {PartitionId(1), PartitionId(4)}));
  settle({&fixed});
  EXPECT_EQ(fixed.has(), "t1 t4");
  const auto a = member();
  const auto b = member();
  settle({&fixed, a.get(), b.get()});
  EXPECT_EQ(fixed.has(), "t1 t4");
  EXPECT_EQ(a->membership->claims().size(), 2U);
  EXPECT_EQ(b->membership->claims().size(), 2U);
  Member late(new_process(), "g", true);
  must(late.membership->join("t", {PartitionId(4)}));
  const auto change = late.look();
  EXPECT_TRUE(change.wanting);
  EXPECT_EQ(late.has(), "");
}

TEST_F(MembershipTest, FourThatSwapAllTopicsAtOnceComeToRest) {
  std::vector<std::unique_ptr<Member>> all;
  std::vector<Member*> pointers;
  for (int i = 0; i < 4; ++i) {
    all.push_back(std::make_unique<Member>(new_process()));
    pointers.push_back(all.back().get());
    must(all.back()->membership->join(i % 2 == 0 ? "t" : "u", numbers(6)));
  }
  settle(pointers);
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 4; ++i) {
      const bool to_u = (i + round) % 2 == 0;
      all[static_cast<std::size_t>(i)]->membership->leave(to_u ? "t" : "u");
      must(all[static_cast<std::size_t>(i)]->membership->join(to_u ? "u" : "t", numbers(6)));
    }
    settle(pointers);
    std::size_t owned = 0;
    for (Member* m : pointers)
      owned += m->membership->claims().size();
    EXPECT_EQ(owned, 12U);
  }
}

TEST_F(MembershipTest, TheLivingAreKnownByNameAndTheDeadAreNot) {
  const auto a = member();
  auto b = member();
  settle({a.get(), b.get()});
  a->membership->set_blocked(TimestampMs(5));
  const auto p = new_process();
  auto live = must(live_members(p->store->env(), "g", {"t"}));
  ASSERT_EQ(live.size(), 2U);
  EXPECT_EQ(live[0].record.pid, ::getpid());
  EXPECT_EQ(live[0].record.client_id, "client");
  EXPECT_EQ(live[0].record.blocked_since, TimestampMs(5));
  EXPECT_EQ(live[0].claimed, (std::set<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(live[1].claimed, (std::set<std::int32_t>{3, 4, 5}));
  b.reset();
  live = must(live_members(p->store->env(), std::nullopt, {}));
  ASSERT_EQ(live.size(), 1U);
  EXPECT_EQ(live[0].record.slot, 0);
  // The place of the dead is used again, so that the file does not grow.
  const auto size = std::filesystem::file_size(root + "/spool.groups");
  for (int i = 0; i < 20; ++i)
    (void)member("u", 1, "h" + std::to_string(i));
  EXPECT_EQ(std::filesystem::file_size(root + "/spool.groups"), size);
}

TEST_F(MembershipTest, WhoseLocksNobodyCanSeeIsNoMemberAnyMore) {
  const auto a = member();
  (void)must(a->membership->look());
  std::filesystem::remove(root + "/spool.locks");
  const auto looked = a->membership->look();
  ASSERT_FALSE(looked);
  EXPECT_EQ(looked.error().code, Errc::kConflict);
  EXPECT_FALSE(a->membership->check());
}

TEST_F(MembershipTest, AMemberThatIsKilledIsReplacedAtOnce) {
  const auto a = member();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    {
      const auto b = member();
      while (b->membership->claims().size() < 3)
        (void)b->look();
      (void)!::write(ready[1], "x", 1);
      ::pause();
    }
    ::_exit(0);
  }
  char byte = 0;
  pollfd readable{ready[0], POLLIN, 0};
  while (::poll(&readable, 1, 1) == 0)
    (void)a->look();
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  while (!a->look().give_up.empty()) {
  }
  EXPECT_EQ(a->membership->claims().size(), 3U);
  ::kill(child, SIGKILL);
  int waited = 0;
  while (a->membership->claims().size() < 6 && waited < 5000) {
    const int due = a->membership->due_in_ms();
    pollfd woken{a->membership->fd(), POLLIN, 0};
    (void)::poll(&woken, 1, due);
    a->membership->after_wake();
    if (a->membership->due_in_ms() == 0) (void)a->look();
    waited += due + 1;
  }
  EXPECT_EQ(a->membership->claims().size(), 6U);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace spool::test
