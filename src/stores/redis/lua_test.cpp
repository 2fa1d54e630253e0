// The rules in the server: the same histories as for the states in memory and in a file. The scripts run as they are, on a real
// server, but for three words: the time is what the test says, counters have a wall clock of their own, and messages are handed
// to the test instead of being published.
#include "base/histories_of_kinds.hpp"
#include "stores/redis/baseline/resp_client.hpp"
#include "stores/redis/messages.hpp"
#include "stores/redis/names.hpp"
#include "stores/redis/record_layout.hpp"
#include "stores/redis/servers/single.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace mortise::stores::redis {
namespace {

namespace histories = mortise::testing::histories;

// Everything is counted in nanoseconds here; to the scripts a number is a number.
constexpr std::int64_t for_ever = std::int64_t{1} << 50;  // a claim without a lease
constexpr std::size_t kept_ids = 7;

std::string replaced(std::string text, std::string_view what, std::string_view by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
        text.replace(at, what.size(), by);
    return text;
}

// `in_head`: how many waiters stand in the head at most.
script under_test(std::size_t in_head, std::initializer_list<std::string_view> parts) {
    std::string body;
    for (const std::string_view part : parts) body += spliced(part, {.in_head = in_head, .look_every = 5'000'000'000});
    body = replaced(body, "redis.call('TIME')", "{ARGV[#ARGV - 1], '0'}");
    body = replaced(body, "clock[1] * 1000000 + clock[2]", "tonumber(clock[1])");
    body = replaced(body, "math.max(s.last + 1, now)", "math.max(s.last + 1, tonumber(ARGV[#ARGV]))");
    body = replaced(body, "math.max(last + 1, now)", "math.max(last + 1, tonumber(ARGV[#ARGV]))");
    for (const char* const how : {"redis.call('PUBLISH',", "redis.pcall('PUBLISH',"})
        body = replaced(body, how, "publish(");
    return script{
        "#!lua\nlocal said = {}\n"
        "local function publish(to, what) said[#said + 1] = to .. ' ' .. what return 1 end\n"
        "local function verb()\n" +
        body + "\nend\nlocal answer = verb()\nreturn {answer or false, unpack(said)}\n"};
}

constexpr std::string_view drop = R"(
local told = told_by(ARGV, 2)
local wrong = load('e')
if wrong then return wrong end
settle(told)
for _, one in ipairs(s.held > 0 and holders() or {}) do
  local lasts = string.sub(one[2].rest, 1, 1) == '-'
  if client_of(one[2].rest) == ARGV[1] and not lasts then remove(one[1], one[2]) end
end
for number = s.front, s.back - 1 do
  local record = get('q' .. int(number))
  local w = record and read_waiter(record)
  if w and client_of(w.rest) == ARGV[1] then leave(number, w) end
end
grant_next(told)
save()
return 0
)";

struct scripts_under_test {
    std::size_t in_head = 4;
    script claim = under_test(in_head, {lua::fast_claim, lua::state, lua::claim});
    script release = under_test(in_head, {lua::fast_release, lua::state, lua::release});
    script renew = under_test(in_head, {lua::renew});
    script heartbeat = under_test(in_head, {lua::state, lua::heartbeat});
    script break_hold = under_test(in_head, {lua::state, lua::break_hold});
    script drop_session = under_test(in_head, {lua::state, drop});
};

std::uint64_t bits_at(std::string_view bytes, std::size_t at, std::size_t size = 8) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < size; ++i) bits = bits << 8 | static_cast<unsigned char>(bytes.at(at + i));
    return bits;
}

// A field of a record that begins at `from`.
std::int64_t number_in(const record_layout& as, std::string_view field, std::string_view bytes, std::size_t from = 0) {
    const std::uint64_t bits = bits_at(bytes, from + as.offset(field), as.field(field).size());
    return as.field(field).code == "d" ? static_cast<std::int64_t>(std::bit_cast<double>(bits))
                                       : static_cast<std::int64_t>(bits);
}

