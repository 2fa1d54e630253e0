#include "stores/redis/baseline/baselines.hpp"

#include "stores/redis/baseline/resp_client.hpp"
#include "stores/redis/messages.hpp"
#include "stores/redis/names.hpp"
#include "stores/redis/redisson_protocol.hpp"
#include "stores/redis/settings.hpp"

#include <mortise/error.hpp>

#include <charconv>
#include <cstdlib>
#include <set>
#include <thread>

namespace mortise::inline v0::stores::redis {
namespace {

std::string fresh_word() {
    return claim_id::random().hex().substr(0, 16);
}

// The two scripts of an uncontended lock and unlock, on a name of its own.
class scripts_end final : public baseline_end {
public:
    scripts_end(const settings& config, const std::string& place)
        : me_{.prefix = config.prefix, .client = fresh_word(), .host = "bench"},
          name_("baseline-" + place + "-" + me_.client),
          key_(key_of(config.prefix, name_)),
          line_(config, key_) {}

    void lock() override {
        id_ = claim_id::random();
        const script_call what =
            claim_call(me_, key_, {.name = name_, .id = id_, .lease = std::chrono::seconds{30}}, false);
        line_.run(what);
    }
    void unlock() override { line_.run(release_call(me_, key_, id_)); }

private:
    const client_identity me_;
    const std::string name_;
    const std::string key_;
    resp_client line_;
    claim_id id_{};
};

// The same of Redisson's lock.
class redisson_end final : public baseline_end {
public:
    redisson_end(const settings& config, const std::string& place)
        : how_(make_redisson_protocol(config)),
          key_(how_->key_of("baseline-" + place + "-" + fresh_word())),
          line_(config, key_) {}

    void lock() override {
        id_ = claim_id::random();
        line_.run(how_->claim_call({.key = key_, .id = id_, .lease = std::chrono::seconds{30}}));
    }
    void unlock() override { line_.run(how_->release_call(key_, id_, false)); }

private:
    const std::unique_ptr<const peer_protocol> how_;
    const std::string key_;
    resp_client line_;
    claim_id id_{};
};

// The common recipe: SET key value NX PX, and a script that deletes it if it is still theirs.
class set_end final : public baseline_end {
public:
    set_end(const settings& config, const std::string& place)
        : value_(fresh_word()), key_(key_of(config.prefix, "baseline-" + place + "-" + value_)), line_(config, key_) {
        append(set_, {"SET", key_, value_, "NX", "PX", "30000"});
        const std::string script = "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end";
        append(del_, {"EVAL", script, "1", key_, value_});
        check(del_);  // from now on the server knows it
        del_.clear();
        append(del_, {"EVALSHA", sha1_of(script), "1", key_, value_});
    }
    void lock() override { check(set_); }
    void unlock() override { check(del_); }

private:
    void check(const std::string& bytes) {
        if (const reply& answer = line_.ask(bytes); answer.error())
            throw error(errc::unreachable, std::string(answer.text));
    }
    const std::string value_;
    const std::string key_;
    std::string set_;
    std::string del_;
    resp_client line_;
};

// An account with the least rights may not PING; to be told so takes the same trip.
class ping_end final : public baseline_end {
public:
    ping_end(const settings& config, const std::string& place) : line_(config, place) { append(ping_, {"PING"}); }
    void lock() override { line_.ask(ping_); }
    void unlock() override { lock(); }

private:
    std::string ping_;
    resp_client line_;
};

// One side publishes a message; the other receives it, blocked on its subscription.
class push_end final : public baseline_end {
public:
    push_end(const settings& config, const std::string& place, unsigned side)
        : key_(marks(config, place)),
          side_(side),
          mine_(config.prefix + ":baseline:" + place + ":" + std::to_string(side)),
          others_(config.prefix + ":baseline:" + place + ":" + std::to_string(1 - side)),
          counts_(config.shape != settings::topology::cluster),
          asks_(config, key_),
          listens_(config, key_),
          my_turn_(side == 0) {
        std::string bytes;
        append(bytes, {"SUBSCRIBE", mine_});
        listens_.send(bytes);
        listens_.next_push();
        bytes.clear();
        append(bytes, {"HDEL", key_, "gone" + std::to_string(side)});
        append(bytes, {"HSET", key_, "here" + std::to_string(side), "1"});
        append(bytes, {"EXPIRE", key_, "600"});
        asks_.send(bytes);
        for (int i = 0; i < 3; ++i) asks_.answer();
        if (marked("gone", 1 - side_)) alone_ = true;
    }
    ~push_end() override {
        try {
            std::string bytes;
            append(bytes, {"HSET", key_, "gone" + std::to_string(side_), "1"});
            asks_.ask(bytes);
            publish("alone");
        } catch (const std::exception&) {  // the key expires
        }
    }

