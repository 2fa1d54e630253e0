// One claim at the store, and the calls of this process that use it.
//
//   call (claimant) --.                                            .--> hold
//   call (claimant) ---+--> cohort = one claim id = one store claim +   ...passed on at release, turn by turn
//   call (claimant) --'
//
// Calls that may share a grant (exclusive, order::any, equal options) line up in one cohort: the store sees one claim, and
// a release passes the grant to the next in line without a trip. Research calls this lock cohorting. All other calls have a
// cohort of their own. A cohort has one claim id for its whole life; when its grant ends with calls still in line, a new
// cohort takes over the line.
//
// If the store gave the grant a word (spi::grant_word), a lock that nobody contests needs neither store nor table: its unlock
// leaves the grant *kept*, by a claimant that is not inside, and the next lock takes it again, each by one swap of the word.
// Whatever must not happen behind the table's back, such as an unlock while calls wait, makes the word `wanted` first: then the
// unlock comes to the table.
//
// A store across a network has no such word. If it says when somebody else asks (spi::grant::told), the cohort has a word of its
// own, which nobody else sees; it is kept for a while only, and until the store says so. So may be one of a reader, though no other
// call joins it.
//
// These are data, guarded by the mutex of the table's shard; only what valid(), keep() and take_again() read is atomic. The
// table decides.
#pragma once

#include "base/spare_blocks.hpp"
#include "core/claim_terms.hpp"
#include "core/hold_keeper.hpp"
#include "core/lease.hpp"
#include "core/reentry.hpp"
#include "core/second_looks.hpp"

