// What a client is made of: it turns calls into claims, claims into grants, and keeps grants alive.
//
//   engine --> requester          asks for claims, repeats, renews; runs what the table decides
//          --> releaser           ends holds
//          --> deadlock_detector  watches calls that block
//          --> store_queries      list, renew, break, check
//   and these use claim_table (all decisions), claim_policy, lease and notifications.
#pragma once

#include "core/claim_policy.hpp"
#include "core/claim_table.hpp"
#include "core/deadlock_detector.hpp"
#include "core/hold_keeper.hpp"
#include "core/loss_listeners.hpp"
#include "core/notifications.hpp"
#include "core/pending_reply.hpp"
#include "core/release_log.hpp"
#include "core/releaser.hpp"
#include "core/requester.hpp"
#include "core/store_link.hpp"
#include "core/store_queries.hpp"
#include "core/watchdog.hpp"

#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/audit.hpp>
#include <mortise/spi/client.hpp>
#include <mortise/spi/store.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0::core {

class io_clock;
class notifier_thread;

// Who calls, if it is somebody that may hold other locks while it is blocked: a thread, or an explicit owner.
struct called_by {
    owner_key who = 0;
    reentry* frames = nullptr;  // where its locks are noted; outlives the call
};

// One class because it is where a client's parts meet: calls come in from the layers above and events from the store, and each is
// passed on in a line.
class engine final : public spi::events, public hold_keeper, public std::enable_shared_from_this<engine> {
    struct pass {};  // only make() may construct

public:
    static std::shared_ptr<engine> make(const spi::store_factory& store, spi::world around, client_options options,
                                        std::string shown_as);
    engine(pass, const spi::store_factory& store, spi::world around, client_options options, std::string shown_as);
    ~engine() override;

    // `done` is called exactly once, from any thread, possibly before start returns. Throws for invalid arguments.
    // `wait_slot` is where the caller sleeps meanwhile, if it does (spi::sleeper).
    void start(claim wanted, unique_function<void(attempt)> done,
               const std::shared_ptr<claimant>& instead_of = nullptr);

    // Blocks. `instead_of`: a hold on the same name that the new one takes the place of when it is granted.
    attempt acquire(claim wanted, const std::shared_ptr<claimant>& instead_of = nullptr);
    // For claims that are made again and again, and were checked once.
    attempt acquire(settled_claim wanted, std::optional<spi::duration> wait, const called_by& by = {},
                    const std::shared_ptr<claimant>& instead_of = nullptr);

    // Ends a hold and keeps its grant, without a request; takes what was kept. False: not possible, nothing has happened.
    bool keep(claimant& call) noexcept;
    bool take_again(claimant& call) noexcept;

    void renew_early(const claimant& call) { requester_.renew_early(call.cohort); }  // and does not wait for the answer

    // hold_keeper, and the same by id.
    release_result release(const std::shared_ptr<claimant>& call, std::error_code& ec) noexcept override;
    release_result release(std::string_view name, const claim_id& id, std::error_code& ec) noexcept;
    void start_release(const std::shared_ptr<claimant>& call, release_completion done) override;
    void start_release(std::string_view name, const claim_id& id, release_completion done);
    void drop(const std::shared_ptr<claimant>& call) noexcept override;
    std::stop_token lost_token(claimant& call) override;
    void on_lost(const std::shared_ptr<claimant>& call, unique_function<void()> listener) override;
    bool forked() const noexcept override { return link_.forked(); }
    spi::clock& clock() const noexcept override { return *clock_; }
    core::notifications& notifications() const noexcept override { return *notifications_; }
    const std::string& shown_as() const noexcept override { return policy_.shown_as(); }

    void close() noexcept;

    spi::store& store() noexcept { return *store_; }
    const claim_policy& policy() const noexcept { return policy_; }
    store_queries& queries() noexcept { return queries_; }
    std::shared_ptr<store_link> link() { return {shared_from_this(), &link_}; }

    // For audits (spi/audit.hpp).
    std::vector<spi::admitted_claim> admitted();

    // spi::events
    void granted(std::string_view name, const claim_id& id, const spi::grant& given) override;
    void lost(std::string_view name, const claim_id& id) override;
    void wanted(std::string_view name, const claim_id& id) override;
    void reconnected() override;

private:
    void start(settled_claim wanted, std::optional<spi::duration> wait, unique_function<void(attempt)> done,
               std::uint32_t wait_slot, const std::shared_ptr<claimant>& instead_of, const called_by& by);

    const client_options options_;
    const std::string host_;
    io_clock* own_clock_ = nullptr;  // set when clock_ is ours to stop; likewise the notifier
    notifier_thread* own_notifier_ = nullptr;
    const std::shared_ptr<spi::clock> clock_;
    const std::shared_ptr<spi::notifier> notifier_;
    const std::unique_ptr<spi::store> store_;
    std::atomic<bool> awake_{false};  // the io thread has been started

    const claim_policy policy_;
    const std::shared_ptr<core::notifications> notifications_;
    store_link link_;
    const std::shared_ptr<watchdog> watchdog_;
    const std::shared_ptr<pending_replies> replies_;
    release_log releases_;
    claim_table table_;
    loss_listeners listeners_;
    requester requester_;
    releaser releaser_;
    store_queries queries_;
    deadlock_detector detector_;
};

// How the other layers reach the engine behind a client.
struct access {
    static const std::shared_ptr<engine>& engine_of(const client& c) noexcept { return c.engine_; }
    static const std::shared_ptr<reentry>& frames_of(const client& c) noexcept { return c.frames_; }
    static client wrap(std::shared_ptr<engine> e) { return client{std::move(e)}; }
};

}  // namespace mortise::inline v0::core
