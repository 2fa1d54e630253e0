#include "patterns/inside.hpp"
#include "patterns/requirements.hpp"

#include <mortise/boot_clock.hpp>
#include <mortise/duration.hpp>
#include <mortise/error.hpp>
#include <mortise/patterns/token_keeper.hpp>

#include <charconv>

namespace mortise::inline v0 {
namespace {

using std::chrono::nanoseconds;

constexpr int most_refreshes = 3;  // of one use, in vain

std::string packed_credential(const credential& one) {
    return std::to_string(one.valid_for.count()) + "\n" + one.value;
}

credential unpacked_credential(const std::string& bytes) {
    credential one;
    nanoseconds::rep life = 0;
    const auto [end, failed] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), life);
    if (failed != std::errc{} || end == bytes.data() + bytes.size() || *end != '\n')
        throw error(errc::invalid_option,
                    "the storage has data that token_keeper has not written; use a prefix of its own");
    one.valid_for = detail::bounded(nanoseconds{life});
    one.value.assign(end + 1, bytes.data() + bytes.size());
    return one;
}

}  // namespace

struct token_keeper::body {
    static constexpr const char* pattern = "token_keeper";

    client& locks;
    fenced_storage& storage;
    const std::string name;
    const keeper_options how;
    refresh ask;
    shared_mutex in_use{locks, name, {.require_token = true, .label = pattern}};
    shared_mutex replacing{locks, name, {.lease = how.refresh_within, .renew = renew::off, .label = pattern}};

    std::string key_of() const { return name + "/credential"; }
    nanoseconds ahead_of(const credential& one) const { return how.ahead.value_or(one.valid_for / 10); }
    std::optional<std::string> good(const std::string& refused) const;
    struct refreshed {
        boot_clock::time_point good_until;
        bool in_time;  // false: it took longer than refresh_within, and another took over
    };
    std::optional<refreshed> replace(const std::string& refused);
    void require_use(const credential& made, const std::string& refused) const;
    [[noreturn]] void in_vain(const refreshed& last) const;
};

// The credential, if it is neither the one that was refused, nor too old, nor being replaced.
std::optional<std::string> token_keeper::body::good(const std::string& refused) const {
    const std::optional<fenced_storage::entry> found = storage.read(key_of());
    if (!found || !found->settled) return std::nullopt;
    credential one = unpacked_credential(found->bytes);
    if (found->age >= one.valid_for - ahead_of(one) || (!refused.empty() && one.value == refused)) return std::nullopt;
    return std::move(one.value);
}

// When it has the lock, nobody uses the old one. From the seal on nobody will, whatever becomes of this process. Nothing: the
// provider was not asked.
std::optional<token_keeper::body::refreshed> token_keeper::body::replace(const std::string& refused) {
    const hold mine = replacing.acquire({.wait = how.wait});
    if (good(refused)) return std::nullopt;  // somebody else was faster
    if (!storage.seal(key_of(), mine.token())) {
        if (mine.valid()) patterns::seal_refused(mine, pattern, name, key_of());
        return std::nullopt;
    }
    credential made = ask();
    made.valid_for = detail::bounded(made.valid_for);
    const boot_clock::time_point made_at = boot_clock::now();
    const bool stored = storage.write(key_of(), mine.token(), packed_credential(made), made.valid_for);
    require_use(made, refused);
    return refreshed{made_at + detail::bounded(made.valid_for - ahead_of(made)), stored || mine.valid()};
}

// One that cannot be used would be replaced at once, again and again.
void token_keeper::body::require_use(const credential& made, const std::string& refused) const {
    if (!refused.empty() && made.value == refused)
        throw credential_rejected(patterns::called(pattern, name) +
                                  ": the provider issued the refused credential again");
    if (made.valid_for > made.valid_for.zero() && made.valid_for > ahead_of(made)) return;
    patterns::refuse_option(pattern, name,
                            "the provider issued a credential that is to be replaced at once; see "
                            "credential::valid_for and keeper_options::ahead");
}

void token_keeper::body::in_vain(const refreshed& last) const {
    const std::string times = std::to_string(most_refreshes);
    throw error(errc::lost,
                patterns::called(pattern, name) + ": " +
                    (last.in_time ? "the storage has lost each of the " + times + " credentials that were just stored"
                                  : "this caller has refreshed " + times +
                                        " times, and others took over because it took longer than "
                                        "keeper_options::refresh_within; set it longer than a refresh takes"));
}

token_keeper::token_keeper(client& locks, fenced_storage& storage, std::string name, refresh ask,
                           keeper_options options)
    : body_(nullptr) {
    patterns::require_tokens(locks, body::pattern, name);
    patterns::require_shared(locks, body::pattern, name);
    if (!ask) patterns::refuse_option(body::pattern, name, "it needs a function that refreshes");
    patterns::require_name(locks, body::pattern, name, name);
    patterns::require_lease(locks, options.refresh_within, "refresh_within", body::pattern, name);
    patterns::require_wait(options.wait, body::pattern, name);
    if (options.ahead && *options.ahead < options.ahead->zero())
        patterns::refuse_option(body::pattern, name, "ahead must not be negative");
    body_.reset(
        new body{.locks = locks, .storage = storage, .name = std::move(name), .how = options, .ask = std::move(ask)});
}

token_keeper::~token_keeper() = default;

token_keeper::use_of token_keeper::begin(const std::string& refused) {
    patterns::refuse_reentry(body_->locks, body_->name, body::pattern, body_->name, {});
    auto entered = std::make_shared<patterns::inside>(body_->locks, body_->name);
    std::optional<body::refreshed> last;
    for (int lost = 0;;) {
        hold shared = body_->in_use.acquire_shared({.wait = body_->how.wait});
        if (auto value = body_->good(refused)) return {std::move(entered), std::move(shared), *std::move(value)};
        lost += last && boot_clock::now() < last->good_until;
        shared.release();
        if (lost == most_refreshes) body_->in_vain(*last);
        last = body_->replace(refused);
    }
}

}  // namespace mortise::inline v0
