// The claims of a client that have not ended, and what becomes of them.
//
// All decisions are made here, under the mutex of a shard (names are spread over sixteen), and only note in `actions` what
// has to be done. The store, the completions and the user are called after the mutex is dropped: so a store may answer
// before its verb returns, and a completion may call the client again. Time is a parameter: no store, no clock, no thread.
//
//   join    --> in line of a cohort, or a cohort of its own --> ask the store
//   answered -> granted: the first in line holds
//               queued:  a push follows; asked again now and then in case it got lost
//               busy:    those who do not wait are refused; the others ask to be queued, or poll a store that has no queue
//               unknown: asked again with the same id, until `patience` is over
//   release --> the next in line holds, if the grant may be handed over; else the claim is released, and the rest of the
//               line goes on with a new one
//   look    --> renew what is due; what was not renewed by its deadline is lost
//
// An exchange (`instead_of`) that is given up while one of its requests has no answer is *unsettled*: the store may hold the
// old claim or the new one, or exchange them when that request arrives. The old hold stays valid as long as the new claim
// would cover it, whichever the store has:
//
//   unsettled --> the store confirms the old claim --> the new one is released, the old one not valid meanwhile
//             --> released                         --> confirmed once more: valid again
//   and at any time: the old claim is gone, or the new one was granted --> the old hold is lost, the new claim released
//
// A downgrade does not cover what it replaces: from its first request on the old hold is not valid.
#pragma once

#include "core/claim_policy.hpp"
#include "core/cohort.hpp"
#include "core/contests.hpp"
#include "core/event_sink.hpp"
#include "core/look_queue.hpp"
#include "core/release_log.hpp"
#include "core/schedule.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace mortise::inline v0::core {

// A claim that has to be released at the store.
struct claim_release {
    std::shared_ptr<cohort> claim{};
    release_log::ticket ticket{};
    bool settles = false;  // claim_table::left() wants to know when it is answered
};

// What to do once the shard's mutex is dropped, in this order.
struct actions {
    claim_release release{};
    std::shared_ptr<claimant> granted{};
    spi::duration granted_after{};
    std::vector<std::pair<std::shared_ptr<claimant>, refusal>> refused{};
    std::shared_ptr<claimant> lost{};
    std::shared_ptr<cohort> ask{};
    std::optional<spi::claim_request> request{};  // that asks for it, as of `now`; none: it is made when its turn comes
    std::shared_ptr<cohort> confirm{};            // whether the store still has it
    spi::time_point now{};                        // when this was decided, if the store is to be asked as of then
};

// One class because every event of a claim may end it, hand it over or begin its successor, under one mutex.
class claim_table {
public:
    // What is shown of this process to others in line.
    struct process_identity {
        std::string host;
        std::int64_t pid = 0;
    };

    claim_table(const claim_policy& policy, process_identity here, event_sink& events, schedule& when,
                release_log& releases);

    // A call comes in. Not joined: it is over, for this reason, and it and the terms are still the caller's. `instead_of`: a
    // hold that it is to take the place of.
    std::error_code join(std::shared_ptr<claimant>&& call, std::shared_ptr<const claim_terms>&& terms,
                         std::shared_ptr<hold_keeper> keeper, const claimant* instead_of, spi::time_point now,
                         actions& todo);

    // A waiting call gives up: its time is over, or it was cancelled, or `what` is the matter.
    actions leave(const std::shared_ptr<claimant>& call, std::size_t name_hash, errc why, const std::string& what,
                  spi::time_point now);

    // The request for a claim that still waits, counted as sent; its strings are the cohort's.
    std::optional<spi::claim_request> request(cohort& c, spi::time_point sent);
    // The store's verb has returned: if it has not answered, the request is repeated at `due`.
    void requested(const std::shared_ptr<cohort>& c, spi::time_point due);
    // `queues`: the request that is answered asked to be queued.
    actions answered(const std::shared_ptr<cohort>& c, spi::time_point sent, bool queues, spi::claim_answer&& answer,
                     spi::time_point now);

    // Pushes. A grant counts only for a claim that waits for it; false: nobody does.
    bool granted(std::string_view name, const claim_id& id, const spi::grant& given, spi::time_point now,
                 actions& todo);
    actions lost(std::string_view name, const claim_id& id, spi::time_point now);
    // Somebody else asks for it: it is given up when it is idle, and not kept for some time.
    actions wanted(std::string_view name, const claim_id& id, spi::time_point now);
    // It has just been kept.
    void look_after(const std::shared_ptr<cohort>& c);

    // Takes out what is due, and what may join it.
    struct looks {
        std::vector<std::shared_ptr<cohort>> claims{};
        spi::time_point next = spi::time_point::max();  // of those that are not due
    };
    looks due(spi::time_point now);
    // It is due: what is held is renewed (true), what waits is asked for again.
    bool look(const std::shared_ptr<cohort>& c, spi::time_point now, actions& todo);
    // Whether a renewal is to be sent before it is due.
    bool renew_early(const std::shared_ptr<cohort>& c, spi::time_point now);
    actions renewed(const std::shared_ptr<cohort>& c, spi::renewal_answer answer, spi::time_point sent,
                    spi::time_point now);
    // Whether the store still has a hold, asked at `sent`.
    actions confirmed(const std::shared_ptr<cohort>& c, spi::renewal_answer answer, spi::time_point sent,
                      spi::time_point now);
    // The release of an unsettled exchange was answered.
    void left(const std::shared_ptr<cohort>& c, spi::time_point now);