std::string in_hex(std::string_view bytes) {
    std::string hex;
    for (const char byte : bytes) {
        hex += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
        hex += "0123456789abcdef"[static_cast<unsigned char>(byte) & 15];
    }
    return hex;
}

claim_id id_in(std::string_view bytes) {
    return {{bits_at(bytes, 0), bits_at(bytes, 8)}};
}

std::string client_of(std::uint64_t session) {
    return claim_id{{session, 0}}.hex().substr(0, 16);
}

// The state of one name as base::lock_state shows its own.
class scripted_state {
public:
    // Ids are forgotten for want of room, not with time.
    static constexpr spi::duration remembered_for = std::chrono::hours{24};

    scripted_state(resp_client& on, const scripts_under_test& by, std::string key)
        : on_(&on), by_(&by), key_(std::move(key)) {
        std::string bytes;
        append(bytes, {"DEL", key_});
        on_->ask(bytes);
    }

    base::verdict claim(const base::kept_claim& c, std::uint32_t capacity, bool queue, base::instant at,
                        base::effects& out) {
        using is = spi::claim_answer::verdict;
        const std::int64_t lease = c.lease ? c.lease->count() : for_ever;
        script_call what{by_->claim, 1, 8};
        what << key_ << packed_record{c.id}
             << packed_record::of<layouts::claim>(capacity, c.weight, lease, queue ? layouts::claim_flags::queue : 0)
             << (c.replaces() ? packed_record{c.instead_of} : packed_record{})
             << (c.detached ? "-" : "r") + client_of(c.session) + (may_be_idle(c) ? "k" : " ") + "1 1 hl";
        told_.clear();
        const std::string said = run(std::move(what), at, out);
        const char verdict = said.at(0);
        if (verdict == 'G') {
            const auto of_grant = [&](std::string_view field) {
                return number_in(layouts::grant, field, said, layouts::verdict.size());
            };
            const auto counter = static_cast<std::uint64_t>(of_grant("counter"));
            const std::int64_t given = of_grant("lease");
            const std::int64_t left = of_grant("left");
            spi::grant grant{.counter = counter, .counted_from = at.now};
            if (given < for_ever) grant = {counter, spi::duration{given}, at.now + spi::duration{left - given}};
            for (const base::kept_claim& held : holders())
                if (held.id == c.id && !held.lease) grant.counted_from = held.since;
            return {.is = is::granted, .grant = grant};
        }
        if (verdict == 'R') {
            const std::string why = said.substr(1, said.find(' ') - 1);
            return {.is = is::refused,
                    .reason = why == "lost"       ? errc::lost
                              : why == "deadlock" ? errc::would_deadlock
                              : why == "kind"     ? errc::kind_mismatch
                                                  : errc::cancelled};
        }
        EXPECT_TRUE(verdict == 'Q' || verdict == 'B' || verdict == 'K') << said;
        EXPECT_EQ(verdict == 'K', verdict != 'Q' && !told_.empty()) << "who is refused is told of keepers";
        base::verdict answer{.is = verdict == 'Q' ? is::queued : is::busy};
        answer.place = static_cast<std::size_t>(number_in(layouts::standing, "place", said, layouts::verdict.size()));
        const std::int64_t free_in = number_in(layouts::standing, "free_in", said, layouts::verdict.size());
        const std::size_t blocker = layouts::verdict.size() + layouts::standing.size();
        for (const base::kept_claim& held : holders())
            if (said.size() > blocker &&
                number_in(layouts::blocker, "counter", said, blocker) == static_cast<std::int64_t>(held.counter))
                answer.in_the_way = {held.id, {}};
        expect_keepers_were_told(answer.place);
        if (const auto end = next_end(); end != spi::time_point::max()) {
            answer.free_in = end - at.now;
            EXPECT_LE(free_in, answer.free_in->count()) << "later than the first lease ends";
        }
        return answer;
    }
    spi::renewal_answer renew(const claim_id& id, spi::duration lease, base::instant at, base::effects& out) {
        settle(at, out);
        return renew_unsettled(id, lease, at);
    }
    // A renewal ends nothing, so it may find what has ended.
    spi::renewal_answer renew_unsettled(const claim_id& id, spi::duration lease, base::instant at) {
        script_call what{by_->renew, 1, 4};
        what << key_ << packed_record{id} << packed_record::of<layouts::lease>(lease.count());
        what << at.now.time_since_epoch().count() << static_cast<std::int64_t>(at.wall_us);
        const reply& said = ask(what);
        return said.items.at(0).text == "1" ? spi::renewal_answer::renewed : spi::renewal_answer::lost;
    }
    spi::release_answer release(const claim_id& id, std::uint64_t by, base::instant at, base::effects& out) {
        script_call what{by_->release, 1, 6};
        what << key_ << packed_record{id} << client_of(by);
        return static_cast<spi::release_answer>(std::stoi(run(std::move(what), at, out)));
    }
    bool break_hold(std::uint64_t counter, base::instant at, base::effects& out) {
        script_call what{by_->break_hold, 1, 5};
        what << key_ << static_cast<std::int64_t>(counter);
        return !run(std::move(what), at, out).empty();
    }
    void drop_session(std::uint64_t session, base::instant at, base::effects& out) {
        script_call what{by_->drop_session, 1, 5};
        what << key_ << client_of(session);
        run(std::move(what), at, out);
    }
    void settle(base::instant at, base::effects& out) {
        script_call what{by_->heartbeat, 1, 5};
        what << key_ << client_of(7);
        run(std::move(what), at, out);
    }

