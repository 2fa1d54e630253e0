#include "base/lock_state.hpp"

#include <array>
#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace mortise::inline v0::base {
namespace {

// Without gaps, so that it can be copied as it is.
struct ended_bytes {
    claim_id id;
    spi::time_point until;
    std::int64_t answer;
};
struct claim_bytes {
    claim_id id;
    std::uint64_t session;
    std::uint32_t weight;
    std::uint32_t flags;
    spi::duration lease;
    std::uint64_t counter;
    spi::time_point since;
    spi::time_point ends;
};
static_assert(std::has_unique_object_representations_v<claim_id>);

class writer {
public:
    writer() { bytes.reserve(1500); }  // one name, one holder, all ids it may remember

    template <class T>
    void put(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void put_text(const std::string& text) {
        put(static_cast<std::uint16_t>(text.size()));
        bytes += text;
    }
    void put_claim(const kept_claim& c) {
        const std::uint32_t flags = (c.detached ? 1u : 0u) | (c.lease ? 2u : 0u) | (c.from ? 4u : 0u);
        put(claim_bytes{c.id, c.session, c.weight, flags, c.lease.value_or(spi::duration::zero()), c.counter, c.since,
                        c.ends});
        put_text(c.label);
        if (c.from) {
            put(c.from->pid);
            put_text(c.from->host);
        }
    }
    std::string bytes;
};

class reader {
public:
    explicit reader(std::string_view bytes) : left_(bytes) {}

    template <class T>
    T get() {
        T value;
        std::memcpy(&value, take(sizeof value).data(), sizeof value);
        return value;
    }
    std::string get_text() { return std::string(take(get<std::uint16_t>())); }
    kept_claim get_claim() {
        kept_claim c;
        const auto b = get<claim_bytes>();
        constexpr spi::duration longest{std::int64_t{1} << 62};  // far beyond any lease, and no sum of two overflows
        constexpr spi::time_point boot{};
        if (b.lease < spi::duration::zero() || b.lease > longest || b.since < boot || b.ends < boot) broken();
        c.id = b.id;
        c.session = b.session;
        c.weight = b.weight;
        c.detached = (b.flags & 1) != 0;
        if ((b.flags & 2) != 0) c.lease = b.lease;
        c.counter = b.counter;
        c.since = b.since;
        c.ends = b.ends;
        c.label = get_text();
        if ((b.flags & 4) != 0) {
            whereabouts from;
            from.pid = get<std::int64_t>();
            from.host = get_text();
            c.from = std::make_shared<const whereabouts>(std::move(from));
        }
        return c;
    }
    // No count can be larger than the bytes that are left: nothing is allocated on the word of a broken file.
    std::uint32_t get_count() {
        const auto count = get<std::uint32_t>();
        if (count > left_.size()) broken();
        return count;
    }
    bool done() const noexcept { return left_.empty(); }
    [[noreturn]] static void broken() { throw std::runtime_error("the state of a lock cannot be read"); }

private:
    std::string_view take(std::size_t n) {
        if (n > left_.size()) broken();
        const std::string_view taken = left_.substr(0, n);
        left_.remove_prefix(n);
        return taken;
    }
    std::string_view left_;
};

}  // namespace

std::string lock_state::save(spi::time_point now) const {
    writer out;
    out.put(last_);
    out.put(capacity_);
    out.put(static_cast<std::uint32_t>(holders_.size()));
    for (const kept_claim& held : holders_) out.put_claim(held);
    out.put(static_cast<std::uint32_t>(waiting()));
    if (queue_)
        for (const waiter& w : queue_->line)
            if (!w.gone) out.put_claim(w.claim);
    std::array<ended_bytes, most_remembered> remembered_ids{};
    std::uint32_t n = 0;
    for (std::size_t i = 0; i < ended_.size(); ++i) {  // oldest first
        const ended& e = ended_[(oldest_ended_ + i) % ended_.size()];
        if (e.until > now) remembered_ids[n++] = {e.id, e.until, e.answer ? static_cast<std::int64_t>(*e.answer) : -1};
    }
    out.put(n);
    out.bytes.append(reinterpret_cast<const char*>(remembered_ids.data()), n * sizeof(ended_bytes));
    return std::move(out.bytes);
}

lock_state lock_state::restore(std::string_view bytes) {
    reader in{bytes};
    lock_state state{in.get<std::uint64_t>()};
    state.capacity_ = in.get<std::uint32_t>();
    for (std::uint32_t n = in.get_count(); n > 0; --n) state.add_holder(in.get_claim());
    state.find_next_end();
    if (std::uint32_t n = in.get_count(); n > 0) {
        state.queue_ = std::make_unique<queue>();
        for (; n > 0; --n) {
            kept_claim c = in.get_claim();
            if (!state.queue_->numbers.emplace(c.id, state.queue_->line.size()).second) reader::broken();
            state.queue_->line.push_back({std::move(c)});
        }
    }
    const std::uint32_t ids = in.get_count();
    if (ids > most_remembered) reader::broken();
    state.ended_.reserve(ids);
    for (std::uint32_t n = ids; n > 0; --n) {
        const auto e = in.get<ended_bytes>();
        if (e.answer > static_cast<std::int64_t>(spi::release_answer::unknown)) reader::broken();
        state.ended_.push_back({e.id, e.until, std::nullopt});
        if (e.answer >= 0) state.ended_.back().answer = static_cast<spi::release_answer>(e.answer);
    }
    if (!in.done()) reader::broken();
    return state;
}

}  // namespace mortise::inline v0::base
