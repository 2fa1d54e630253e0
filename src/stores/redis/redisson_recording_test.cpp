// What Redisson's scripts were seen to do (interop/redisson-4.7.0.txt), step by step, against what ours do.
#include "stores/redis/redisson_protocol.hpp"
#include "stores/redis/servers/single.hpp"
#include "stores/redis/servers/subscriber.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>
#include <mortise/shared_mutex.hpp>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <future>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::inline v0::stores::redis {
namespace {

using namespace std::chrono_literals;
using words = std::vector<std::string>;

// A script that Redisson ran: what it was told, and what it did.
struct recorded_script {
    std::string sha;
    words keys;
    words arguments;
    std::vector<words> commands;

    bool does(const std::string& what) const {
        return std::any_of(commands.begin(), commands.end(), [&](const words& one) { return one.front() == what; });
    }
};

words quoted_words_in(const std::string& line) {
    words all;
    for (std::size_t open = line.find('"'); open != std::string::npos; open = line.find('"', open + 1)) {
        const std::size_t close = line.find('"', open + 1);
        all.push_back(line.substr(open + 1, close - open - 1));
        open = close;
    }
    return all;
}

// Leases of minutes: a busy machine must not see them end. What was left of one is a whole one here.
std::string with_time(const std::string& word) {
    if (word == "3000" || word == "2589") return "3000000";
    return word == "700" ? "700000" : word;
}

std::vector<recorded_script> story(int number) {
    std::ifstream in{MORTISE_SOURCE_DIR "/src/stores/redis/interop/redisson-4.7.0.txt"};
    EXPECT_TRUE(in) << "the recording is missing";
    std::vector<recorded_script> all;
    int now = 0;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("# ")) now = std::atoi(line.c_str() + 2);
        words said = quoted_words_in(line);
        if (now != number || said.empty()) continue;
        for (std::string& word : said) word = with_time(word);
        if (said[0] == "EVALSHA") {
            const auto keys = 3 + std::stol(said[2]);
            all.push_back({said[1], {said.begin() + 3, said.begin() + keys}, {said.begin() + keys, said.end()}, {}});
        } else if (line.find("in script") != std::string::npos) {
            all.back().commands.push_back(std::move(said));
        }
    }
    std::erase_if(all, [](const recorded_script& one) { return one.commands.empty(); });  // sent before it was loaded
    EXPECT_FALSE(all.empty()) << number;
    return all;
}

// Redisson's state on one server, made by the commands of the recording, and ours on another.
class redisson_recording : public ::testing::Test {
protected:
    void play(int number) {
        for (const recorded_script& one : story(number)) {
            SCOPED_TRACE("story " + std::to_string(number) + ", " + one.commands.back().front() + " after " +
                         std::to_string(++steps_));
            std::vector<std::string> said;
            for (const words& each : one.commands) {
                theirs_.node().command(each);
                if (each.front() == "PUBLISH") said.push_back(each[1] + " " + each[2]);
            }
            const std::string result = run_ours(one);
            EXPECT_EQ(result, result_of(one)) << "the script's result";
            EXPECT_EQ(state_of(ours_.node()), state_of(theirs_.node()));
            for (const std::string& each : said) EXPECT_TRUE(heard_.await(each)) << each;
            said_ += said.size();
            EXPECT_TRUE(testing::eventually([&] { return heard_.heard().size() >= said_; })) << "one was said before";
            EXPECT_EQ(heard_.heard().size(), said_);
        }
    }

private:
    // From what it did: Redisson's scripts return what they have set the latch to, nothing if they took the lock, or else for how
    // long it is held.
    static std::string result_of(const recorded_script& one) {
        for (const words& each : one.commands)
            if (each.front() == "set" && each[1].starts_with("redisson_unlock_latch")) return each[2];
        if (one.does("rpush")) return "time";
        if (one.does("hincrby") || one.does("hset")) return "";
        if (one.sha.starts_with("6a3d")) return "1";
        return one.does("pttl") ? "time" : "";
    }

