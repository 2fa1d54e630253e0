// etcdctl lock, Go's concurrency.Mutex and Mortise on one name.
#include "stores/etcd/servers/suite.hpp"
#include "support/children.hpp"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace mortise::inline v0::stores::etcd {
namespace {

using namespace std::chrono_literals;

class etcd_interop : public servers::on_members<1> {
protected:
    std::string literal() const { return "etcd://" + all().addresses() + "?protocol=concurrency"; }
};

TEST_F(etcd_interop, keys_lie_where_the_others_look) {
    client locks{literal()};
    servers::server& member = all().member(0);
    const hold mine = locks.acquire("jobs/nightly", {.wait = 10s});
    const std::string key = member.command("get --prefix --keys-only jobs/nightly/");
    EXPECT_EQ(key.rfind("jobs/nightly/", 0), 0u) << key;
    EXPECT_EQ(key.find_first_not_of("0123456789abcdef", 13), key.find('\n')) << key << ": the lease, in hex";
    EXPECT_NE(member.command("lease list").find(key.substr(13, key.find('\n') - 13)), std::string::npos);
}

TEST_F(etcd_interop, counts_and_readers_are_refused_by_name) {
    client locks{literal()};
    EXPECT_EQ(locks.promises().most_capacity, 1u);
}

// A folder that only one can make at a time is the judge of both sides.
TEST_F(etcd_interop, etcdctl_lock_and_mortise_exclude_each_other) {
    const testing::scratch_directory room;
    const std::string inside = room / "inside";
    const std::string twice = room / "twice";
    const auto times_by_us = static_cast<int>(testing::scale(850));
    const auto times_by_them = static_cast<int>(testing::scale(150));
    std::atomic<int> ours{0};
    std::atomic<int> theirs{0};
    std::atomic<int> overlaps{0};
    {
        std::vector<std::jthread> all_of_us;
        for (int t = 0; t < 2; ++t)
            all_of_us.emplace_back([&] {
                client locks{literal(), {.hand_over_turns = 0}};
                for (int n = 0; n < times_by_us; ++n) {
                    const hold mine = locks.acquire("both", {.wait = 60s});
                    if (!std::filesystem::create_directory(inside)) ++overlaps;
                    std::this_thread::sleep_for(200us);
                    std::filesystem::remove(inside);
                    ++ours;
                }
            });
        for (int t = 0; t < 2; ++t)
            all_of_us.emplace_back([&] {
                for (int n = 0; n < times_by_them; ++n) {
                    all().member(0).command("lock both -- sh -c 'mkdir " + inside + " || echo x >> " + twice +
                                            "; rmdir " + inside + "'");
                    ++theirs;
                }
            });
    }
    EXPECT_EQ(ours, 2 * times_by_us);
    EXPECT_EQ(theirs, 2 * times_by_them);
    EXPECT_EQ(overlaps, 0);
    EXPECT_FALSE(std::filesystem::exists(twice));
}

// Only make interop has a compiler for it.
TEST_F(etcd_interop, go_concurrency_mutex_and_mortise_exclude_each_other) {
    if (std::getenv("MORTISE_INTEROP") == nullptr) GTEST_SKIP() << "make interop runs it";
    const testing::scratch_directory room;
    const std::string inside = room / "inside";
    const std::string program = room / "contend";
    const std::string build = "GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=" + (room / "cache") + " go build -o " +
                              program + " " MORTISE_SOURCE_DIR "/src/stores/etcd/interop/contend.go";
    ASSERT_EQ(std::system(build.c_str()), 0) << build;
    const auto times_by_us = static_cast<int>(testing::scale(850));
    const auto times_by_go = static_cast<int>(testing::scale(300));
    std::atomic<int> ours{0};
    std::atomic<int> overlaps{0};
    const std::string reply = room / "said";
    {
        std::vector<std::jthread> both;
        for (int t = 0; t < 2; ++t)
            both.emplace_back([&] {
                client locks{literal(), {.hand_over_turns = 0}};
                for (int n = 0; n < times_by_us; ++n) {
                    const hold mine = locks.acquire("go", {.wait = 60s});
                    if (!std::filesystem::create_directory(inside)) ++overlaps;
                    std::this_thread::sleep_for(200us);
                    std::filesystem::remove(inside);
                    ++ours;
                }
            });
        const std::string run = program + " " + all().addresses() + " go " + std::to_string(times_by_go) + " " +
                                inside + " >" + reply + " 2>&1";
        EXPECT_EQ(std::system(run.c_str()), 0);
    }
    std::string last;
    std::getline(std::ifstream{reply}, last);
    EXPECT_EQ(last, "overlaps 0");
    EXPECT_EQ(overlaps, 0);
    EXPECT_EQ(ours, 2 * times_by_us);
}

}  // namespace
}  // namespace mortise::inline v0::stores::etcd