    std::vector<base::kept_claim> holders() {
        std::vector<base::kept_claim> all;
        for (const auto& [field, value] : fields())
            if (field[0] == 'h') all.push_back(holder_of(field.substr(1), value));
        std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.counter < b.counter; });
        return all;
    }
    base::kept_claim first_waiting() {
        const auto all = fields();
        base::kept_claim first;
        for (auto n = static_cast<std::int32_t>(number_in(layouts::head, "front", all.at(".")));; ++n)
            if (const auto it = all.find("q" + std::to_string(n)); it != all.end()) {
                first.id = id_in(it->second);
                first.session = session_in(std::string_view{it->second}.substr(layouts::waiter.size()));
                return first;
            }
    }
    std::size_t waiting() {
        const auto all = fields();
        const auto in_line = std::count_if(all.begin(), all.end(), [](const auto& f) { return f.first[0] == 'q'; });
        EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const auto& f) { return f.first[0] == 'w'; }), in_line);
        EXPECT_EQ(number("waiting"), in_line);
        // Marks of clients that wait.
        if (in_line == 0) {
            EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const auto& f) { return f.first[0] == 'c'; }), 0);
        }
        return static_cast<std::size_t>(in_line);
    }
    std::uint32_t capacity() { return static_cast<std::uint32_t>(number("capacity")); }
    std::uint64_t last_counter() { return static_cast<std::uint64_t>(number("last")); }
    spi::time_point next_end() {
        auto first = spi::time_point::max();
        for (const base::kept_claim& held : holders()) first = std::min(first, held.ends);
        return first;
    }
    bool idle() {
        const auto all = holders();
        std::int64_t used = 0;
        for (const base::kept_claim& held : all) used += held.weight;
        EXPECT_EQ(number("used"), used);
        EXPECT_EQ(number("held"), static_cast<std::int64_t>(all.size()));
        const bool marked = kept().contains("k");
        if (all.size() < 2) {
            EXPECT_FALSE(marked);
        } else if (std::any_of(all.begin(), all.end(), [this](const auto& one) { return may_be_idle(one); })) {
            EXPECT_TRUE(marked);
        }
        return all.empty() && waiting() == 0;
    }

    // All fields as the server keeps them.
    std::map<std::string, std::string> kept() {
        std::string bytes;
        append(bytes, {"HGETALL", key_});
        const reply& said = on_->ask(bytes);
        std::map<std::string, std::string> all;
        for (std::size_t i = 0; i + 1 < said.items.size(); i += 2)
            all.emplace(said.items[i].text, said.items[i + 1].text);
        return all;
    }
    // What the scripts answered and published since the last call.
    std::string answers() { return std::exchange(answers_, {}); }
    void nobody_keeps() { some_keep_ = false; }