    std::string run_ours(const recorded_script& one) {
        const scripts& all = scripts::all();
        const words& k = one.keys;
        const words& a = one.arguments;
        const redisson_names names{k[0]};
        const std::string none = names.latch({});
        const auto run = [&](const script& which, const words& keys, const words& arguments) {
            words call{"eval", which.source, std::to_string(keys.size())};
            call.insert(call.end(), keys.begin(), keys.end());
            call.insert(call.end(), arguments.begin(), arguments.end());
            std::string answer = ours_.node().command(call);
            while (answer.ends_with('\n')) answer.pop_back();
            return answer;
        };
        const auto waited = [](const std::string& answer) { return answer.size() > 3 ? std::string("time") : answer; };
        if (one.sha.starts_with("149c")) return waited(run(all.redisson_claim, {k[0], none}, {a[0], a[1]}));
        if (one.sha.starts_with("6866"))
            return run(all.redisson_release, {k[0], k[2], names.reader(a[2])},
                       {a[2], a[3], a[4], k[1], names.rw_channel});
        if (one.sha.starts_with("6a3d")) return run(all.redisson_renew, {k[0]}, {a[1], a[0]});
        if (one.sha.starts_with("8f6e"))
            return waited(run(all.redisson_fair_claim, {k[0], none, k[1], k[2]}, {a[0], a[1], a[2], "1"}));
        if (one.sha.starts_with("367f"))
            return run(all.redisson_fair_release, {k[0], k[1], k[2], k[4]}, {a[2], a[4], a[5], "300000", k[3]});
        if (one.sha.starts_with("9555")) return waited(run(all.redisson_read, {k[0], none, k[1] + ":1"}, {a[0], a[1]}));
        const std::string writer = a.size() > 1 ? a[1].substr(0, a[1].rfind(":write")) : "";
        if (one.sha.starts_with("6306")) return waited(run(all.redisson_write, {k[0], none}, {a[0], writer}));
        if (one.sha.starts_with("6e1b"))
            return run(all.redisson_release, {k[0], k[4], k[2] + ":1"}, {a[1], a[2], a[3], names.channel, k[1]});
        if (one.sha.starts_with("21f5"))
            return run(all.redisson_release, {k[0], k[2], names.reader("x")},
                       {a[2].substr(0, a[2].rfind(":write")), a[3], a[4], names.channel, k[1]});
        ADD_FAILURE() << "an unknown script: " << one.sha;
        return {};
    }

