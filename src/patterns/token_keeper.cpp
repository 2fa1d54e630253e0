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
    one.valid_for = nanoseconds{life};
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
    std::optional<boot_clock::time_point> replace(const std::string& refused);
    void require_use(const credential& made, const std::string& refused) const;
};

// The credential, if it is neither the one that was refused, nor too old, nor being replaced.
std::optional<std::string> token_keeper::body::good(const std::string& refused) const {
    const std::optional<fenced_storage::entry> found = storage.read(key_of());
    if (!found || !found->settled) return std::nullopt;
    credential one = unpacked_credential(found->bytes);
    if (found->age >= one.valid_for - ahead_of(one) || (!refused.empty() && one.value == refused)) return std::nullopt;
    return std::move(one.value);
}

// When it has the lock, nobody uses the old one. From the seal on nobody will, whatever becomes of this process. Returns until when
// the new one is good; nothing: the provider was not asked.
std::optional<boot_clock::time_point> token_keeper::body::replace(const std::string& refused) {
    const hold mine = replacing.acquire();
    if (good(refused)) return std::nullopt;  // somebody else was faster
    if (!storage.seal(key_of(), mine.token())) {
        if (mine.valid()) patterns::seal_is_ahead(pattern, name, key_of());
        return std::nullopt;
    }
    const credential made = ask();
    const boot_clock::time_point made_at = boot_clock::now();
    static_cast<void>(
        storage.write(key_of(), mine.token(), packed_credential(made), made.valid_for));  // refused: look again
    require_use(made, refused);
    return made_at + detail::bounded(made.valid_for - ahead_of(made));
}

// One that cannot be used would be replaced at once, again and again.
void token_keeper::body::require_use(const credential& made, const std::string& refused) const {
    if (!refused.empty() && made.value == refused)
        throw credential_rejected("token_keeper '" + name + "': the provider issued the refused credential again");
    if (made.valid_for > made.valid_for.zero() && made.valid_for > ahead_of(made)) return;
    throw error(errc::invalid_option, "token_keeper '" + name +
                                          "': the provider issued a credential that is to be replaced at once; see "
                                          "credential::valid_for and keeper_options::ahead");
}

token_keeper::token_keeper(client& locks, fenced_storage& storage, std::string name, refresh ask,
                           keeper_options options)
    : body_(nullptr) {
    patterns::require_tokens(locks, body::pattern, name);
    patterns::require_shared(locks, body::pattern, name);
    if (!ask) throw error(errc::invalid_option, "token_keeper '" + name + "' needs a function that refreshes");
    patterns::require_lease(options.refresh_within, "refresh_within", body::pattern, name);
    if (options.ahead && *options.ahead < options.ahead->zero())
        throw error(errc::invalid_option, "token_keeper '" + name + "': ahead must not be negative");
    body_.reset(
        new body{.locks = locks, .storage = storage, .name = std::move(name), .how = options, .ask = std::move(ask)});
}

token_keeper::~token_keeper() = default;

token_keeper::use_of token_keeper::begin(const std::string& refused) {
    std::optional<boot_clock::time_point> good_until;
    for (int lost = 0;;) {
        hold shared = body_->in_use.acquire_shared();
        if (auto value = body_->good(refused)) return {std::move(shared), *std::move(value)};
        lost += good_until && boot_clock::now() < *good_until;
        shared.release();
        if (lost == most_refreshes)
            throw error(errc::lost, "token_keeper '" + body_->name +
                                        "': the storage has lost each of the credentials that were just stored");
        good_until = body_->replace(refused);
    }
}

}  // namespace mortise::inline v0
