// The claims of a client: what is asked for them, and what follows from the answers.
//
//   claim --> a lease --> enter the line --> judge what was read (base/line.hpp)
//                              ^                |- holds: granted
//                              |                |- waits: watch those that judge() names
//                              +-- look again <-+    one of them has gone
//
// A claim's key is written by one transaction, which also reads the line; so a free lock is taken in one trip. Whoever was
// woken reads the line once more, and finds its own key there or does not. Of a long line it reads what is near, and the
// whole only if that does not tell. The verbs are in entering.cpp, waiting.cpp, granting.cpp,
// leaving.cpp, keeping.cpp, exchanging.cpp and listing.cpp.
#pragma once

#include "stores/etcd/leases.hpp"
#include "stores/etcd/members.hpp"
#include "stores/etcd/names.hpp"
#include "stores/etcd/requests.hpp"
#include "stores/etcd/settings.hpp"
#include "stores/etcd/watcher.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::etcd {

// One claim, from its first request to its release. Guarded by the desk's mutex, but for what never changes.
struct claim_record {
    std::string name;
    claim_id id;       // as the core knows it
    claim_id line_id;  // as the line has it
    place at;
    std::optional<unsigned> slot{};  // the number of its key, if that is used again
    entry mine;                      // what is written
    spi::duration life{};            // as asked for
    bool own_lease = false;          // it needs one to itself
    bool renewed = true;
    bool detached = false;

    enum class phase { asking, waiting, held, over };
    phase is = phase::asking;
    bool queue = false;
    std::shared_ptr<lease> on{};
    bool entered = false;       // its key was seen in the line
    std::int64_t seen_at = 0;   // the revision at which it was
    std::uint64_t arrived = 0;  // and at which it came
    int to_enter = 0;           // requests to enter it that are not answered yet
    int entering = 0;           // of these, those that are on their way
    bool in_doubt = false;      // one of these ended without an answer, so may still arrive
    bool kept_out = false;      // and will do nothing: the claim is marked as gone, or the lease has ended
    bool releasing = false;     // a release waits for its turn, or for its answer
    bool was_held = false;
    bool leave_in_doubt = false;   // the same of a release
    bool leaving = false;          // a release is on its way that does not look at what it deletes
    int waited_for_ourselves = 0;  // how often it found only claims of ours that are leaving
    bool few_wait = false;         // in its line
    int asked_looks = 0;           // looks for the core that are on their way
    bool looking = false;
    bool look_again = false;
    bool exchanging = false;                                       // a request to take a hold's place is on its way
    bool withdrawing = false;                                      // it is to be in the line no longer
    bool being_replaced = false;                                   // perhaps: another claim of ours takes its place
    std::vector<spi::reply<spi::claim_answer>> asked_meanwhile{};  // while exchanging
    std::vector<watcher::number> watches{};
    std::vector<claim_id> watched{};  // while it waits: whose keys these are on
    // While it waits in a long line: these need be there, itself the first, for nothing to have changed.
    struct neighbour {
        std::string key;
        std::uint64_t created;
    };
    std::vector<neighbour> neighbours{};
    spi::standing standing{};  // as it was read
    spi::time_point read_at{};

    // A late request would put its key on a lease that lives on for others.
    bool may_come_back() const { return (entering > 0 || in_doubt) && !kept_out && on && !own_lease; }
};

class desk : public std::enable_shared_from_this<desk> {
public:
    desk(settings how, const spi::context& around);

    void start();  // once it is shared

    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done);
    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done);
    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done);
    void list(spi::reply<spi::listing> done);
    void break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done);
    void close() noexcept;

    const std::shared_ptr<members>& cluster() const { return cluster_; }

