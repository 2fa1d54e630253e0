// The claims of a client: how each becomes a node, waits, holds and goes.
#pragma once

#include "base/line.hpp"
#include "stores/zookeeper/names.hpp"
#include "stores/zookeeper/onlooker.hpp"
#include "stores/zookeeper/session.hpp"
#include "stores/zookeeper/session_window.hpp"
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

// What is said once no lock of the store's is held.
class later {
public:
    template <class What>
    void operator()(What&& what) {
        all_.emplace_back(std::forward<What>(what));
    }
    ~later() {
        for (auto& one : all_) one();
    }

private:
    std::vector<spi::task> all_;
};

// A claim of ours, from its first request to its last.
//
//   claim -> [survey] -> enter -> look ---> holds        A node is made at the end of the line, the line is read, and judged.
//               ^          ^       ^ |                    Survey: reads it first, for who does not wait, and for whom a reply
//               |          |       | v                    to `enter` was lost: the node may be there.
//               +-- lost --+      waits  (watches)
//
// `looking` says that requests are under way; what comes meanwhile is done after them (proceed).
struct entry {
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
    bool looking = false;
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
using entry_ptr = std::shared_ptr<entry>;

inline base::line_entry line_entry_of(const entry& e) {
    return {.id = e.id, .capacity = e.capacity, .weight = e.weight, .instead_of = e.instead_of};
}

// The verbs of the store that are about one claim. Until the session is closed it calls back here.
class claims final : public session::listener {
public:
    claims(const settings& how, const naming& names, const spi::context& around, session& servers, onlooker& others)
        : how_(how), names_(names), around_(around), servers_(servers), others_(others) {}

    void claim(const spi::claim_request&, spi::reply<spi::claim_answer>);
    void renew(std::span<const spi::renewal>, spi::reply<std::vector<spi::renewal_answer>>);
    void release(std::string_view name, const claim_id&, spi::reply<spi::release_answer>);
    std::optional<spi::duration> session_timeout() const;  // none: there is no session
    void close() noexcept;                                 // after the session's

private:
    // A line as it was read once, for all who look at it.
    struct line_seen {
        std::vector<node_name> nodes{};
        base::judged_line verdicts{entries_of(nodes)};
        node_stat floor{};

        const node_name* find(const claim_id& id) const {
            const auto at = verdicts.index_of(id);
            return at ? &nodes[*at] : nullptr;
        }
    };
    using listed = unique_function<void(const outcome&, const line_seen&, later&)>;

    void begun(std::int64_t id, spi::time_point asked, spi::duration timeout) override;
    void back(spi::duration timeout) override;
    void ended() override;
    void touched(const std::string& path) override;

    // With mutex_ held.
    void nudge();
    void list(const std::string& line, bool synced, listed then);
    void send_listing(const std::string& line);
    void proceed(const entry_ptr& e, later& say);
    void read_line(const entry_ptr& e, unique_function<void(const outcome&, const line_seen&, later&)> then);
    void survey(const entry_ptr& e);
    void enter(const entry_ptr& e);
    void make_parents(const entry_ptr& e);
    void adopt(const entry_ptr& e, const std::string& node);
    void look(const entry_ptr& e);
    void judge(const entry_ptr& e, const line_seen& line, later& say);
    void exchange(const entry_ptr& e, const base::line_verdict& said, std::span<const node_name> line,
                  const node_stat& floor);
    void exchanged(const entry_ptr& e);
    void not_exchanged(const entry_ptr& e);
    void stamp(const entry_ptr& e, const node_stat& floor);
    void wait(const entry_ptr& e, const base::line_verdict& said, const line_seen& line);
    bool is_leaving(const claim_id& id) const;
    bool only_leavers_before(const entry_ptr& e, std::span<const node_name> line) const;
    void watch(const entry_ptr& e, const std::string& node);
    void grant(const entry_ptr& e, later& say);
    void step_back(const entry_ptr& e, spi::claim_answer because, later& say);
    void vanished(const entry_ptr& e, later& say);
    void failed(const entry_ptr& e, const outcome& how, later& say);
    void answer(const entry_ptr& e, const spi::claim_answer& what, later& say);
    void leave(const entry_ptr& e);
    void left(const entry_ptr& e, spi::release_answer how, later& say);
    void find_out_who_holds(const entry_ptr& e);
    void release_another(const entry_ptr& e);
    void expire(const entry_ptr& e);
    void remember(const claim_id& id, spi::release_answer how);
    spi::grant grant_of(const entry& e) const;

    void beat();
    void beat_later();
    void watch_holds_later();
    void confirm(const entry_ptr& e);
    bool took_a_place(std::string_view node) const {
        const auto read = names_.read(node.substr(node.rfind('/') + 1));
        return read && read->entry.place != 0;
    }
    entry_ptr known(const claim_id& id) const;

    const settings& how_;
    const naming& names_;
    const spi::context& around_;
    session& servers_;
    onlooker& others_;
    std::atomic<bool> closed_{false};

    mutable std::mutex mutex_;
    session_window window_;
    std::int64_t session_ = 0;  // 0: none
    spi::clock::timer_id beating_ = 0;
    spi::time_point nudged_{};
    bool watching_holds_ = false;
    std::unordered_map<claim_id, entry_ptr> entries_;
    // Listings of a line: one is under way, and what was asked for since waits for the next.
    struct listing {
        bool synced = false;
        std::vector<listed> next{};
    };
    std::unordered_map<std::string, listing> listings_;
    std::unordered_multimap<std::string, claim_id> watches_;  // node -> who waits for news of it
    struct memory {
        spi::release_answer how;
        spi::time_point until;
    };
    std::unordered_map<claim_id, memory> released_;
    spi::time_point tidied_{};
};

}  // namespace mortise::inline v0::stores::zookeeper
