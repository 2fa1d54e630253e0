// The names of one `memory:` address, shared by every client of the process that opened it.
#pragma once

#include "base/lock_state.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/audit.hpp>
#include <mortise/spi/store.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mortise::inline v0::stores::memory {

// A client of the table, which is told of its grants and losses. Called without a lock of the table's.
class table_client {
public:
    virtual ~table_client() = default;
    virtual void granted(const std::string& name, const claim_id&, const spi::grant&) = 0;  // on the table's clock
    virtual void lost(const std::string& name, const claim_id&) = 0;
    virtual void look_at(const std::string& name, spi::duration in) = 0;  // then it calls settle(name)
    virtual bool gone() const noexcept = 0;                               // true before leave() is called
};

// Thread-safe. Names are spread over shards, each under its own mutex. A name that nobody holds or waits for is forgotten
// once its ended ids are; its counter stays in the shard's floor, so tokens rise also when the wall clock is set back.
class memory_table {
public:
    using time_source = std::function<spi::time_point()>;
    explicit memory_table(time_source now) : now_(std::move(now)) {}

    std::uint64_t join(std::weak_ptr<table_client> client);
    // Kept as long as the table, once for each process; copies of the pointer count nothing.
    std::shared_ptr<const base::whereabouts> keep(const std::string& host, std::int64_t pid);
    void leave(std::uint64_t session);

    // A claim of a session that is gone is refused: nobody would ever release it. A grant is counted on the client's clock,
    // which is at `here`, or was a little ago.
    spi::claim_answer claim(std::uint64_t session, const table_client& client,
                            const std::shared_ptr<const base::whereabouts>& from, const spi::claim_request& wanted,
                            spi::time_point here);
    spi::renewal_answer renew(const spi::renewal& due);
    spi::release_answer release(std::uint64_t session, std::string_view name, const claim_id& id);
    bool break_hold(std::string_view name, std::uint64_t counter);
    spi::raise_answer raise(const spi::raise_request& which);
    spi::token_memory recall(const spi::recall_request& asked);
    std::vector<spi::listed> list();
    std::vector<spi::stored_claim> records() const;  // those that have not expired
    void settle(const std::string& name);

    spi::time_point now() const { return now_(); }
    std::size_t names() const;  // kept at this moment, idle ones included

    // The table behind `memory:NAME`; it lives while a client uses it.
    static std::shared_ptr<memory_table> named(const std::string& name);

private:
    struct name_entry {
        explicit name_entry(std::uint64_t floor) : state(floor) {}
        base::lock_state state;
        spi::time_point looked_at = spi::time_point::max();  // when some session will call settle()
        bool on_idle_list = false;
    };
    // Its hash is taken once: it picks the shard and the place in its map.
    template <class Text>
    struct hashed {
        Text name;
        std::size_t hash;
        explicit hashed(Text n) : name(std::move(n)), hash(std::hash<std::string_view>{}(name)) {}
        hashed(Text n, std::size_t h) : name(std::move(n)), hash(h) {}
    };
    using name_key = hashed<std::string_view>;
    struct same {
        using is_transparent = void;
        std::size_t operator()(const auto& key) const noexcept { return key.hash; }
        bool operator()(const auto& a, const auto& b) const noexcept { return a.name == b.name; }
    };
    using entries = std::unordered_map<hashed<std::string>, name_entry, same, same>;
    struct shard {
        mutable std::mutex mutex;
        entries names;
        std::deque<entries::value_type*> idle;  // oldest first
        std::uint64_t floor = 0;
        base::instant wall_read{spi::time_point::min()};  // the latest
    };
    // What to do once the shard's mutex is unlocked.
    struct table_actions {
        base::effects effects;
        std::string name;
        std::uint64_t look_session = 0;
        spi::duration look_in{};

        bool nothing() const noexcept { return look_session == 0 && effects.granted.empty() && effects.lost.empty(); }
    };

    shard& shard_of(const name_key& key) noexcept { return shards_[key.hash % shards_.size()]; }
    base::instant instant_now(shard&) const;
    static void after(shard&, entries::value_type&, std::uint64_t session, base::instant at, table_actions& out);
    static void forget_idle(shard&, spi::time_point now);
    void run(const table_actions&) const;
    std::shared_ptr<table_client> find(std::uint64_t session) const;

    // Runs `verb(state, instant, effects)` on the name, then the actions that follow from it. `grants`: even if nobody waits.
    template <class Verb>
    auto with(std::string_view name, std::uint64_t session, bool grants, Verb&& verb);

    time_source now_;
    std::array<shard, 16> shards_;

    std::mutex tokens_mutex_;  // taken after a shard's
    spi::token_memory tokens_{.version = claim_id::random()};

    mutable std::mutex sessions_mutex_;
    std::unordered_map<std::uint64_t, std::weak_ptr<table_client>> sessions_;
    std::vector<std::unique_ptr<const base::whereabouts>> processes_;
    std::uint64_t next_session_ = 1;
};

}  // namespace mortise::inline v0::stores::memory