#include <mortise/attempt.hpp>
#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/hold.hpp>
#include <mortise/spi/store.hpp>

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace mortise::inline v0::core {

class claimant;

using call_queue = std::list<std::shared_ptr<claimant>, base::spare_allocator<std::shared_ptr<claimant>>>;

class cohort {
public:
    enum class state : unsigned char {
        asking,  // a request is out, or about to be repeated
        queued,  // in the store's line; a push will come, and we ask again now and then in case it does not
        held,
        unsettled,  // an exchange that was given up: whether the store made it is being found out (claim_table.hpp)
        ended,      // lost, released or given up; the id is of no more use
    };

    cohort(std::shared_ptr<hold_keeper> of, std::shared_ptr<const claim_terms> wanted, bool joinable)
        : keeper(std::move(of)),
          agreed(std::move(wanted)),
          terms(*agreed),
          id(claim_id::random()),
          shareable(joinable) {}
    ~cohort() { delete own_word(); }

    bool waits() const noexcept { return is == state::asking || is == state::queued; }

    // Whether any of its calls would wait in the store's line.
    bool would_queue() const;

    const std::shared_ptr<hold_keeper> keeper;  // none in tests of the table alone
    const std::shared_ptr<const claim_terms> agreed;
    const claim_terms& terms;
    const claim_id id;

    // What only an unanswered claim needs; gone once it is granted.
    struct request : base::spared<request> {
        spi::time_point failing_since = spi::time_point::max();  // first of the requests without an answer
        std::optional<spi::standing> standing;                   // what the store last said of our chances
        spi::time_point heard{};                                 // when it did
        unsigned failures = 0;
        unsigned unanswered = 0;   // requests that may still arrive at the store, however late
        bool contested = false;    // somebody else has asked already
        bool overlapping = false;  // the latest was sent while another was unanswered: either may have come first
        bool kept = false;         // it may be kept while it is idle
        second_looks looks_again{};
        unsigned polls = 0;  // that were answered busy though it would queue
        unsigned next_shortcut = 0;
        std::string trouble;                            // what the store said of the latest
        bool leaving = false;                           // unsettled, and its release has been sent
        spi::time_point left = spi::time_point::max();  // when that was answered: no late request counts any more
    };

    // An upgrade or downgrade: the cohort whose grant this one takes over, in the store's one step.
    std::shared_ptr<cohort> instead_of;
    std::weak_ptr<cohort> replaced_by;  // the other way round, until one of them ends
    void doubt() noexcept {
        doubted = true;
        invalid();
    }
    void trust() noexcept {
        doubted = false;
        if (is == state::held) valid_for_its_lease();
    }
    void valid_for_its_lease() noexcept { valid_until.store(lease.deadline(), std::memory_order_release); }
    void invalid() noexcept { valid_until.store(boot_clock::time_point::min(), std::memory_order_release); }

    // What has a word, while it is held.
    //
    // Somebody of this process asks for it. Nobody was inside: he is now, or it has become too old for that and is over. It is in
    // use, and `wanted` if he waits. Or the store has ended it.
    enum class entry { taken, too_old, in_use, ended };
    entry enter(bool waits, spi::time_point now) noexcept;
    void want() noexcept;                  // the next unlock comes to the table
    bool nobody_inside() const noexcept;   // it is kept, or was when the store ended it
    bool next_turn(bool wanted) noexcept;  // for the next in line. False: the store has ended the claim
    std::uint16_t latest_turn() const noexcept;
    std::uint64_t mark() const noexcept { return spi::grant_word::mark_of(id); }

    // Of its own: of a grant that was told so.
    struct private_word : spi::grant_word {
        // The table will look whether it has been idle for long enough. The table takes this back before it looks for the last
        // time, and who keeps it reads this after the swap: one of the two sees the other.
        std::atomic<bool> looked_after{false};
    };
    void make_own_word();
    private_word* own_word() const noexcept { return word_is_own ? static_cast<private_word*>(word) : nullptr; }
    // Until when it is kept, if it is idle.
    std::optional<spi::time_point> kept_until() const noexcept;
    // When the table has to look at it, while it is held.
    spi::time_point next_look() noexcept;
    // By who has just kept it: nobody would look whether that lasts for too long.
    bool needs_look() noexcept {
        private_word* const own = own_word();
        return own != nullptr && !own->looked_after.load() && !own->looked_after.exchange(true);
    }

    call_queue line;                   // calls waiting for their turn
    std::shared_ptr<claimant> holder;  // the call whose turn it is, until its hold or the claim ends
    std::unique_ptr<request> asked = std::make_unique<request>();

    core::lease lease;
    std::uint64_t counter = 0;
    std::atomic<boot_clock::time_point> valid_until{boot_clock::time_point::min()};
    spi::grant_word* word = nullptr;  // none: every unlock comes to the table
    spi::time_point look_due{};       // these are the look_queue's
    std::uint32_t look_slot = 0;      // from 1; 0: not in it
    std::uint16_t turn = 0;
    state is = state::asking;
    const bool shareable;    // others may join: as its terms say, unless there was one of its name with other options
    bool gives_way = false;  // its first request: others of this process had the lock, turn by turn
    bool word_is_own = false;
    bool doubted = false;                // held, but the store may have let others in: not valid until it is confirmed
    std::atomic<bool> in_flight{false};  // a request has not been answered
    std::atomic<bool> calling{false};    // the store's verb has not returned

    mortise::token token() const noexcept { return mortise::token::of(counter, latest_turn()); }
};

// One call: first it waits, then it holds. A `hold` is a handle to it.
class claimant {
public:
    enum class phase : unsigned char { waiting, holding, kept, over };

    // What only a waiting call needs; gone once it is answered.
    struct wait : base::spared<wait> {
        unique_function<void(attempt)> done;
        call_queue::iterator place;
        spi::time_point deadline = spi::time_point::max();
        spi::clock::timer_id timer = 0;
        std::uint32_t wait_slot = 0;
        std::optional<std::stop_callback<std::function<void()>>> on_stop;
        owner_key owner = 0;        // who is blocked meanwhile and may hold other locks; 0: nobody we know
        reentry* frames = nullptr;  // where its locks are noted; there while the call waits
        std::int64_t thread = 0;
        bool no_wait = false;
        bool stopped = false;  // cancelled before it was in line
        errc leaves_for{};     // asks for the last time, and is told this if it was not granted
        std::string leaves_because;
    };
    // What only a watched hold needs.
    struct watch {
        std::stop_source stop;
        std::vector<unique_function<void()>> calls;
    };

    // By whoever holds, without a mutex: from then on nobody is inside. False: it has to be released.
    bool keep(spi::time_point now) noexcept;
    // By whoever kept it. False: somebody else wanted it, or it is over.
    bool take_again(spi::time_point now) noexcept;

    bool valid() const noexcept { return valid_until() != boot_clock::time_point::min(); }
    // Until then the hold is valid if it is now; min() if it is not.
    boot_clock::time_point valid_until() const noexcept;
    mortise::token token() const noexcept { return mortise::token::of(cohort->counter, turn); }
    hold_keeper& keeper() const noexcept { return *cohort->keeper; }

    std::shared_ptr<core::cohort> cohort;
    std::unique_ptr<wait> waiting;
    std::unique_ptr<watch> watched;
    std::atomic<spi::time_point> since{};  // of the call, then of the grant
    std::atomic<phase> is{phase::waiting};
    std::uint16_t turn = 0;
    std::atomic<release_result> result{release_result::unknown};
    std::atomic<bool> releasing{false};  // the store has not answered yet
    bool closed = false;                 // ended by the client's destructor

    static hold handle(std::shared_ptr<claimant> granted) { return hold{std::move(granted)}; }
    static const std::shared_ptr<claimant>& of(const hold& h) noexcept { return h.granted_; }
};

}  // namespace mortise::inline v0::core
