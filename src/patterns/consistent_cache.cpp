#include "patterns/freshness.hpp"
#include "patterns/lock_name.hpp"
#include "patterns/requirements.hpp"

#include <mortise/duration.hpp>
#include <mortise/error.hpp>
#include <mortise/patterns/consistent_cache.hpp>
#include <mortise/shared_mutex.hpp>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace mortise::inline v0 {
namespace {

using value = std::optional<std::string>;

constexpr int most_overtakings = 100;  // of a reader that others overtake

}  // namespace

struct write_through::body {
    static constexpr const char* pattern = "consistent_cache";

    client& locks;
    fenced_storage& cache;
    fenced_storage& database;
    const std::string name;
    const consistency_options how;

    // Values that this client may answer for as long as the read lock is valid, which nobody renews.
    struct local {
        hold reading{};
        value what{};
    };
    std::mutex mutex{};
    std::map<std::string, std::shared_ptr<const local>, std::less<>> kept{};

    value get(std::string_view key);
    std::shared_ptr<const local> kept_of(std::string_view key);
    std::optional<value> cached(std::string_view key);
    std::optional<value> read(std::string_view key, const hold& reading);
    void change_it(std::string_view key, change& make);
    void keep_it(std::string_view key, std::shared_ptr<const local> mine);
    void forget(std::string_view key);
    [[noreturn]] void replaced(std::string_view key) const;
    bool locally() const { return how.local_for > how.local_for.zero(); }
    claim_options claim(bool to_read) const;
};

claim_options write_through::body::claim(bool to_read) const {
    claim_options all{.require_token = true, .label = pattern};
    if (!to_read || !locally()) return all;
    all.lease = how.local_for;
    all.renew = renew::off;
    return all;
}

std::shared_ptr<const write_through::body::local> write_through::body::kept_of(std::string_view key) {
    const std::scoped_lock alone{mutex};
    const auto found = kept.find(key);
    if (found == kept.end() || !found->second->reading.valid()) return nullptr;
    return found->second;
}

// Nothing: it is not there, or somebody is changing it.
std::optional<value> write_through::body::cached(std::string_view key) {
    const std::optional<fenced_storage::entry> found = cache.read(key);
    if (!found || !found->settled) return std::nullopt;
    return patterns::unpacked(found->bytes);
}

value write_through::body::get(std::string_view key) {
    for (int tried = 0;; ++tried) {
        if (tried == most_overtakings) patterns::seal_is_ahead(pattern, name, key);
        if (locally()) {
            if (const auto mine = kept_of(key); mine && mine->reading.valid()) return mine->what;
        } else if (const auto hit = cached(key)) {
            return *hit;
        }
        shared_mutex lock{locks, patterns::lock_name(name, key), claim(true)};
        hold reading = lock.acquire_shared();
        const std::optional<value> found = read(key, reading);
        if (!found) continue;  // a later reader or writer was faster
        if (locally() && reading.valid())
            keep_it(key, std::make_shared<const local>(local{std::move(reading), *found}));
        return *found;
    }
}

void write_through::body::keep_it(std::string_view key, std::shared_ptr<const local> mine) {
    std::vector<std::shared_ptr<const local>> over;  // let go outside the mutex
    const std::scoped_lock alone{mutex};
    std::erase_if(kept, [&](const auto& each) {
        const bool ended = !each.second->reading.valid();
        if (ended) over.push_back(each.second);
        return ended;
    });
    std::shared_ptr<const local>& place = kept[std::string(key)];
    over.push_back(std::exchange(place, std::move(mine)));
}

// Seal, read, write: nobody who was here before can change either storage after this has read it. An answer from memory
// outlives the look at the cache, so for that the database is sealed in any case: a writer who lost its lock, and whom no
// reader has met, could still write.
std::optional<value> write_through::body::read(std::string_view key, const hold& reading) {
    const token mine = reading.token();
    if (locally() && !database.seal(key, mine)) return std::nullopt;
    if (const auto hit = cached(key)) return hit;
    if (!cache.seal(key, mine) || !database.seal(key, mine)) return std::nullopt;
    const std::optional<fenced_storage::entry> stored = database.read(key);
    const value found = stored ? patterns::unpacked(stored->bytes) : std::nullopt;
    static_cast<void>(cache.write(key, mine, patterns::packed(found), how.keep));
    return found;
}

// The cache is sealed first: from then on nobody else fills it, and no reader trusts it, until the new value is in both.
void write_through::body::change_it(std::string_view key, change& make) {
    forget(key);
    shared_mutex lock{locks, patterns::lock_name(name, key), claim(false)};
    const hold writing = lock.acquire();
    const token mine = writing.token();
    if (!cache.seal(key, mine) || !database.seal(key, mine)) replaced(key);
    const std::optional<fenced_storage::entry> stored = database.read(key);
    const std::string bytes = patterns::packed(make(stored ? patterns::unpacked(stored->bytes) : std::nullopt));
    if (!database.write(key, mine, bytes, detail::for_ever)) replaced(key);
    static_cast<void>(cache.write(key, mine, bytes, how.keep));
}

// Gives back this client's own read lock: it would wait for itself.
void write_through::body::forget(std::string_view key) {
    std::shared_ptr<const local> mine;  // let go outside the mutex
    const std::scoped_lock alone{mutex};
    const auto found = kept.find(key);
    if (found == kept.end()) return;
    mine = std::move(found->second);
    kept.erase(found);
}

void write_through::body::replaced(std::string_view key) const {
    throw error(errc::lost, "consistent_cache '" + name + "': a later writer has taken over '" + std::string(key) +
                                "' because this one was paused for longer than its lease; nothing was written");
}

write_through::write_through(client& locks, fenced_storage& cache, fenced_storage& database, std::string name,
                             consistency_options options)
    : body_(new body{locks, cache, database, std::move(name), options}) {
    patterns::require_tokens(locks, body::pattern, body_->name);
    patterns::require_shared(locks, body::pattern, body_->name);
    if (body_->locally()) patterns::require_lease(options.local_for, "local_for", body::pattern, body_->name);
}

write_through::~write_through() = default;

value write_through::get(std::string_view key) {
    return body_->get(key);
}

void write_through::put(std::string_view key, value what) {
    update(key, [&](const value&) { return std::move(what); });
}

void write_through::update(std::string_view key, change make) {
    if (!make) throw error(errc::invalid_option, "consistent_cache '" + body_->name + "' needs a function");
    body_->change_it(key, make);
}

}  // namespace mortise::inline v0