private:
    using record = std::shared_ptr<claim_record>;
    using claimed = spi::reply<spi::claim_answer>;
    struct renewal_round;
    struct survey;

    unsigned take_slot(const std::string& name);
    record record_of(const spi::claim_request& wanted);
    place place_of(std::string_view name, const claim_id& id, std::optional<unsigned> slot = {}) const;
    claim_id line_id_of(const claim_id& id) const;

    // entering
    members::made_late while_wanted(const record& who, std::string request);
    std::optional<claim_record::neighbour> tail_of(const claim_record& who);
    void entered_behind(const record& who, const claim_record::neighbour& tail, const txn_said& read, claimed done);
    void enter(const record& who, claimed done);
    void look_before_entering(const record& who, int tries, claimed done);
    bool only_we_are_in_the_way(const record& who, const line& found);
    void with_lease(const record& who, entering how, std::int64_t read_at, claimed done);
    void send_entry(const record& who, entering how, std::int64_t read_at, int tries, claimed done);
    void try_to_enter(const record& who, const line& found, int tries, claimed done);

    // waiting
    enum class extent { near, whole };
    void peek(const record& who, claimed done);
    void look(const record& who, extent how_much, claimed done);
    void looked(const record& who, const outcome& said, std::optional<line> found, claimed done);
    void glance(const record& who);
    void look_soon(const record& who);
    void conclude(const record& who, const line& found, claimed done);
    void wait_in(const record& who, const line& found, const base::line_verdict& judged, claimed done);
    void note_neighbours(const record& who, const line& found, const base::line_verdict& judged);
    void watch_for(const record& who, const line& found, const base::line_verdict& judged);
    void add_watch(const record& who, claim_record::phase while_it_is, watcher::number made);
    void woken(const record& who);

    // granting
    void grant(const record& who, std::uint64_t counter, claimed done);
    void granted(const record& who, std::uint64_t counter, claimed done);
    void thrown_out(const record& who);
    void withdraw(const record& who, spi::claim_answer then, claimed done);
    void drop(const record& who);
    spi::standing standing_of(const line& found, const base::line_verdict& judged);
    mortise::holder holder_of(const entry& who);

    // exchanging
    void exchange(const record& who, const line& found, const base::line_verdict& judged, claimed done);
    void exchanged(const record& who, const outcome& said, const txn_said& read, std::vector<claimed> asked);
    void replaced(const record& who);
    void not_replaced(const record& who);
    void stamp(const record& who, const line& found, claimed done);
    void wipe_floor(const record& who);
    static spi::claim_answer of_another_kind(const claim_record& who, const base::line_verdict& judged);
    static std::uint64_t counter_of(const txn_said& written);

    // leaving
    struct pending_release {
        std::string name;
        claim_id id;
        record who;
        spi::reply<spi::release_answer> done;
    };
    void send_releases();
    bool may_leave_in_company(const claim_record& who) const;
    void leave_alone(pending_release one);
    void leave_together(std::vector<pending_release> some);
    void leave(std::string_view name, const claim_id& id, const record& who, bool mark,
               spi::reply<spi::release_answer> done);
    void left(const std::string& name, const claim_id& id, const record& who, const txn_said& read,
              spi::reply<spi::release_answer> done);
    void take_away(const std::string& name, const claim_id& id, const record& who, const entry& its,
                   spi::reply<spi::release_answer> done);
    void end_leaving(const std::string& name, const claim_id& id, const record& who, spi::release_answer said,
                     spi::reply<spi::release_answer> done);
    void mark_as_released(const claim_id& id, unique_function<void()> then);
    void kept_out(const record& who);
    void keep_out(const record& who);
    void retire(const std::shared_ptr<lease>& which);
    void revoke_when_unused(const std::shared_ptr<lease>& which);
    void remember(const std::string& name, const claim_id& id, spi::release_answer said);
    bool was_released(std::string_view name, const claim_id& id);
    std::optional<spi::release_answer> remembered(std::string_view name, const claim_id& id);

    // keeping
    void lease_gone(const std::shared_ptr<lease>& which);
    void watch_holds_soon();
    void watch_holds();
    void hold_gone(const record& who);
    void extend(std::string name, const claim_id& id, spi::duration life,
                unique_function<void(spi::renewal_answer)> then);
    void keep_or_move(const entry& its, spi::duration life, const claim_id& id,
                      unique_function<void(spi::renewal_answer)> then);
    void move_to_longer(entry found, spi::duration life, const claim_id& id,
                        unique_function<void(spi::renewal_answer)> then);

    const settings how_;
    const spi::context around_;
    const key_layout keys_{how_};
    const std::shared_ptr<members> cluster_;
    std::shared_ptr<lease_book> leases_;
    std::shared_ptr<watcher> watcher_;

    const std::string me_ = claim_id::random().hex().substr(0, 16);

    std::mutex mutex_;
    std::unordered_map<claim_id, record> claims_;
    std::unordered_map<std::string, std::set<unsigned>> slots_;           // that are taken, by name
    std::unordered_map<std::string, std::weak_ptr<claim_record>> tails_;  // the last of ours in a long line, by name
    std::unordered_set<std::string> floors_;                              // names beside whose lines one was seen
    std::vector<std::weak_ptr<claim_record>> unwatched_;                  // held, and their keys are not watched yet
    bool watching_soon_ = false;
    struct ended_claim {
        std::optional<spi::release_answer> said;  // unless it is still on its way
        spi::time_point until;
    };
    using named_id = std::pair<claim_id, std::string>;
    struct by_id {
        std::size_t operator()(const named_id& one) const noexcept { return std::hash<claim_id>{}(one.first); }
    };
    std::unordered_map<named_id, ended_claim, by_id> ended_;
    std::size_t sweep_at_ = 1000;
    std::deque<pending_release> releases_;  // that wait for those on their way to be answered
    std::size_t releases_under_way_ = 0;    // some of them of several claims
    std::size_t most_together_ = 60;        // and two operations each: etcd allows 128, unless told otherwise
    bool closed_ = false;
};

}  // namespace mortise::inline v0::stores::etcd