private:
    const reply& ask(const script_call& what) {
        const reply* said = &on_->ask(what.by_digest());
        if (said->error() && said->text.starts_with("NOSCRIPT")) said = &on_->ask(what.by_source());
        if (said->items.empty()) throw std::runtime_error("the script says: " + std::string(said->text));
        for (const reply& one : said->items) answers_ += std::to_string(one.number) + "[" + std::string(one.text) + "]";
        return *said;
    }

    // Adds what every verb but a renewal is told, and reads what it tells others.
    std::string run(script_call what, base::instant at, base::effects& out) {
        what << "" << packed_record::of<layouts::terms>(for_ever * 4, for_ever * 4, true)
             << at.now.time_since_epoch().count() << static_cast<std::int64_t>(at.wall_us);
        const auto before = fields();
        const reply& said = ask(what);
        const reply& first = said.items.at(0);
        std::string answer = first.is == reply::kind::integer ? std::to_string(first.number) : std::string(first.text);
        for (std::size_t i = 1; i < said.items.size(); ++i) {
            const std::string_view message = said.items[i].text;
            base::effects::notice notice{};
            notice.session = std::stoull(std::string(message.substr(0, 16)), nullptr, 16);
            const std::string_view what_of = message.substr(17);
            notice.id = id_in(what_of.substr(1));
            if (what_of[0] == 'G') {
                const auto of_grant = [&](std::string_view field) {
                    return number_in(layouts::grant, field, what_of, layouts::verdict.size() + layouts::id.size());
                };
                const std::int64_t lease = of_grant("lease");
                EXPECT_EQ(lease, of_grant("left"));
                notice.grant.counter = static_cast<std::uint64_t>(of_grant("counter"));
                if (lease < for_ever) notice.grant.lease = spi::duration{lease};
                notice.grant.counted_from = spi::time_point{spi::duration{of_grant("now")}};
                out.granted.push_back(notice);
            } else if (what_of[0] == 'W') {
                told_.insert(notice.id);
            } else {
                notice.grant = what_was_lost(notice.id, before, out);
                out.lost.push_back(notice);
            }
        }
        return answer;
    }

    // A third of all claims, which those who hold do not remember as such.
    bool may_be_idle(const base::kept_claim& c) const { return some_keep_ && c.id.bits[0] % 3 == 2; }

    // By a claim that was not let in: the only holder always, of several each if nobody waited before.
    void expect_keepers_were_told(std::size_t place) {
        const auto all = holders();
        for (const base::kept_claim& held : all) {
            if (!may_be_idle(held)) {
                EXPECT_FALSE(told_.contains(held.id));
            } else if (all.size() == 1 || place == 1) {
                EXPECT_TRUE(told_.contains(held.id));
            }
        }
    }

    // The message does not say. It was held before this step, or granted in it; or it was in line.
    static spi::grant what_was_lost(const claim_id& id, const std::map<std::string, std::string>& before,
                                    const base::effects& out) {
        const std::string bytes{packed_record{id}.bytes()};
        for (const auto& [field, value] : before) {
            if (field == "h" + bytes) {
                const base::kept_claim was = holder_of(bytes, value);
                return {was.counter, was.lease, was.since};
            }
        }
        for (const auto& granted : out.granted)
            if (granted.id == id) return granted.grant;
        for (const auto& [field, value] : before)
            if (field[0] == 'q' && value.starts_with(bytes)) {
                const std::int64_t lease = number_in(layouts::waiter, "lease", value);
                return {.lease = lease < for_ever ? std::optional{spi::duration{lease}} : std::nullopt};
            }
        return {};
    }

    // As if each holder and each waiter always had fields of its own (see state.lua).
    std::map<std::string, std::string> fields() {
        auto all = kept();
        if (!all.contains(".")) return all;
        const std::string head = all.at(".");
        const auto of_head = [&](std::string_view field) {
            return static_cast<std::size_t>(number_in(layouts::head, field, head));
        };
        constexpr std::size_t id = layouts::id.size();
        constexpr std::size_t length = layouts::length.size();
        std::size_t at = layouts::head.size() + of_head("ended");
        if (of_head("held") == 1) {
            EXPECT_TRUE(all.emplace("h" + head.substr(at, id), head.substr(at + id, of_head("kept") - id)).second);
        }
        at += of_head("kept");
        for (auto n = static_cast<std::int32_t>(of_head("front")); at < head.size(); ++n) {
            const std::string record = head.substr(at + length, bits_at(head, at, length));
            EXPECT_TRUE(all.emplace("q" + std::to_string(n), record).second);
            EXPECT_TRUE(all.emplace("w" + record.substr(layouts::waiter.offset("id"), id), std::to_string(n)).second);
            at += length + record.size();
        }
        return all;
    }
    // Of the head.
    std::int64_t number(std::string_view field) {
        const auto all = fields();
        const auto head = all.find(".");
        return head == all.end() ? 0 : number_in(layouts::head, field, head->second);
    }
    static std::uint64_t session_in(std::string_view rest) {
        constexpr std::size_t from = layouts::owner.offset("client");
        return std::stoull(std::string(rest.substr(from, layouts::owner.field("client").size())), nullptr, 16);
    }
    static base::kept_claim holder_of(std::string_view id, std::string_view record) {
        base::kept_claim held;
        held.id = id_in(id);
        const auto number = [&](std::string_view field) { return number_in(layouts::holder, field, record); };
        const std::string_view rest = record.substr(layouts::holder.size());
        held.session = session_in(rest);
        held.detached = rest[layouts::owner.offset("renewed")] == '-';
        held.counter = static_cast<std::uint64_t>(number("counter"));
        held.weight = static_cast<std::uint32_t>(number("weight"));
        held.since = spi::time_point{spi::duration{number("since")}};
        if (const std::int64_t lease = number("lease"); lease < for_ever) {
            held.lease = spi::duration{lease};
            held.ends = spi::time_point{spi::duration{number("ends")}};
        }
        return held;
    }

    resp_client* on_;
    const scripts_under_test* by_;
    std::string key_;
    std::string answers_;
    bool some_keep_ = true;
    std::set<claim_id> told_;  // of the claim that was made last: who hears that somebody asks
};

