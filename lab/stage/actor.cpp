#include "lab/stage/actor.hpp"

#include "lab/stage/message.hpp"
#include "lab/stage/stage_clock.hpp"
#include "lab/stage/traced_store.hpp"

#include <mortise/fenced.hpp>
#include <mortise/spi/client.hpp>

#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace lab {
namespace {

constexpr const char* state_script = R"(
    local lines = {}
    for _, key in ipairs(KEYS) do
        local is, value = redis.call('TYPE', key).ok, ''
        if is == 'string' then value = redis.call('GET', key)
        elseif is == 'hash' then value = table.concat(redis.call('HGETALL', key), ' ')
        elseif is == 'list' then value = table.concat(redis.call('LRANGE', key, 0, -1), ' ')
        elseif is ~= 'none' then value = is end
        local left = redis.call('PTTL', key)
        if is ~= 'none' then
            lines[#lines + 1] = string.sub(key, ARGV[1] + 1) .. ' = ' .. value .. (left >= 0 and ', ' .. math.ceil(left / 1000) .. ' s' or '')
        end
    end
    return table.concat(lines, '; '))";

// A script that begins with a comment is called by it: "-- seal" and its arguments.
std::string shown(const std::vector<std::string>& words) {
    std::string line;
    bool named = false;
    for (const std::string& word : words) {
        if (std::exchange(named, word.starts_with("-- "))) continue;  // the number of keys
        if (named) {
            line = word.substr(3, word.find('\n') - 3);
            continue;
        }
        if (!line.empty()) line += ' ';
        if (word.empty()) line += "\"\"";
        line += word.find('\n') == word.npos && word.size() <= 60 ? word : "…";
    }
    return line;
}

}  // namespace

// What it has opened so far.
struct actor::part {
    ~part();

    std::map<std::size_t, std::unique_ptr<raw_redis>> connections{};
    std::map<std::size_t, std::unique_ptr<raw_redis>> unheard{};
    std::unique_ptr<raw_redis> channel{};
    int ticks = -1;

    std::mutex mutex{};
    const mortise::hold* held = nullptr;
    int unanswered = 0;
    std::optional<char> owes_tick{};

    std::shared_ptr<stage_clock> clock{};  // null: time passes by itself
    std::thread answers_ticks{};           // then
    std::optional<mortise::client> locks{};

    // The director lets time pass in steps, and takes the next when everything that the last one set off has been answered.
    void settle() {
        std::scoped_lock guard{mutex};
        if (!owes_tick || (unanswered > 0 && *owes_tick == settled_tick)) return;
        owes_tick.reset();
        const auto until = held ? held->valid_until() : mortise::boot_clock::time_point::max();
        const auto timer = clock ? clock->next_timer() : mortise::boot_clock::time_point::max();
        const std::int64_t answer[3] = {timer.time_since_epoch().count(), until.time_since_epoch().count(), unanswered};
        static_cast<void>(!::send(ticks, answer, sizeof answer, MSG_NOSIGNAL));
    }
    void ticked(char tick);
    void answer_ticks();  // on a thread of its own, where time passes by itself
};

actor::part::~part() {
    locks.reset();
    if (!answers_ticks.joinable()) return;
    ::shutdown(ticks, SHUT_RD);
    answers_ticks.join();
}

void actor::part::ticked(char tick) {
    {
        std::scoped_lock guard{mutex};
        owes_tick = tick;
    }
    settle();
}

void actor::part::answer_ticks() {
    answers_ticks = std::thread([this] {
        for (char tick = 0; ::recv(ticks, &tick, 1, 0) == 1;) ticked(tick);
    });
}

actor::actor(std::string name, const scene& where, std::chrono::nanoseconds clock_ahead, int control, int ticks)
    : name_(std::move(name)),
      scene_(where),
      clock_ahead_(clock_ahead),
      control_(control),
      part_(std::make_unique<part>()) {
    part_->ticks = ticks;
}

actor::~actor() = default;

