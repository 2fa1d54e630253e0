// The claims of a client. Each has a machine that decides (base/queued_claim.hpp); here its actions become requests, and the
// replies its events.
#pragma once

#include "base/ended_claims.hpp"
#include "base/queued_claim.hpp"
#include "stores/zookeeper/deferred_calls.hpp"
#include "stores/zookeeper/keepers.hpp"
#include "stores/zookeeper/line_reader.hpp"
#include "stores/zookeeper/names.hpp"
#include "stores/zookeeper/node_claim.hpp"
#include "stores/zookeeper/session.hpp"
#include "stores/zookeeper/session_keepalive.hpp"
#include "stores/zookeeper/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mortise::inline v0::stores::zookeeper {

// The verbs of the store that are about single claims. Until the session is closed it calls back here.
//
// One class because requests, replies and watches of all claims meet in one table, under one mutex.
class claims final : public session_listener {
public:
    claims(const settings& settings, const naming& names, const spi::context& context, session& servers,
           session_keepalive& keepalive);

    void claim(const spi::claim_request&, spi::reply<spi::claim_answer>);
    void renew(std::span<const spi::renewal>, spi::reply<std::vector<spi::renewal_answer>>);
    void release(std::string_view name, const claim_id&, spi::reply<spi::release_answer>);
    void close() noexcept;  // after the session's

private:
    using machine = base::queued_claim;

    void session_started(std::int64_t id, spi::time_point requested_at, spi::duration timeout) override;
    void session_reconnected(spi::duration timeout) override;
    void session_expired() override;
    void node_changed(const std::string& path) override;

    // All of these with mutex_ held. `line` is the one that was just read, if there is one.
    void run(const claim_ptr& claim, const machine::actions& actions, deferred_calls& later,
             const line_listing* line = nullptr);
    void request(const claim_ptr& claim, const machine::action& action, deferred_calls& later,
                 const line_listing* line);
    void tell(const claim_ptr& claim, const machine::action& action, deferred_calls& later);

    void enter(const claim_ptr& claim, machine::ticket ticket, deferred_calls& later);
    void create_line(const claim_ptr& claim, machine::ticket ticket);
    void read(const claim_ptr& claim, machine::ticket ticket, bool synced);
    void line_read(const claim_ptr& claim, machine::ticket ticket, const line_listing& line, deferred_calls& later);
    void adopt(const claim_ptr& claim, machine::ticket ticket, const std::string& node);
    void describe(const claim_ptr& claim, const machine::action& action, const line_listing& line);
    void exchange(const claim_ptr& claim, const machine::action& action, const line_listing& line);
    void stamp(const claim_ptr& claim, machine::ticket ticket, const line_listing& line);
    void remove(const claim_ptr& claim, machine::ticket ticket);
    void failed(const claim_ptr& claim, machine::ticket ticket, const request_status& status, deferred_calls& later);

    void watch(const claim_ptr& claim, const claim_id& other, const line_listing& line);
    void watch_leavers(const claim_ptr& claim, const line_listing& line);
    void watch_hold(const claim_ptr& claim);
    void watch_kept(const std::string& line, std::vector<claim_id> kept);
    void watch_kept_again(const std::string& line, std::vector<claim_id> kept);
    void tell_keeper(const claim_ptr& claim, deferred_calls& later);
    void watch_holds_later();
    void retry_later(const claim_ptr& claim);
    spi::grant grant_of(node_claim& claim);
    void expire_unrenewed(spi::time_point now);
    claim_ptr known(const claim_id& id) const;

    const settings& settings_;
    const naming& names_;
    const spi::context& context_;
    session& servers_;
    session_keepalive& keepalive_;
    line_reader lines_{names_, servers_};
    keepers keepers_{names_, servers_};
    std::atomic<bool> closed_{false};

    mutable std::mutex mutex_;
    std::unordered_map<claim_id, claim_ptr> claims_;
    std::unordered_multimap<std::string, claim_id> watches_;  // node -> the claims that wait for news of it
    bool watching_holds_ = false;
    // Many: those of all names, and a client can release thousands of locks a second.
    base::ended_claims<std::size_t{1} << 16> released_;
};

}  // namespace mortise::inline v0::stores::zookeeper