class scripts_in_the_server : public ::testing::Test {
protected:
    static void SetUpTestSuite() { home_ = std::make_unique<servers::single>(); }
    static void TearDownTestSuite() { home_.reset(); }

    auto on_the_server(const scripts_under_test& by) {
        return [this, &by](int which) {
            return scripted_state{line_, by, key_of("mortise", "name " + std::to_string(which))};
        };
    }

    static inline std::unique_ptr<servers::single> home_;
    resp_client line_{settings::of(base::url::parse("redis://" + home_->node().address())), "mortise"};
};

// Each step is a dozen trips to the server.
std::uint64_t histories_of_each() {
    return std::getenv("MORTISE_STORMS_IN_FULL") != nullptr ? 2000 : testing::scale(60);
}

TEST_F(scripts_in_the_server, the_mark_of_a_client_that_waits_goes_with_the_last_that_waited) {
    const scripts_under_test all;
    scripted_state state = on_the_server(all)(0);
    base::effects out;
    const spi::time_point begun{std::chrono::hours{1}};
    const base::kept_claim first{.id = {{1, 1}}, .session = 1, .weight = 1, .lease = std::chrono::seconds{1}};
    const base::kept_claim second{.id = {{2, 2}}, .session = 7, .weight = 1, .lease = std::chrono::seconds{9}};
    state.claim(first, 1, true, {begun, 1}, out);
    state.claim(second, 1, true, {begun, 2}, out);
    EXPECT_EQ(state.waiting(), 1u);
    state.settle({begun + std::chrono::seconds{2}, 3},
                 out);  // says for the first time that it is alive, and is granted
    ASSERT_EQ(out.granted.size(), 1u);
    EXPECT_EQ(state.waiting(), 0u);
}

