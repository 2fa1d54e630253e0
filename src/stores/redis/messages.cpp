#include "stores/redis/messages.hpp"

#include "base/kinds.hpp"
#include "base/push_grace.hpp"
#include "base/text.hpp"
#include "base/told_span.hpp"
#include "base/words.hpp"

#include <mortise/error.hpp>

#include <algorithm>

namespace mortise::inline v0::stores::redis {
namespace {

using base::words;
using std::chrono::microseconds;

std::int64_t us(spi::duration d) {
    return std::chrono::duration_cast<microseconds>(d).count();
}

// pid, length of host, host and label
std::optional<mortise::holder> holder_of(words& from, std::uint64_t counter, microseconds held_for) {
    mortise::holder found;
    found.pid = from.number();
    const auto length = from.number<std::size_t>();
    if (from.bad() || length > from.rest().size()) return std::nullopt;
    found.host = from.rest().substr(0, length);
    found.label = from.rest().substr(length);
    found.held_for = held_for;
    found.token = token::of(counter, 0);
    return found;
}

void tell(script_call& to, const client_identity& client) {
    to << client.inboxes()
       << packed_record::of<layouts::terms>(us(waiter_life), us(base::push_grace), client.receivers_count);
}
constexpr std::size_t things_told = 2;

// Long enough for most calls.
constexpr std::size_t usual_length = 320;

}  // namespace

script_call::script_call(const script& which, std::size_t keys, std::size_t arguments)
    : script_(&which), count_(3 + keys + arguments) {
    bytes_.reserve(usual_length);
    command{bytes_, count_} << "EVALSHA" << script_->sha;
    head_ = bytes_.size();
    command{bytes_} << static_cast<std::int64_t>(keys);
}

script_call script_call::plain_claim(std::size_t words) {
    script_call made;
    made.bytes_.reserve(usual_length);
    command begin{made.bytes_, words};
    return made;
}

script_call& script_call::operator<<(std::string_view argument) {
    command{bytes_} << argument;
    return *this;
}

script_call& script_call::operator<<(std::int64_t argument) {
    command{bytes_} << argument;
    return *this;
}

bool script_call::takes() const noexcept {
    return script_ == nullptr || script_->takes;
}

std::string script_call::by_source() const {
    if (script_ == nullptr) return bytes_;
    std::string bytes;
    command{bytes, count_} << "EVAL" << script_->source;
    return bytes.append(bytes_, head_);
}

script_call claim_call(const client_identity& client, std::string_view key, const spi::claim_request& wanted,
                       bool durable) {
    const bool renewed = wanted.renew == renew::on && wanted.kept_by == kept_by::process;
    std::string rest;
    rest.reserve(client.client.size() + client.host.size() + wanted.label.size() + 32);
    rest += renewed ? 'r' : '-';
    rest += client.client;
    (rest += wanted.keeps_idle ? 'k' : ' ') += std::to_string(client.pid);
    (rest += ' ') += std::to_string(client.host.size());
    (rest += ' ') += client.host;
    rest += wanted.label;
    const std::int64_t lease = us(wanted.lease.value_or(spi::duration::zero()));
    const unsigned flags =
        (wanted.queue ? layouts::claim_flags::queue : 0U) | (durable ? layouts::claim_flags::must_write : 0U);
    script_call made{scripts::all().claim, 1, 4 + things_told};
    made << key << packed_record{wanted.id}
         << packed_record::of<layouts::claim>(wanted.capacity, wanted.weight, lease, flags)
         << (wanted.instead_of == claim_id{} ? packed_record{} : packed_record{wanted.instead_of}) << rest;
    tell(made, client);
    return made;
}

script_call claim_in_vain() {
    script_call made{scripts::all().claim, 0, 4 + things_told};  // no key: any node of a cluster accepts it
    for (std::size_t i = 0; i < 4 + things_told; ++i) made << "";
    return made;
}

spi::claim_answer not_durable(const settings& config, unsigned have, unsigned wanted) {
    return {.is = spi::claim_answer::verdict::unknown,
            .reason = errc::unreachable,
            .detail = "granted by the master, but only " + std::to_string(have) + " of " + std::to_string(wanted) +
                      " replicas acknowledged it within " + base::readable(config.replica_timeout)};
}

script_call release_call(const client_identity& client, std::string_view key, const claim_id& id) {
    script_call made{scripts::all().release, 1, 2 + things_told};
    made << key << packed_record{id} << client.client;
    tell(made, client);
    return made;
}

script_call heartbeat_call(const client_identity& client, std::string_view key) {
    script_call made{scripts::all().heartbeat, 1, 1 + things_told};
    made << key << client.client;
    tell(made, client);
    return made;
}

script_call break_call(const client_identity& client, std::string_view key, std::uint64_t counter) {
    script_call made{scripts::all().break_hold, 1, 1 + things_told};
    made << key << std::to_string(counter);
    tell(made, client);
    return made;
}

script_call raise_call(const client_identity& client, std::string_view key, std::string_view memory,
                       const spi::raise_request& which) {
    script_call made{scripts::all().raise, 2, 3 + things_told};
    made << key << memory << packed_record{which.id} << std::to_string(which.to) << which.version.hex();
    tell(made, client);
    return made;
}

spi::raise_answer read_raise(const reply& answer) {
    using enum spi::raise_answer::verdict;
    if (answer.is != reply::kind::text || answer.text.empty()) return {};
    switch (answer.text.front()) {
        case 'R':
            return {.is = raised};
        case 'L':
            return {.is = lost};
        case 'F':
            return {.is = forgot};
        case 'N': {
            words rest{answer.text.substr(1)};
            const auto largest = rest.number<std::uint64_t>();
            if (!rest.bad()) return {.is = not_larger, .largest = largest};
            break;
        }
        default:
            break;
    }
    return {};
}

script_call recall_call(std::string_view memory, const spi::recall_request& asked) {
    using enum spi::recall_request::change;
    script_call made{scripts::all().recall, 1, 4};
    made << memory << claim_id::random().hex()
         << (asked.what == vouch     ? "vouch"
             : asked.what == restore ? "restore"
                                     : "none")
         << asked.version.hex() << std::to_string(asked.floor);
    return made;
}

std::optional<spi::token_memory> read_recall(const reply& answer) {
    if (answer.is != reply::kind::text) return std::nullopt;
    words from{answer.text};
    const std::string_view version = from.next();
    if (version.size() != 32) return std::nullopt;
    words high{version.substr(0, 16)};
    words low{version.substr(16)};
    spi::token_memory found;
    found.version.bits = {high.number<std::uint64_t>(16), low.number<std::uint64_t>(16)};
    found.whole = from.number() == 1;
    found.floor = from.number<std::uint64_t>();
    found.highest = from.number<std::uint64_t>();
    if (from.bad() || high.bad() || low.bad()) return std::nullopt;
    return found;
}

script_call show_call(std::string_view key) {
    script_call made{scripts::all().show, 1, 0};
    made << key;
    return made;
}

script_call clock_ahead_call(std::string_view key) {
    script_call made{scripts::all().clock_ahead, 1, 0};
    made << key;
    return made;
}

script_call renew_call(std::span<const renewal_item> items) {
    script_call made{scripts::all().renew, items.size(), 2};
    std::string ids;
    std::string leases;
    for (const renewal_item& one : items) {
        made << one.key;
        ids += packed_record{one.id}.bytes();
        leases += packed_record::of<layouts::lease>(us(one.lease)).bytes();
    }
    const bool alike =
        std::ranges::all_of(items, [&](const renewal_item& one) { return one.lease == items.front().lease; });
    made << ids << std::string_view{leases}.substr(0, alike ? layouts::lease.size() : leases.size());
    return made;
}

std::string error_reply::advice() const {
    return what + (helps == net::trouble::remedy::rights ? "; mortise doctor prints the rights that are needed" : "");
}

error_reply read_error(const reply& raw) {
    const std::string text{raw.text};
    if (raw.failure())
        return {raw.number != 0 ? static_cast<errc>(raw.number) : errc::unreachable, text, raw.number == 0, raw.helps};
    const auto begins = [&](std::string_view with) { return text.starts_with(with); };
    if (begins("FOREIGN") || begins("WRONGTYPE"))
        return {errc::kind_mismatch,
                "its key in Redis holds data that is not a lock of ours, and was left alone; use "
                "another name or the option prefix"};
    // Redis 7.0 has no code of its own for what scripts are denied.
    if (begins("NOPERM") || begins("NOAUTH") || begins("ERR The user executing the script can't"))
        return {errc::denied, "a right is missing (" + text + ")", false, net::trouble::remedy::rights};
    if (begins("OOM")) return {errc::exhausted, "Redis is out of memory (maxmemory); give it more, or free some"};
    if (begins("MISCONF"))
        return {errc::exhausted, "Redis cannot write its data to disk and takes no writes; see its log"};
    if (begins("NOREPLICAS"))
        return {errc::unreachable,
                "Redis has fewer replicas than min-replicas-to-write demands; start more, or demand less", true};
    for (const std::string_view soon : {"LOADING", "READONLY", "MASTERDOWN", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "MOVED",
                                        "ASK", "UNBLOCKED", "ERR WAIT cannot be used with replica"})
        if (begins(soon)) return {errc::unreachable, text, true};
    return {errc::unsupported, "Redis answered: " + text};
}

spi::claim_answer not_claimed(const reply& raw, std::string_view foreign) {
    using enum spi::claim_answer::verdict;
    error_reply why = read_error(raw);
    if (why.code == errc::kind_mismatch && !foreign.empty()) why.what = foreign;
    return {.is = why.passing ? unknown : refused, .reason = why.code, .detail = why.advice(), .unreached = raw.unmet};
}

std::string read_why_not(const reply& raw) {
    const bool by_the_script = raw.error() && raw.text.starts_with("ERR arguments of a claim");
    return by_the_script ? "" : read_error(raw).what;
}

claim_reply read_claim(const reply& raw, spi::time_point sent, std::uint32_t claimed) {
    using enum spi::claim_answer::verdict;
    claim_reply out;
    spi::claim_answer& answer = out.answer;
    if (raw.failure() || raw.error()) return {.answer = not_claimed(raw)};
    if (raw.text.empty()) return out;
    const char verdict = raw.text.front();
    packed_reader from{raw.text.substr(layouts::verdict.size())};
    if (verdict == 'G') {
        const auto [counter, lease, left, now] = from.take<layouts::grant>();
        from.require(counter >= 0);
        out.now = server_time{now};
        answer.is = granted;
        answer.grant = {.counter = static_cast<std::uint64_t>(counter),
                        .lease = base::told_span<microseconds>(lease),
                        .counted_from = sent};
        if (left < lease) answer.grant.grace = base::told_span<microseconds>(left);
    } else if (verdict == 'Q' || verdict == 'B' || verdict == 'K') {
        const auto [place, free_in, now] = from.take<layouts::standing>();
        from.require(place >= 0);
        out.now = server_time{now};
        answer.is = verdict == 'Q' ? queued : busy;
        answer.standing.place = static_cast<std::size_t>(place);
        answer.kept = verdict == 'K';
        if (free_in >= 0) answer.standing.free_in = base::told_span<microseconds>(free_in);
        if (!from.rest().empty()) {
            const auto [counter, held_for] = from.take<layouts::blocker>();
            from.require(counter >= 0);
            words rest{from.rest()};
            answer.standing.holder =
                holder_of(rest, static_cast<std::uint64_t>(counter), base::told_span<microseconds>(held_for));
        }
    } else if (verdict == 'R') {
        words why_not{raw.text.substr(1)};
        const std::string_view why = why_not.next();
        const auto in_use = why_not.number<std::uint32_t>();
        if (why_not.bad()) return {};
        answer.is = refused;
        answer.reason = why == "lost"       ? errc::lost
                        : why == "deadlock" ? errc::would_deadlock
                        : why == "kind"     ? errc::kind_mismatch
                                            : errc::cancelled;
        if (why == "kind") answer.detail = base::disagreement(in_use, claimed);
    }
    if (from.bad()) return {};
    return out;
}

std::optional<inbox_message> read_inbox_message(std::string_view message) {
    using news = inbox_message::news;
    inbox_message read;
    switch (message.empty() ? '\0' : message.front()) {
        case 'G':
            read.is = news::granted;
            break;
        case 'L':
            read.is = news::lost;
            break;
        case 'W':
            read.is = news::wanted;
            break;
        default:
            return std::nullopt;
    }
    packed_reader from{message.substr(layouts::verdict.size())};
    read.id = from.take_id();
    if (read.is == news::granted) {
        const auto [counter, lease, left, now] = from.take<layouts::grant>();
        from.require(counter >= 0);
        read.counter = static_cast<std::uint64_t>(counter);
        read.lease = base::told_span<microseconds>(lease);
        read.left = base::told_span<microseconds>(left);
        read.at = server_time{now};
    }
    read.key = from.rest();
    if (from.bad() || read.key.empty()) return std::nullopt;
    return read;
}

std::vector<spi::listed> read_shown(const reply& raw, std::string_view name) {
    std::vector<spi::listed> holds;
    if (raw.items.size() < 3) return holds;
    const auto capacity = words{raw.items[0].text}.number<std::uint32_t>();
    const auto waiting = words{raw.items[1].text}.number<std::size_t>();
    for (std::size_t i = 2; i < raw.items.size(); ++i) {
        words from{raw.items[i].text};
        const auto counter = from.number<std::uint64_t>();
        const auto weight = from.number<std::uint32_t>();
        const auto held_for = base::told_span<microseconds>(from.number());
        const auto left = base::told_span<microseconds>(from.number());
        if (auto holder = holder_of(from, counter, held_for))
            holds.push_back({std::string(name), std::move(*holder), capacity, weight, waiting, left});
    }
    std::sort(holds.begin(), holds.end(), [](const auto& a, const auto& b) { return a.holder.token < b.holder.token; });
    return holds;
}

}  // namespace mortise::inline v0::stores::redis
