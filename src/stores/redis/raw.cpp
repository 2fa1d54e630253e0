#include "stores/redis/raw.hpp"

#include "base/limits.hpp"
#include "stores/redis/bare_client.hpp"
#include "stores/redis/messages.hpp"
#include "stores/redis/names.hpp"

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
class scripts_end final : public raw_end {
public:
    scripts_end(const settings& how, const std::string& place)
        : me_{.prefix = how.prefix, .client = fresh_word(), .host = "bench"},
          name_("raw-" + place + "-" + me_.client),
          key_(key_of(how.prefix, name_)),
          line_(how, key_) {}

    void lock() override {
        id_ = claim_id::random();
        const call what = claim_call(me_, key_, {.name = name_, .id = id_, .lease = std::chrono::seconds{30}}, false);
        check(what);
    }
    void unlock() override { check(release_call(me_, key_, id_)); }

private:
    void check(const call& what) {
        const reply* said = &line_.ask(what.by_digest());
        if (said->error() && said->text.starts_with("NOSCRIPT")) said = &line_.ask(what.by_source());
        if (said->error()) throw error(errc::unreachable, std::string(said->text));
    }
    const asking_party me_;
    const std::string name_;
    const std::string key_;
    bare_client line_;
    claim_id id_{};
};

// What most people write: SET key value NX PX, and a script that deletes it if it is still theirs.
class set_end final : public raw_end {
public:
    set_end(const settings& how, const std::string& place)
        : value_(fresh_word()), key_(key_of(how.prefix, "raw-" + place + "-" + value_)), line_(how, key_) {
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
        if (const reply& said = line_.ask(bytes); said.error()) throw error(errc::unreachable, std::string(said.text));
    }
    const std::string value_;
    const std::string key_;
    std::string set_;
    std::string del_;
    bare_client line_;
};

// A message that one publishes and the other, blocked on its subscription, receives.
class push_end final : public raw_end {
public:
    push_end(const settings& how, const std::string& place, unsigned side)
        : key_(marks(how, place)),
          side_(side),
          mine_(how.prefix + ":raw:" + place + ":" + std::to_string(side)),
          others_(how.prefix + ":raw:" + place + ":" + std::to_string(1 - side)),
          counts_(how.shape != settings::topology::cluster),
          asks_(how, key_),
          listens_(how, key_),
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
        } catch (const std::exception&) {  // the key ends by itself
        }
    }

    void lock() override {
        while (!alone_ && !my_turn_) {
            const reply& said = listens_.next_push();
            if (said.items.size() != 3 || said.items[0].text != "message") continue;
            if (said.items[2].text == "alone") alone_ = true;
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

    static std::string marks(const settings& how, const std::string& place) {
        return key_of(how.prefix, "raw-" + place);
    }

private:
    std::int64_t publish(std::string_view what) {
        std::string bytes;
        append(bytes, {"PUBLISH", others_, what});
        const reply& said = asks_.ask(bytes);
        if (said.error()) throw error(errc::unreachable, std::string(said.text));
        return said.number;
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
    bare_client asks_;
    bare_client listens_;
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

// Commands of clients: not those that scripts call inside.
void add_usage(bare_client& line, store_usage& used) {
    std::string bytes;
    append(bytes, {"INFO", "everything"});
    const reply& said = line.ask(bytes);
    if (said.is != reply::kind::text) return;
    std::uint64_t commands = 0;
    for (const std::string_view one : {"cmdstat_evalsha:calls=", "cmdstat_eval:calls=", "cmdstat_wait:calls=",
                                       "cmdstat_scan:calls=", "cmdstat_hello:calls=", "cmdstat_subscribe:calls="})
        commands += figure_in(said.text, one);
    const auto seconds = [&](std::string_view key) {
        const std::size_t at = said.text.find(key);
        return at == std::string_view::npos
                   ? 0.0
                   : std::strtod(std::string(said.text.substr(at + key.size(), 32)).c_str(), nullptr);
    };
    const std::chrono::duration<double> processor{seconds("used_cpu_sys:") + seconds("used_cpu_user:")};
    used.commands = used.commands.value_or(0) + commands;
    used.processor = used.processor.value_or(std::chrono::nanoseconds::zero()) +
                     std::chrono::duration_cast<std::chrono::nanoseconds>(processor);
    used.memory = used.memory.value_or(0) + figure_in(said.text, "used_memory:");
}

// Of all masters together.
store_usage usage_of(const settings& how) {
    store_usage used;
    bare_client first{how, "mortise"};
    if (how.shape != settings::topology::cluster) {
        add_usage(first, used);
        return used;
    }
    std::string bytes;
    append(bytes, {"CLUSTER", "SLOTS"});
    const reply& said = first.ask(bytes);
    std::set<endpoint> masters;
    for (const reply& range : said.items)
        if (range.items.size() > 2 && range.items[2].items.size() > 1)
            masters.insert({std::string(range.items[2].items[0].text),
                            static_cast<std::uint16_t>(range.items[2].items[1].number)});
    for (const endpoint& one : masters) {
        settings alone = how;
        alone.shape = settings::topology::single;
        alone.endpoints = {one};
        bare_client line{alone, "mortise"};
        add_usage(line, used);
    }
    return used;
}

template <class End, class... Side>
std::unique_ptr<raw_end> checked(const settings& how, const std::string& place, Side... side) {
    base::check_raw_place(place);
    return std::make_unique<End>(how, place, side...);
}

}  // namespace

mortise::raw_limits bare_limits(const settings& how) {
    mortise::raw_limits limits;
    limits.all.push_back({"bare scripts", raw_limit::kind::trips,
                          [how](const std::string& place, unsigned) { return checked<scripts_end>(how, place); },
                          [](const std::string&) {}});
    if (how.user.empty())  // an account with the least rights may not SET
        limits.all.push_back({"SET NX, compare and delete", raw_limit::kind::trips,
                              [how](const std::string& place, unsigned) { return checked<set_end>(how, place); },
                              [](const std::string&) {}});
    limits.all.push_back(
        {"raw push", raw_limit::kind::turns,
         [how](const std::string& place, unsigned side) { return checked<push_end>(how, place, side); },
         [how](const std::string& place) {
             try {
                 const std::string key = push_end::marks(how, place);
                 bare_client line{how, key};
                 std::string bytes;
                 append(bytes, {"HDEL", key, "here0", "here1", "gone0", "gone1"});
                 line.ask(bytes);
             } catch (const std::exception&) {  // it ends by itself
             }
         }});
    limits.usage = [how] { return usage_of(how); };
    return limits;
}

}  // namespace mortise::inline v0::stores::redis