void actor::say(const event& what) const {
    const std::string bytes = packed(what);
    if (::send(control_, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) ::_exit(1);  // there is no director any more
}

void actor::stand() const {
    char go = 0;
    if (::recv(control_, &go, 1, 0) != 1) ::_exit(1);
}

void actor::at(std::string_view point) {
    say({.kind = kind::point, .what = std::string(point)});
    stand();
}

void actor::may_wait(const std::function<void()>& what) {
    say({.kind = kind::asks});
    stand();
    what();
    say({.kind = kind::answered});
}

void actor::asked(text command_and_answer, std::string state) {
    say({.kind = kind::command, .what = std::move(command_and_answer), .state = std::move(state)});
}

void actor::holds() {
    say({.kind = kind::holds});
}

void actor::holds(const mortise::hold& held) {
    {
        std::scoped_lock guard{part_->mutex};
        part_->held = &held;
    }
    std::error_code none;
    say({.kind = kind::holds, .number = static_cast<std::int64_t>(held.token(none).counter())});
}

void actor::lets_go() {
    {
        std::scoped_lock guard{part_->mutex};
        part_->held = nullptr;
    }
    say({.kind = kind::lets_go});
}

void actor::refused(text why) {
    say({.kind = kind::refused, .what = std::move(why)});
}

void actor::note(text what) {
    say({.kind = kind::tell, .what = std::move(what)});
}

void actor::failed(text why) {
    say({.kind = kind::failed, .what = std::move(why)});
}

void actor::worked(text what) {
    say({.kind = kind::worked, .what = std::move(what)});
}

void actor::sell() {
    const int left = std::stoi(redis()({"GET", "ticket"}).value_or("0"));
    at("stock read");
    if (left <= 0) return;
    redis()({"SET", "ticket", std::to_string(left - 1)});
    sold();
}

void actor::sold() {
    say({.kind = kind::sold});
}

bool actor::sell(mortise::token mine) {
    const std::string fence = mortise::fenced::padded(mine);
    const auto sealed = redis()({"EVAL",
                                 "-- seal\n if (redis.call('HGET',KEYS[1],'fence') or '') > ARGV[1] then return 0 end "
                                 "redis.call('HSET',KEYS[1],'fence',ARGV[1]) return 1",
                                 "1", "fenced ticket", fence});
    if (sealed != "1") return false;
    const auto left = redis()({"EVAL",
                               "-- read\n if redis.call('HGET',KEYS[1],'fence') ~= ARGV[1] then return false end "
                               "return redis.call('HGET',KEYS[1],'left')",
                               "1", "fenced ticket", fence});
    at("stock read");
    if (!left || *left == "0") return false;
    const auto written = redis()({"EVAL",
                                  "-- write\n if redis.call('HGET',KEYS[1],'fence') ~= ARGV[1] then return 0 end "
                                  "redis.call('HSET',KEYS[1],'left',ARGV[2]) return 1",
                                  "1", "fenced ticket", fence, std::to_string(std::stoi(*left) - 1)});
    if (written != "1") return false;
    sold();
    return true;
}

// Of one server, by a connection that nobody hears of.
std::string actor::state(std::size_t server) {
    if (scene_.keys.empty()) return {};
    auto& unheard = part_->unheard[server];
    const redis_address& at = scene_.redis.at(server);
    if (!unheard) unheard = std::make_unique<raw_redis>(at);
    std::vector<std::string> words{"EVAL", state_script, std::to_string(scene_.keys.size())};
    words.insert(words.end(), scene_.keys.begin(), scene_.keys.end());
    words.push_back(std::to_string(at.prefix.size()));
    return (*unheard)(words).value_or("");
}

raw_redis& actor::redis(std::size_t server) {
    auto& connection = part_->connections[server];
    if (!connection) {
        const text which = scene_.redis.size() > 1 ? server_called(server + 1) : text{};
        connection = std::make_unique<raw_redis>(
            scene_.redis.at(server), [this, server, which](const auto& words, const auto& answer) {
                const std::string said = shown(words) + " → " + answer.value_or("nil");
                say({.kind = kind::command, .what = {which.en + said, which.zh + said}, .state = state(server)});
            });
    }
    return *connection;
}

void actor::ask_in_vain(const std::vector<std::string>& command) {
    redis().send(command);
    part_->connections.erase(0);
    say({.kind = kind::command, .what = {shown(command) + " → no answer", shown(command) + " → 没有答复"}});
}

void actor::subscribe(const std::string& channel) {
    part_->channel = std::make_unique<raw_redis>(scene_.redis.at(0));
    (*part_->channel)({"SUBSCRIBE", channel});
    say({.kind = kind::command, .what = "SUBSCRIBE " + channel + " → OK", .state = state(0)});
}

void actor::await_message() {
    const std::string heard = part_->channel->next_message();
    note({"is woken by the message " + heard, "被消息 " + heard + " 唤醒"});
}

mortise::client& actor::locks(mortise::client_options options, std::optional<std::size_t> server) {
    if (part_->locks) return *part_->locks;
    part& mine = *part_;
    mortise::spi::world world;
    if (scene_.time) {
        mine.clock = std::make_shared<stage_clock>(*scene_.time, mine.ticks, [&mine](char tick) { mine.ticked(tick); });
        world.clock = mine.clock;
    } else {
        mine.answer_ticks();
    }
    const traced_store::listener told{
        .asked = [this](text what) { say({.kind = kind::command, .what = std::move(what)}); },
        .waits = [this] { say({.kind = kind::waits}); },
        .granted =
            [this](std::uint64_t token) { say({.kind = kind::granted, .number = static_cast<std::int64_t>(token)}); },
        .requests =
            [&mine](int more) {
                {
                    std::scoped_lock guard{mine.mutex};
                    mine.unanswered += more;
                }
                mine.settle();
            },
    };
    mine.locks.emplace(mortise::spi::make_client(
        [told, inner = mortise::spi::factory_of(server ? scene_.redis.at(*server).url() : store_url())](
            const mortise::spi::context& outer) { return std::make_unique<traced_store>(outer, inner, told); },
        world, std::move(options)));
    say({.kind = kind::clocked});
    return *mine.locks;
}

std::string actor::store_url() const {
    if (!scene_.sql) return scene_.store;
    sql_account mine = *scene_.sql;
    if (mine.user.empty()) mine.user = name_;
    return mine.url() + "?" + scene_.options;
}

std::chrono::milliseconds actor::wall_clock() const {
    const auto now = scene_.time ? scene_.time->now()
                                 : std::chrono::nanoseconds{std::chrono::system_clock::now().time_since_epoch()};
    return std::chrono::duration_cast<std::chrono::milliseconds>(now + clock_ahead_);
}

}  // namespace lab
