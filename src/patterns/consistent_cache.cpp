#include "patterns/freshness.hpp"
#include "patterns/inside.hpp"
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

constexpr int most_overtakings = 10;  // of a reader by others; then it keeps them out

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
    void refuse_reentry(std::string_view key) const;
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

// A reader that a later one overtakes starts anew. While it has the write lock nobody can, so then a larger seal is an error.
value write_through::body::get(std::string_view key) {
    for (int tried = 0;; ++tried) {
        const bool alone = tried >= most_overtakings;
        if (locally()) {
            if (const auto mine = kept_of(key); mine && mine->reading.valid()) return mine->what;
        } else if (const auto hit = cached(key)) {
            return *hit;
        }
        refuse_reentry(key);
        shared_mutex lock{locks, patterns::lock_name(name, key), claim(!alone)};
        hold reading = alone ? lock.acquire({.wait = how.wait}) : lock.acquire_shared({.wait = how.wait});
        const std::optional<value> found = read(key, reading);
        if (!found && alone && reading.valid()) patterns::seal_refused(reading, pattern, name, key);
        if (!found) continue;
        if (locally() && !alone && reading.valid())
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
    refuse_reentry(key);
    shared_mutex lock{locks, patterns::lock_name(name, key), claim(false)};
    forget(key);
    const hold writing = lock.acquire({.wait = how.wait});
    const patterns::inside changing{locks, lock.name()};
    const token mine = writing.token();
    if (!cache.seal(key, mine) || !database.seal(key, mine)) patterns::seal_refused(writing, pattern, name, key);
    const std::optional<fenced_storage::entry> stored = database.read(key);
    const std::string bytes = patterns::packed(make(stored ? patterns::unpacked(stored->bytes) : std::nullopt));
    if (!database.write(key, mine, bytes, detail::for_ever)) patterns::write_refused(writing, pattern, name, key);
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

void write_through::body::refuse_reentry(std::string_view key) const {
    patterns::refuse_reentry(locks, patterns::lock_name(name, key), pattern, name, key);
}

write_through::write_through(client& locks, fenced_storage& cache, fenced_storage& database, std::string name,
                             consistency_options options)
    : body_(new body{locks, cache, database, std::move(name), options}) {
    patterns::require_tokens(locks, body::pattern, body_->name);
    patterns::require_shared(locks, body::pattern, body_->name);
    patterns::require_name(locks, body::pattern, body_->name, patterns::longest_lock_name(body_->name));
    if (body_->locally()) patterns::require_lease(locks, options.local_for, "local_for", body::pattern, body_->name);
    patterns::require_wait(options.wait, body::pattern, body_->name);
    if (options.keep <= options.keep.zero() || options.local_for < options.local_for.zero())
        patterns::refuse_option(body::pattern, body_->name, "keep must be positive, local_for not negative");
}

write_through::~write_through() = default;

value write_through::get(std::string_view key) {
    patterns::refuse_child(body_->locks, body::pattern, body_->name);
    return body_->get(key);
}

void write_through::put(std::string_view key, value what) {
    update(key, [&](const value&) { return std::move(what); });
}

void write_through::update(std::string_view key, change make) {
    if (!make) patterns::refuse_option(body::pattern, body_->name, "it needs a function");
    patterns::refuse_child(body_->locks, body::pattern, body_->name);
    body_->change_it(key, make);
}

}  // namespace mortise::inline v0
