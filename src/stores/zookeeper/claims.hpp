// The claims of a client: how each becomes a node, waits, holds and goes.
#pragma once

#include "base/line.hpp"
#include "stores/zookeeper/line_reader.hpp"
#include "stores/zookeeper/names.hpp"
#include "stores/zookeeper/session.hpp"
#include "stores/zookeeper/session_keepalive.hpp"
#include "stores/zookeeper/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::zookeeper {

// Calls that are made once no lock of the store's is held.
class deferred_calls {
public:
    template <class Call>
    void operator()(Call&& call) {
        calls_.emplace_back(std::forward<Call>(call));
    }
    ~deferred_calls() {
        for (auto& call : calls_) call();
    }

private:
    std::vector<spi::task> calls_;
};

// A claim of ours, from its first request to its last.
//
//   claim -> [survey] -> enter -> look ---> holds        A node is made at the end of the line, the line is read, and judged.
//               ^          ^       ^ |                    Survey: reads it first, for who does not wait, and for whom a reply
//               |          |       | v                    to `enter` was lost: the node may be there.
//               +-- lost --+      waits  (watches)
//
// `busy` says that requests are under way; what comes meanwhile is done after them (proceed).
struct node_claim {
    std::string name;
    std::string line;  // the path of its nodes' parent
    std::string data;
    claim_id id{};
    std::uint32_t capacity = 1;
    std::uint32_t weight = 1;
    claim_id instead_of{};
    std::optional<spi::duration> lease{};
    bool renewed = true;
    bool queue = false;

    std::string node{};         // its path; empty: there is none that we know of
    std::uint64_t counter = 0;  // of the node
    bool unsure = false;        // there may be one that we do not know of
    bool busy = false;
    bool again = false;  // something has changed since
    bool queued = false;
    bool held = false;
    bool watched = false;         // while it is held
    bool leaving = false;         // the node is to go
    bool being_replaced = false;  // perhaps: another claim of ours takes its place
    bool ended = false;           // by its lease, or by others
    bool removal_unsure = false;  // the node may be gone by our own doing
    spi::time_point until{};      // when it is held: nobody counts on it after
    std::vector<spi::reply<spi::claim_answer>> asked{};
    std::vector<spi::reply<spi::release_answer>> released{};
};
using claim_ptr = std::shared_ptr<node_claim>;

inline base::line_entry line_entry_of(const node_claim& claim) {
    return {.id = claim.id, .capacity = claim.capacity, .weight = claim.weight, .instead_of = claim.instead_of};
}

// The verbs of the store that are about one claim. Until the session is closed it calls back here.
class claims final : public session_listener {
public:
    claims(const settings& settings, const naming& names, const spi::context& context, session& servers)
        : settings_(settings), names_(names), context_(context), servers_(servers) {
        keepalive_.on_heartbeat([this](spi::time_point now) { expire_unrenewed(now); });
    }

    void claim(const spi::claim_request&, spi::reply<spi::claim_answer>);
    void renew(std::span<const spi::renewal>, spi::reply<std::vector<spi::renewal_answer>>);
    void release(std::string_view name, const claim_id&, spi::reply<spi::release_answer>);
    std::optional<spi::duration> session_timeout() const { return keepalive_.timeout(); }  // none: there is no session
    void close() noexcept;                                                                 // after the session's

private:
    using listed = unique_function<void(const request_status&, const line_listing&, deferred_calls&)>;

    void session_started(std::int64_t id, spi::time_point requested_at, spi::duration timeout) override;
    void session_reconnected(spi::duration timeout) override;
    void session_expired() override;
    void node_changed(const std::string& path) override;

    // With mutex_ held.
    void nudge();
    void list(const claim_ptr& claim, bool synced, listed then);
    void proceed(const claim_ptr& claim, deferred_calls& say);
    void read_line(const claim_ptr& claim, listed then);
    void survey(const claim_ptr& claim);
    void enter(const claim_ptr& claim);
    void make_parents(const claim_ptr& claim);
    void adopt(const claim_ptr& claim, const std::string& node);
    void look(const claim_ptr& claim);
    void judge(const claim_ptr& claim, const line_listing& line, deferred_calls& say);
    void exchange(const claim_ptr& claim, const base::line_verdict& verdict, std::span<const node_name> line,
                  const node_stat& floor);
    void exchanged(const claim_ptr& claim);
    void not_exchanged(const claim_ptr& claim);
    void stamp(const claim_ptr& claim, const node_stat& floor);
    void wait(const claim_ptr& claim, const base::line_verdict& verdict, const line_listing& line);
    bool is_leaving(const claim_id& id) const;
    bool only_leavers_before(const claim_ptr& claim, std::span<const node_name> line) const;
    void watch(const claim_ptr& claim, const std::string& node);
    void grant(const claim_ptr& claim, deferred_calls& say);
    void step_back(const claim_ptr& claim, spi::claim_answer because, deferred_calls& say);
    void vanished(const claim_ptr& claim, deferred_calls& say);
    void failed(const claim_ptr& claim, const request_status& status, deferred_calls& say);
    void answer(const claim_ptr& claim, const spi::claim_answer& what, deferred_calls& say);
    void leave(const claim_ptr& claim);
    void left(const claim_ptr& claim, spi::release_answer reply, deferred_calls& say);
    void find_out_who_holds(const claim_ptr& claim);
    void release_another(const claim_ptr& claim);
    void expire(const claim_ptr& claim);
    void remember(const claim_id& id, spi::release_answer reply);
    spi::grant grant_of(const node_claim& claim) const;

    void expire_unrenewed(spi::time_point now);
    void watch_holds_later();
    void confirm(const claim_ptr& claim);
    bool took_a_place(std::string_view node) const {
        const auto read = names_.read(node.substr(node.rfind('/') + 1));
        return read && read->entry.place != 0;
    }
    claim_ptr known(const claim_id& id) const;

    const settings& settings_;
    const naming& names_;
    const spi::context& context_;
    session& servers_;
    session_keepalive keepalive_{servers_, context_.clock};
    line_reader lines_{names_, servers_};
    std::atomic<bool> closed_{false};

    mutable std::mutex mutex_;
    spi::time_point nudged_{};
    bool watching_holds_ = false;
    std::unordered_map<claim_id, claim_ptr> entries_;
    std::unordered_multimap<std::string, claim_id> watches_;  // node -> who waits for news of it
    struct memory {
        spi::release_answer reply;
        spi::time_point until;
    };
    std::unordered_map<claim_id, memory> released_;
    spi::time_point tidied_{};
};

}  // namespace mortise::inline v0::stores::zookeeper