    void lock() override {
        while (!alone_ && !my_turn_) {
            const reply& answer = listens_.next_push();
            if (answer.items.size() != 3 || answer.items[0].text != "message") continue;
            if (answer.items[2].text == "alone") alone_ = true;
            my_turn_ = true;
        }
    }
    void unlock() override {
        if (alone_) return;
        my_turn_ = false;
        if (!met_) {  // nobody hears a message before it has subscribed
            while (!marked("here", 1 - side_) && !marked("gone", 1 - side_))
                std::this_thread::sleep_for(std::chrono::milliseconds{1});
            met_ = true;
        }
        while (publish("turn") == 0 && counts_) {
            if ((alone_ = marked("gone", 1 - side_))) return;
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }

    static std::string marks(const settings& config, const std::string& place) {
        return key_of(config.prefix, "baseline-" + place);
    }

private:
    std::int64_t publish(std::string_view what) {
        std::string bytes;
        append(bytes, {"PUBLISH", others_, what});
        const reply& answer = asks_.ask(bytes);
        if (answer.error()) throw error(errc::unreachable, std::string(answer.text));
        return answer.number;
    }
    bool marked(std::string_view what, unsigned side) {
        std::string bytes;
        append(bytes, {"HGET", key_, std::string(what) + std::to_string(side)});
        return asks_.ask(bytes).is == reply::kind::text;
    }

    const std::string key_;
    const unsigned side_;
    const std::string mine_;
    const std::string others_;
    const bool counts_;
    resp_client asks_;
    resp_client listens_;
    bool my_turn_;
    bool alone_ = false;
    bool met_ = false;
};

std::uint64_t figure_in(std::string_view text, std::string_view key) {
    const std::size_t at = text.find(key);
    std::uint64_t n = 0;
    if (at != std::string_view::npos) {
        const std::string_view from = text.substr(at + key.size());
        std::from_chars(from.data(), from.data() + from.size(), n);
    }
    return n;
}

// Commands of clients, without those that scripts call; but a SET of a script counts if clients send plain ones (`sets`), since the
// server does not tell them apart.
void add_usage(resp_client& line, bool sets, store_usage& used) {
    std::string bytes;
    append(bytes, {"INFO", "everything"});
    const reply& answer = line.ask(bytes);
    if (answer.is != reply::kind::text) return;
    std::uint64_t commands = 0;
    for (const std::string_view one : {"cmdstat_evalsha:calls=", "cmdstat_eval:calls=", "cmdstat_wait:calls=",
                                       "cmdstat_scan:calls=", "cmdstat_hello:calls=", "cmdstat_subscribe:calls="})
        commands += figure_in(answer.text, one);
    if (sets) commands += figure_in(answer.text, "cmdstat_set:calls=");
    const auto seconds = [&](std::string_view key) {
        const std::size_t at = answer.text.find(key);
        return at == std::string_view::npos
                   ? 0.0
                   : std::strtod(std::string(answer.text.substr(at + key.size(), 32)).c_str(), nullptr);
    };
    const std::chrono::duration<double> processor{seconds("used_cpu_sys:") + seconds("used_cpu_user:")};
    used.commands = used.commands.value_or(0) + commands;
    used.processor = used.processor.value_or(std::chrono::nanoseconds::zero()) +
                     std::chrono::duration_cast<std::chrono::nanoseconds>(processor);
    used.memory = used.memory.value_or(0) + figure_in(answer.text, "used_memory:");
}

// The sums over all masters.
store_usage usage_of(const settings& config) {
    store_usage used;
    const bool sets = config.protocol == settings::layout::setnx;
    resp_client first{config, "mortise"};
    if (config.shape != settings::topology::cluster) {
        add_usage(first, sets, used);
        return used;
    }
    std::string bytes;
    append(bytes, {"CLUSTER", "SLOTS"});
    const reply& answer = first.ask(bytes);
    std::set<endpoint> masters;
    for (const reply& range : answer.items)
        if (range.items.size() > 2 && range.items[2].items.size() > 1)
            masters.insert({std::string(range.items[2].items[0].text),
                            static_cast<std::uint16_t>(range.items[2].items[1].number)});
    for (const endpoint& one : masters) {
        settings alone = config;
        alone.shape = settings::topology::single;
        alone.endpoints = {one};
        resp_client line{alone, "mortise"};
        add_usage(line, sets, used);
    }
    return used;
}

template <class End, class... Side>
std::unique_ptr<baseline_end> checked(const settings& config, const std::string& place, Side... side) {
    check_baseline_place(place);
    return std::make_unique<End>(config, place, side...);
}

}  // namespace

baselines make_baselines(const base::url& address) {
    const settings config = settings::of(address);
    baselines found;
    if (config.protocol == settings::layout::native)
        found.all.push_back(
            {"scripts alone", baseline::kind::round_trip,
             [config](const std::string& place, unsigned) { return checked<scripts_end>(config, place); },
             [](const std::string&) {}});
    if (config.protocol == settings::layout::redisson && !config.fair)
        found.all.push_back(
            {"scripts alone", baseline::kind::round_trip,
             [config](const std::string& place, unsigned) { return checked<redisson_end>(config, place); },
             [](const std::string&) {}});
    if (config.user.empty())  // an account with the least rights may not SET
        found.all.push_back({"SET NX, compare and delete", baseline::kind::round_trip,
                             [config](const std::string& place, unsigned) { return checked<set_end>(config, place); },
                             [](const std::string&) {}});
    found.all.push_back({"PING", baseline::kind::trip,
                         [config](const std::string& place, unsigned) { return checked<ping_end>(config, place); },
                         [](const std::string&) {}});
    found.all.push_back(
        {"publish ping-pong", baseline::kind::ping_pong,
         [config](const std::string& place, unsigned side) { return checked<push_end>(config, place, side); },
         [config](const std::string& place) {
             try {
                 const std::string key = push_end::marks(config, place);
                 resp_client line{config, key};
                 std::string bytes;
                 append(bytes, {"HDEL", key, "here0", "here1", "gone0", "gone1"});
                 line.ask(bytes);
             } catch (const std::exception&) {  // the key expires
             }
         }});
    found.usage = [config] { return usage_of(config); };
    return found;
}

}  // namespace mortise::inline v0::stores::redis