    // The store cannot vouch for what it said before.
    struct doubts {
        std::vector<std::shared_ptr<cohort>> renewing{};  // marked as such
        std::vector<std::shared_ptr<cohort>> fixed{};     // never renewed, or in doubt already
        std::vector<std::shared_ptr<cohort>> waiting{};
        std::vector<claim_release> idle{};  // kept, and somebody may have asked in vain
    };
    doubts doubt_all(spi::time_point now);

    // A hold ends. Without a release to send, `result` is known.
    struct departure {
        actions todo{};
        std::error_code why{};
        release_result result = release_result::released;
        bool silent = false;  // it had ended before: not ours to tell of
        bool was_lost = false;
        spi::duration held_for{};
        std::unique_ptr<claimant::watch> watched{};  // the user's: destroyed without a lock
    };
    departure release(const std::shared_ptr<claimant>& call, spi::time_point now);
    // The handle of a grant that is kept goes.
    actions let_go(const std::shared_ptr<claimant>& call);
    // A detached hold's handle goes, and the claim stays.
    void forget(claimant& call) noexcept;

    // No call joins from now on; nobody waits or holds any longer.
    actions close(spi::time_point now, std::vector<claim_release>& releases);

    std::shared_ptr<claimant> holder_of(std::string_view name, const claim_id& id);

    // Visits every claim with its shard's mutex held.
    void each(const std::function<void(const std::shared_ptr<cohort>&)>& visit);

    // Guards the cohorts and claimants of names with this hash.
    std::mutex& mutex_of(std::size_t name_hash) noexcept { return shard_of(name_hash).mutex; }

private:
    struct by_id {
        using is_transparent = void;
        std::size_t operator()(const claim_id& id) const noexcept { return std::hash<claim_id>{}(id); }
        std::size_t operator()(const std::shared_ptr<cohort>& c) const noexcept { return (*this)(c->id); }
        bool operator()(const auto& a, const auto& b) const noexcept { return key(a) == key(b); }
        static const claim_id& key(const claim_id& id) noexcept { return id; }
        static const claim_id& key(const std::shared_ptr<cohort>& c) noexcept { return c->id; }
    };
    struct name_key {
        std::string_view name;
        std::size_t hash;

        explicit name_key(std::string_view n) noexcept : name(n), hash(std::hash<std::string_view>{}(n)) {}
        explicit name_key(const claim_terms& t) noexcept : name(t.name), hash(t.name_hash) {}
        explicit name_key(const std::shared_ptr<cohort>& c) noexcept : name_key(c->terms) {}
    };
    struct by_name {
        using is_transparent = void;
        std::size_t operator()(const name_key& k) const noexcept { return k.hash; }
        std::size_t operator()(const std::shared_ptr<cohort>& c) const noexcept { return c->terms.name_hash; }
        bool operator()(const auto& a, const auto& b) const noexcept { return name_key(a).name == name_key(b).name; }
    };
    // Every cohort that has not ended is in one of the two.
    struct shard {
        std::mutex mutex;
        using allocator = base::spare_allocator<std::shared_ptr<cohort>>;
        std::unordered_set<std::shared_ptr<cohort>, by_name, by_name, allocator> joinable;  // at most one per name
        std::unordered_set<std::shared_ptr<cohort>, by_id, by_id, allocator> solo;
        look_queue looks;
        contests contested;
        schedule* when = nullptr;

        // From now on the next look is at `due`: to renew what is held, to ask again for what is not; never at max().
        void look_at(cohort& c, spi::time_point due);
        void insert(const std::shared_ptr<cohort>& c);
        std::shared_ptr<cohort> erase(const cohort& c);
        std::shared_ptr<cohort> find(const name_key& name, const claim_id& id) const;
        const std::shared_ptr<cohort>& shared(const cohort& c) const;
        const std::shared_ptr<cohort>& of(const claimant& call) const;
        std::vector<std::shared_ptr<cohort>> all() const;
    };

    // All of these with the shard's mutex held.
    void take(const std::shared_ptr<cohort>& c, const spi::grant& given, spi::time_point now, actions& todo);
    bool take_kept(std::shared_ptr<cohort> c, std::shared_ptr<claimant>& call, spi::time_point now, actions& todo);
    bool give_up_kept(std::shared_ptr<cohort> c, actions& todo);
    bool still_kept(cohort& c, spi::time_point now);
    void refuse_impatient(const std::shared_ptr<cohort>& c, bool leaving_too, spi::time_point now, actions& todo);
    bool look_twice(const std::shared_ptr<cohort>& c, spi::time_point now, actions& todo);
    void busy(const std::shared_ptr<cohort>& c, bool queues, spi::time_point now, actions& todo);
    void no_answer(const std::shared_ptr<cohort>& c, std::error_code why, spi::time_point now, spi::duration patience,
                   actions& todo);
    void withdraw(const std::shared_ptr<cohort>& c, bool there, spi::time_point now, actions& todo);
    void forfeit(const std::shared_ptr<cohort>& c, spi::time_point now, actions& todo);
    std::shared_ptr<cohort> end(const std::shared_ptr<cohort>& c);
    void succeed(const std::shared_ptr<cohort>& c, actions& todo);
    void stand_anew(const std::shared_ptr<cohort>& c, actions& todo);
    void apply(const std::shared_ptr<cohort>& c, lease::step step, std::error_code why, spi::time_point now,
               actions& todo);

    shard& shard_of(std::size_t name_hash) noexcept { return shards_[name_hash % shards_.size()]; }

    const claim_policy& policy_;
    const process_identity here_;
    event_sink& events_;
    release_log& releases_;
    std::array<shard, 16> shards_;
    std::atomic<bool> closed_{false};
};

}  // namespace mortise::inline v0::core