TEST_F(scripts_in_the_server, a_renewal_after_the_lease_has_ended_revives_nothing) {
    const scripts_under_test all;
    for (const std::uint32_t capacity : {1U, 3U}) {
        scripted_state state = on_the_server(all)(static_cast<int>(capacity));
        base::effects out;
        const spi::time_point begun{std::chrono::hours{1}};
        const base::kept_claim brief{.id = {{1, 1}}, .session = 1, .weight = 1, .lease = std::chrono::seconds{1}};
        const base::kept_claim beside{.id = {{2, 2}}, .session = 1, .weight = 1, .lease = std::chrono::seconds{9}};
        state.claim(brief, capacity, true, {begun, 1}, out);
        if (capacity > 1) state.claim(beside, capacity, true, {begun, 2}, out);
        const auto renewed = [&](std::chrono::milliseconds after) {
            return state.renew_unsettled(brief.id, std::chrono::seconds{1}, {begun + after, 3}) ==
                   spi::renewal_answer::renewed;
        };
        EXPECT_TRUE(renewed(std::chrono::milliseconds{500}));
        EXPECT_FALSE(renewed(std::chrono::milliseconds{1500}));
        EXPECT_FALSE(renewed(std::chrono::milliseconds{1600}));
    }
}

// The bytes themselves: clients of several versions use the same keys at the same time.
TEST_F(scripts_in_the_server, keep_the_usual_record_byte_for_byte) {
    const scripts_under_test all;
    scripted_state state = on_the_server(all)(0);
    base::effects out;
    const spi::time_point begun{std::chrono::hours{1}};
    const base::kept_claim first{
        .id = {{0x1111, 0x2222}}, .session = 0xa, .weight = 1, .lease = std::chrono::seconds{9}};
    const base::kept_claim second{
        .id = {{0x3333, 0x4444}}, .session = 0xb, .weight = 1, .lease = std::chrono::seconds{7}};
    const auto head = [&] { return in_hex(state.kept().at(".")); };

    state.claim(first, 1, true, {begun, 5}, out);
    EXPECT_EQ(
        head(),  // form, capacity, used, held; last, next; queue; armed, life, lengths; holder: id, numbers, the rest
        "6d32000000010000000100000001"
        "4014000000000000428a42494dd00000"
        "00000000000000000000000000000000"
        "0036ee8040f5f9000000000000004c"
        "00000000000011110000000000002222"
        "428a42494dd00000401400000000000000000001428a3185c50000004200c388d0000000"
        "72303030303030303030303030303030612031203120686c");
    state.claim(second, 1, true, {begun + std::chrono::seconds{1}, 6}, out);
    EXPECT_EQ(head(),  // and a waiter: its length, id and blanks, numbers, the rest
              "6d32000000010000000100000001"
              "4014000000000000428a42494dd00000"
              "00000000000000010000000100000000"
              "0036ee8040f5f9000000000000004c"
              "00000000000011110000000000002222"
              "428a42494dd00000401400000000000000000001428a3185c50000004200c388d0000000"
              "72303030303030303030303030303030612031203120686c"
              "004c"
              "0000000000003333000000000000444420202020202020202020202020202020"
              "0000000141fa13b860000000428a33629b500000"
              "72303030303030303030303030303030622031203120686c");
    state.release(first.id, 0xa, {begun + std::chrono::seconds{2}, 7}, out);
    EXPECT_EQ(head(),  // an ended id, and the other holder
              "6d32000000010000000100000001"
              "401c000000000000428a42494dd00000"
              "00000001000000010000000000000000"
              "0036ee8040f5f9000000000009004c"
              "000000000000111130"
              "00000000000033330000000000004444"
              "428a42494dd00000401c00000000000000000001428a353f71a0000041fa13b860000000"
              "72303030303030303030303030303030622031203120686c");
    EXPECT_EQ(in_hex(state.answers()),
              "305b4740140000000000004200c388d00000004200c388d0000000428a3185c50000005d305b"
              "513ff000000000000041fdcd6500000000428a33629b500000401400000000000041cdcd650000000031203120"
              "686c5d305b"
              "5d305b"
              "30303030303030303030303030303062204700000000000033330000000000004444401c00000000000041fa13"
              "b86000000041fa13b860000000428a353f71a000006d6f72746973653a7b6e616d6520307d5d");
}