    // All keys, their values and, to the minute, for how long they live. Of times in a line, how far apart they are.
    static std::map<std::string, std::string> state_of(servers::server& on) {
        const auto ask = [&](const words& what) {
            std::string answer = on.command(what);
            while (answer.ends_with('\n')) answer.pop_back();
            return answer;
        };
        std::map<std::string, std::string> all;
        std::istringstream keys{ask({"keys", "*"})};
        for (std::string key; std::getline(keys, key);) {
            const std::string type = ask({"type", key});
            std::string value = type == "hash"   ? sorted(ask({"hgetall", key}))
                                : type == "list" ? ask({"lrange", key, "0", "-1"})
                                : type == "zset" ? apart(ask({"zrange", key, "0", "-1", "withscores"}))
                                                 : ask({"get", key});
            const double left = std::stod(ask({"pttl", key}));
            all[key] = type + " " + value + " " + (left < 0 ? "for ever" : std::to_string(std::lround(left / 60'000)));
        }
        return all;
    }
    static std::string sorted(const std::string& pairs) {
        std::map<std::string, std::string> fields;
        std::istringstream in{pairs};
        for (std::string field, value; std::getline(in, field) && std::getline(in, value);) fields[field] = value;
        std::string all;
        for (const auto& [field, value] : fields) (((all += field) += '=') += value) += ' ';
        return all;
    }
    static std::string apart(const std::string& pairs) {
        std::istringstream in{pairs};
        std::string all;
        double last = 0;
        for (std::string member, score; std::getline(in, member) && std::getline(in, score); last = std::stod(score))
            all += member + " +" + (last == 0 ? "?" : std::to_string(std::lround((std::stod(score) - last) / 1000)));
        return all;
    }

    servers::single theirs_;
    servers::single ours_;
    servers::subscriber heard_{ours_.node().port(), "PSUBSCRIBE redisson*"};
    std::size_t said_ = 0;
    int steps_ = 0;
};

TEST_F(redisson_recording, the_watchdog_and_an_unlock) {
    play(2);
}

TEST_F(redisson_recording, a_lease_without_renewal) {
    play(3);
}

TEST_F(redisson_recording, a_waiter_of_another_client) {
    play(4);
}

TEST_F(redisson_recording, a_wait_in_vain) {
    play(5);
}

TEST_F(redisson_recording, a_fair_lock) {
    play(6);
}

TEST_F(redisson_recording, readers_and_a_writer) {
    play(7);
}

// ---- the recording as the peer of a client of ours, on one server

class redisson_as_peer : public ::testing::Test {
protected:
    std::string command(const words& what) {
        std::string answer = on_.node().command(what);
        while (answer.ends_with('\n')) answer.pop_back();
        return answer;
    }
    // Does what the script did. The answers.
    words replay(const recorded_script& one) {
        words answers;
        for (const words& each : one.commands) answers.push_back(command(each));
        return answers;
    }
    bool await_listener(const std::string& channel) {
        return testing::eventually([&] { return command({"pubsub", "numsub", channel}) == channel + "\n1"; }, 20s);
    }
    std::uint16_t port() { return on_.node().port(); }
    client& locks() { return locks_; }

private:
    servers::single on_;
    client locks_{"redis://" + on_.node().address() + "?protocol=redisson"};
};

TEST_F(redisson_as_peer, keeps_us_out_until_it_has_left_as_often_as_it_has_entered) {
    const auto all = story(1);
    ASSERT_EQ(all.size(), 4u);
    const std::string owner = all[0].arguments.at(1);
    for (const std::size_t step : {0u, 1u, 2u}) {
        replay(all[step]);
        EXPECT_EQ(locks().try_acquire("trace").reason(), errc::busy) << step;
        EXPECT_EQ(command({"hgetall", "trace"}), owner + (step == 1 ? "\n2" : "\n1"));
    }
    auto waits = std::async(std::launch::async, [&] { return locks().try_acquire("trace", {.wait = 50s}); });
    ASSERT_TRUE(await_listener("redisson_lock__channel:{trace}"));
    replay(all[3]);
    EXPECT_TRUE(waits.get());
}

TEST_F(redisson_as_peer, reads_with_us_and_writes_alone) {
    const auto all = story(7);
    ASSERT_EQ(all.size(), 8u);  // two readers, a writer in vain twice, both readers leave, the writer, and it leaves
    shared_mutex ours{locks(), "trace-rw"};
    for (const std::size_t reader : {0u, 1u}) replay(all[reader]);
    EXPECT_FALSE(ours.try_lock());
    EXPECT_TRUE(ours.try_lock_shared());
    ours.unlock_shared();
    EXPECT_EQ(command({"hlen", "trace-rw"}), "3") << "both still read";
    auto writes = std::async(std::launch::async, [&] {
        const bool got = ours.try_lock_for(50s);
        if (got) ours.unlock();
        return got;
    });
    ASSERT_TRUE(await_listener("redisson_rwlock:{trace-rw}"));
    replay(all[4]);
    EXPECT_EQ(writes.wait_for(200ms), std::future_status::timeout) << "one still reads";
    replay(all[5]);
    EXPECT_TRUE(writes.get());
    replay(all[6]);
    EXPECT_FALSE(ours.try_lock_shared());
    EXPECT_FALSE(ours.try_lock());
    replay(all[7]);
    EXPECT_TRUE(ours.try_lock_shared());
    ours.unlock_shared();
}

// What its script looked at before it waited, it finds in a lock of ours, and hears of the end on its channel.
TEST_F(redisson_as_peer, finds_our_lock_where_it_looks_and_hears_of_its_release) {
    const auto all = story(4);
    const recorded_script& in_vain = all.at(1);
    ASSERT_EQ(in_vain.commands.back().front(), "pttl");
    hold mine = locks().acquire("trace", {.wait = 20s});
    const words found = replay(in_vain);
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0], "1") << "exists";
    EXPECT_EQ(found[1], "0") << "hexists";
    EXPECT_GT(std::stoi(found[2]), 0) << "pttl: for how long it waits";
    servers::subscriber hears{port(), "SUBSCRIBE " + all.at(3).keys.at(1)};
    EXPECT_EQ(mine.release(), release_result::released);
    EXPECT_TRUE(hears.await(all.at(3).keys.at(1) + " 0"));
    EXPECT_EQ(replay(in_vain)[0], "0") << "nothing is left";
    replay(all.at(4));  // it takes it
    EXPECT_EQ(locks().try_acquire("trace").reason(), errc::busy);
}

}  // namespace
}  // namespace mortise::inline v0::stores::redis
