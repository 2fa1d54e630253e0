// Asks the store: for claims, again when it does not answer, and for renewals. Runs what the claim table decides.
#pragma once

#include "core/claim_table.hpp"
#include "core/loss_listeners.hpp"
#include "core/release_request.hpp"
#include "core/store_link.hpp"

#include <mortise/attempt.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::core {

class requester {
public:
    requester(claim_table& table, store_link& link, loss_listeners& listeners, release_log& releases) noexcept
        : table_(table), link_(link), listeners_(listeners), releases_(releases) {}

    // Keeps all of the above alive while it is locked. Called once, before anything else.
    void belong_to(std::weak_ptr<hold_keeper> client) noexcept { client_ = std::move(client); }

    // With no mutex held. Answers the release that was sent, if any.
    std::shared_ptr<release_request> run(actions&& todo);

    // A call's wait is over.
    void answer(claimant& call, attempt result);

    // A call that still waits leaves at its deadline.
    void watch_deadline(const std::shared_ptr<claimant>& call, std::size_t name_hash);
    void give_up(const std::shared_ptr<claimant>& call, std::size_t name_hash, errc why, const std::string& what = {});

    // At everything that is due, with all renewals in one request. Answers when the next is that was not.
    spi::time_point look();
    void renew_early(const std::shared_ptr<cohort>& c);

    // What the store pushes.
    void granted(std::string_view name, const claim_id& id, const spi::grant& given);
    void lost(std::string_view name, const claim_id& id);
    void wanted(std::string_view name, const claim_id& id);
    void reconnected();

    // A release of its own, for the store to answer.
    std::shared_ptr<release_request> release_of(claim_release which, spi::time_point now);
    std::shared_ptr<release_request> release_of(std::string_view name, const claim_id& id, spi::time_point until);

private:
    void ask(const std::shared_ptr<cohort>& c, spi::time_point sent);
    void send(const std::shared_ptr<cohort>& c, const spi::claim_request& wanted, spi::time_point sent);
    void receive(const std::shared_ptr<cohort>& c, spi::time_point sent, bool queues, spi::claim_answer& answer);
    void send_renewals(std::vector<std::shared_ptr<cohort>> claims, spi::time_point sent);
    void confirm(const std::shared_ptr<cohort>& c, spi::time_point sent);
    void verify();
    spi::time_point release_until(const std::optional<spi::duration>& lease, spi::time_point now) const;

    claim_table& table_;
    store_link& link_;
    loss_listeners& listeners_;
    release_log& releases_;
    std::weak_ptr<hold_keeper> client_;
};

}  // namespace mortise::inline v0::core