// A walk through everything the scripts do. The digest is of all that was kept and said at each step.
TEST_F(scripts_in_the_server, keep_every_record_byte_for_byte) {
    std::string digests;
    for (const std::size_t in_head : {4U, 1U}) {
        const scripts_under_test all{.in_head = in_head};
        std::string everything;
        std::minstd_rand dice{42};
        for (const std::uint32_t capacity : {1U, 1U, 3U}) {
            scripted_state state = on_the_server(all)(0);
            state.nobody_keeps();
            base::effects out;
            spi::time_point now{std::chrono::hours{1}};
            std::vector<claim_id> ids{{{1, 1}}};
            for (std::uint64_t step = 1; step <= 400; ++step) {
                now += std::chrono::milliseconds{dice() % 400};
                const base::instant at{now, step};
                const claim_id& known = ids[dice() % std::min<std::size_t>(ids.size(), 6)];
                switch (dice() % 8) {
                    case 0:
                    case 1:
                    case 2: {
                        base::kept_claim fresh{.id = {{dice(), step}}, .session = 0xa + dice() % 3};
                        fresh.weight = 1 + dice() % capacity;
                        fresh.lease = std::chrono::milliseconds{2000 + dice() % 4000};
                        fresh.detached = dice() % 2 == 0;
                        if (dice() % 8 == 0) fresh.instead_of = known;
                        state.claim(fresh, capacity, dice() % 4 != 0, at, out);
                        ids.insert(ids.begin(), fresh.id);
                        break;
                    }
                    case 3:
                    case 4:
                    case 5:
                        state.release(known, 0xa + dice() % 3, at, out);
                        break;
                    case 6:
                        state.renew(known, std::chrono::milliseconds{3000 + dice() % 4000}, at, out);
                        break;
                    default:
                        state.break_hold(state.last_counter(), at, out);
                }
                everything += state.answers();
                for (const auto& [field, value] : state.kept()) everything += field + "=" + value + "\n";
            }
        }
        digests += sha1_of(everything) + "\n";
    }
    EXPECT_EQ(digests,
              "78cab3e247301438691d20ff5b2ef6c075db8a1c\n"
              "3944bba623694202a0b7c88e6e1d52c5a0c1338a\n");
}

class redis_scripts : public scripts_in_the_server, public ::testing::WithParamInterface<histories::kind> {};

TEST_P(redis_scripts, agree_with_the_naive_model_in_every_history) {
    const scripts_under_test all;
    histories::expect_agreement(GetParam(), "redis", histories_of_each(), on_the_server(all), kept_ids);
}
TEST_P(redis_scripts, agree_also_when_more_wait_than_the_head_takes) {
    const scripts_under_test all{.in_head = 1};
    histories::expect_agreement(GetParam(), "redis", histories_of_each() / 2 + 1, on_the_server(all), kept_ids);
}
INSTANTIATE_TEST_SUITE_P(redis, redis_scripts, ::testing::ValuesIn(histories::every_kind),
                         [](const auto& one) { return std::string(histories::name_of(one.param)); });

}  // namespace
}  // namespace mortise::stores::redis
