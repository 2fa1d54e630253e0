// One refresher for a credential that expires.
#pragma once

#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/patterns/fenced_storage.hpp>
#include <mortise/shared_mutex.hpp>
#include <mortise/unique_function.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace mortise::inline v0 {

// What a provider issued.
struct credential {
    std::string value{};
    std::chrono::nanoseconds valid_for{};
};

// Thrown by a use to say that the provider refused the credential.
struct credential_rejected : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct keeper_options {
    // How long before its end a credential is replaced. Unset: a tenth of its validity.
    std::optional<std::chrono::nanoseconds> ahead{};

    // A refresh that takes longer is taken over, by another thread of this process too: it may then be called twice at once.
    std::chrono::nanoseconds refresh_within = std::chrono::seconds{30};

    // How long a use waits for somebody else's refresh, and a refresh for all uses of the old one. Unset: for ever. Then
    // errc::timed_out is thrown.
    std::optional<std::chrono::nanoseconds> wait{};
};

// For an access token that all share, that expires, and that a second refresh would void: one process in the fleet refreshes
// it, and only while nobody is using the old one.
//
//     mortise::token_keeper keeper{locks, storage, "wechat", [&] { return ask_provider(); }};
//     keeper.use([&](const std::string& token) { send(message, token); });
//
// A use has a shared hold, a refresh an exclusive one. A refresher that dies after the provider has answered leaves a token
// that nobody knows and an old one that may be void: the storage then says that a change was under way, the old one is not
// used, and the next caller refreshes. Age is measured by the storage's clock, so clocks of the fleet do not matter.
//
// Needs a store with fencing tokens and shared locks; the constructor throws errc::unsupported otherwise. All members may
// be called from any thread. The client and the storage must outlive it.
//
// When not to use it: docs/token_keeper.md.
class MORTISE_API token_keeper {
public:
    using refresh = unique_function<credential()>;

    token_keeper(client& locks, fenced_storage& storage, std::string name, refresh ask, keeper_options options = {});
    ~token_keeper();
    token_keeper(const token_keeper&) = delete;
    token_keeper& operator=(const token_keeper&) = delete;

    // Calls `work` with a credential that nobody replaces meanwhile. If it throws credential_rejected, once more with a
    // new one. Returns what it returns. Neither `work` nor the refresh may call use() of the same name (would_deadlock): a
    // refresh between the two would wait for the outer one, and the inner one for the refresh.
    template <class Work>
    auto use(Work&& work) {
        std::string refused;
        {
            const use_of now = begin(refused);
            try {
                return work(now.value);
            } catch (const credential_rejected&) {
                refused = now.value;
            }
        }
        const use_of again = begin(refused);
        return work(again.value);
    }

private:
    struct use_of {
        std::shared_ptr<const void> entered;  // this thread, until it ends
        hold shared;
        std::string value;
    };
    use_of begin(const std::string& refused);

    struct body;
    std::unique_ptr<body> body_;
};

}  // namespace mortise::inline v0
