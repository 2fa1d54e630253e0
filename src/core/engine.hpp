// What a client is made of: it turns calls into claims, claims into grants, and keeps grants alive.
//
// All decisions are made under the mutex of a shard (names are spread over sixteen) and only note in `errands` what has to
// be done; the store, the completions and the user are called after the mutex is dropped. So a store may answer before its
// verb returns, and a completion may call the engine again.
//
//   start --> join a cohort, or make one --> ask the store --> granted: the first in line holds
//                                            queued: a push follows; asked again now and then in case it got lost
//                                            busy:   refused, if the caller does not wait; else asked again, to queue or at paced intervals
//                                            unknown: asked again with the same id, until `patience` is over
//   release --> next in line, if the grant may be handed over; else farewell to the store, and a new cohort for the rest
//   watchdog --> renew what is due, in one call; what cannot be renewed by its deadline is lost
#pragma once

#include "core/cohort.hpp"

#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/observer.hpp>
#include <mortise/spi/audit.hpp>
#include <mortise/spi/client.hpp>
#include <mortise/spi/store.hpp>

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace mortise::inline v0::core {

class farewell;
class io_clock;
class notifier_thread;
class open_question;
class watchdog;

// Who calls, if it is somebody that may hold other locks while it is blocked: a thread, or an explicit owner.
struct called_by {
    owner_key who = 0;
    reentry* frames = nullptr;  // where its locks are noted; outlives the call
};

// While a call of this thread asks the store and blocks until it is answered.
class blocking_call {
public:
    explicit blocking_call(spi::store& on) noexcept : on_(on) { on_.will_sleep(true); }
    ~blocking_call() { on_.will_sleep(false); }
    blocking_call(const blocking_call&) = delete;
    blocking_call& operator=(const blocking_call&) = delete;

private:
    spi::store& on_;
};

// Where this thread sleeps when it blocks: any number that others are unlikely to have.
std::uint32_t this_thread_wait_slot() noexcept;

class engine final : public spi::events, public std::enable_shared_from_this<engine> {
    struct pass {};  // only make() may construct

public:
    static std::shared_ptr<engine> make(const spi::store_factory& store, spi::world around, client_options options,
                                        std::string shown_as);
    engine(pass, const spi::store_factory& store, spi::world around, client_options options, std::string shown_as);
    ~engine() override;

    // `done` is called exactly once, from any thread, possibly before start returns. Throws for invalid arguments.
    // `wait_slot` is where the caller sleeps meanwhile, if it does (spi::sleeper).
    void start(claim wanted, unique_function<void(attempt)> done, std::uint32_t wait_slot = 0,
               const std::shared_ptr<claimant>& instead_of = nullptr, const called_by& by = {});

    // Blocks. `instead_of`: a hold on the same name that the new one takes the place of when it is granted.
    attempt acquire(claim wanted, const called_by& by = {}, const std::shared_ptr<claimant>& instead_of = nullptr);

    release_result release(const std::shared_ptr<claimant>& who, std::error_code& ec) noexcept;
    release_result release(std::string_view name, const claim_id& id, std::error_code& ec) noexcept;
    void let_go(const std::shared_ptr<claimant>& who) noexcept;  // of a dropped hold

    // The same without waiting: `done` is called exactly once, from any thread, possibly before these return.
    void start_release(const std::shared_ptr<claimant>& who, release_completion done);
    void start_release(std::string_view name, const claim_id& id, release_completion done);
    void start_list(unique_function<void(std::vector<held_lock>, std::error_code)> done);

    void renew_early(const claimant& who);  // and does not wait for the answer

    boot_clock::time_point valid_until(const claimant& who) const noexcept;
    bool valid(const claimant& who) const noexcept;
    std::stop_token lost_token(claimant& who);
    void on_lost(const std::shared_ptr<claimant>& who, unique_function<void()> call);

    // Throws invalid_name, invalid_option, unsupported or no_token: what a claim like this would be refused for anyway.
    void check(const claim& wanted) const;

    // "lock 'ticket' (memory:): ..." in front of what there is to say; the reason's own text if that is nothing.
    refusal refuse(std::error_code why, std::string_view name, const std::string& what = {}) const;

    // From outside, as operators and scripts do; these block for at most `patience`.
    std::string cannot_list() const;  // why not; empty: it can
    std::vector<held_lock> list(std::error_code& ec, std::string* why = nullptr);
    bool renew(std::string_view name, const claim_id& id, spi::duration lease, std::error_code& ec) noexcept;
    bool break_lock(std::string_view name, token held, std::string_view why, std::error_code& ec);
    std::vector<finding> check_store(std::error_code& ec);

    // Runs `what` where user callbacks run.
    bool notify(spi::task what) noexcept;  // false: there is no thread to be had
    void emit(event_kind kind, const std::string& name, token t = {}, std::error_code reason = {},
              spi::duration took = {}) noexcept;

    void close() noexcept;
    bool forked() const noexcept;

    spi::store& store() noexcept { return *store_; }
    spi::clock& clock() const noexcept { return *clock_; }
    const client_options& options() const noexcept { return options_; }
    const std::string& shown_as() const noexcept { return shown_as_; }
    // One address is one store. Stores given as objects (spi::make_client) have none, and only a client is like itself.
    bool addressed() const noexcept { return !shown_as_.starts_with('('); }

    // Farewells on their way; close() waits for them.
    void said_goodbye(int more) noexcept;
    bool shut() const noexcept { return shut_.load(); }

    // For audits (spi/audit.hpp).
    std::vector<spi::admitted_claim> admitted();
    void is_leaving(farewell& which, bool whether);

    // spi::events
    void granted(std::string_view name, const claim_id& id, const spi::grant& given) override;
    void lost(std::string_view name, const claim_id& id) override;
    void reconnected() override;

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
        std::unordered_set<std::shared_ptr<cohort>, by_name, by_name> joinable;  // at most one per name
        std::unordered_set<std::shared_ptr<cohort>, by_id, by_id> solo;

        void insert(const std::shared_ptr<cohort>& c);
        void erase(const cohort& c);
        std::shared_ptr<cohort> find(const name_key& name, const claim_id& id) const;
        std::vector<std::shared_ptr<cohort>> all() const;
    };
    // What to do once the shard's mutex is dropped, in this order.
    struct errands {
        std::shared_ptr<farewell> goodbye;
        std::shared_ptr<claimant> granted;
        spi::duration granted_after{};
        std::vector<std::pair<std::shared_ptr<claimant>, refusal>> refused;
        std::shared_ptr<claimant> lost;
        std::shared_ptr<cohort> ask;
        spi::time_point now{};  // when this was decided, if known
    };

    // Asks the store, and waits for its answer.
    template <class Answer, class Ask>
    std::optional<Answer> ask_and_wait(Ask&& ask, std::error_code& ec);
    // A hold on its way out. Without a farewell the answer is known: `result`.
    struct parting {
        std::shared_ptr<farewell> asked{};
        release_result result = release_result::released;
        bool silent = false;  // not ours to tell of
        bool was_lost = false;
        spi::time_point since{};
        spi::duration held_for{};
    };
    parting depart(const std::shared_ptr<claimant>& who, std::error_code& ec) noexcept;
    void departed(claimant& who, const parting& left, std::error_code ec) noexcept;
    std::shared_ptr<claimant> holder_of(std::string_view name, const claim_id& id);
    std::error_code may_not_ask(std::string_view name) const noexcept;
    std::shared_ptr<farewell> repeated_while_waiting(std::string_view name, const claim_id& id);
    void wait_for(const std::shared_ptr<farewell>& asked, bool was_lost, release_completion done);
    void wait_for(const std::shared_ptr<open_question>& asked, spi::duration patience);
    void forget(const std::shared_ptr<open_question>& asked) noexcept;
    void give_up_questions() noexcept;

    // Entry and exit of calls.
    std::optional<refusal> not_promised(const claim& wanted) const;
    std::optional<spi::duration> lease_of(const claim_options& o) const;
    unsigned durability_of(const claim_options& o) const;
    spi::duration margin_of(spi::duration lease) const;
    claim_terms terms_of(claim& wanted) const;
    void leave(const std::shared_ptr<claimant>& who, const std::string& name, errc why, const std::string& what = {});
    void settle_down(const std::shared_ptr<claimant>& who, const name_key& key);
    void run(errands& todo);
    void answer(const std::shared_ptr<claimant>& who, attempt result);
    void tell_lost(claimant& who);

    // Deadlocks between threads of this process.
    struct blocked_call;
    void look_for_circles_later() noexcept;
    void keep_looking_for_circles(spi::duration pause) noexcept;
    void look_for_circles(spi::duration pause);
    void blocked_calls(std::vector<blocked_call>& found);

    // Asking the store.
    void ask(const std::shared_ptr<cohort>& c, spi::time_point sent);
    void ask_again(const std::shared_ptr<cohort>& c);
    void answered(const std::shared_ptr<cohort>& c, spi::time_point sent, bool queues, spi::claim_answer&& said);
    spi::duration pause_before_next_look(const cohort& c) const;
    spi::duration pause_before_next_poll(cohort& c) const;

    // All of these with the shard's mutex held.
    void join(const std::shared_ptr<cohort>& c, const std::shared_ptr<claimant>& who, errands& todo);
    void take(const std::shared_ptr<cohort>& c, spi::grant given, spi::time_point now, errands& todo);
    void pass_on(const std::shared_ptr<cohort>& c, spi::time_point now, errands& todo);
    bool may_pass_on(const cohort& c, spi::time_point now) const;
    void busy(const std::shared_ptr<cohort>& c, bool queues, spi::time_point now, errands& todo);
    void forget(const std::shared_ptr<cohort>& c, spi::time_point now, errands& todo);
    void no_answer(const std::shared_ptr<cohort>& c, std::error_code why, spi::time_point now, errands& todo);
    void no_answer(const std::shared_ptr<cohort>& c, std::error_code why, spi::time_point now, spi::duration patience,
                   errands& todo);
    spi::duration patience_with_nobody_there(const cohort& c) const;
    static std::string silence_of(const cohort& c);
    void refuse_line(cohort& c, std::error_code why, const std::string& what, errands& todo);
    void end(const std::shared_ptr<cohort>& c);
    void replace(const std::shared_ptr<cohort>& old, errands& todo);
    void succeed(const std::shared_ptr<cohort>& c, errands& todo);
    static std::error_code not_replaceable(const claimant& who);
    void confirm(const std::shared_ptr<cohort>& c);
    void lose(const std::shared_ptr<cohort>& c, std::error_code why, errands& todo);
    void watch(const std::shared_ptr<cohort>& c, spi::time_point due);
    std::shared_ptr<farewell> goodbye(const cohort& c, spi::time_point now);
    spi::time_point release_until(const std::optional<spi::duration>& lease, spi::time_point now) const;
    static const std::shared_ptr<cohort>& cohort_of(const shard& s, const claimant& who);
    refusal in_the_way(const cohort& c, errc why, std::optional<std::size_t> ahead) const;

    // Keeping alive.
    void verify();
    void round(const std::vector<std::shared_ptr<cohort>>& due);
    void send_renewals(std::vector<std::shared_ptr<cohort>> who, spi::time_point sent);
    void renewed(const std::vector<std::shared_ptr<cohort>>& who, spi::time_point sent,
                 const std::vector<spi::renewal_answer>& said);
    void apply(const std::shared_ptr<cohort>& c, lease::step step, std::error_code why, errands& todo);

    shard& shard_of(const name_key& k) noexcept { return shards_[k.hash % shards_.size()]; }
    shard& shard_of(const cohort& c) noexcept { return shards_[c.terms.name_hash % shards_.size()]; }

    const client_options options_;
    const std::shared_ptr<const std::string> label_;
    const std::string shown_as_;
    const std::string host_;
    const std::uint64_t generation_;
    std::shared_ptr<spi::clock> clock_;
    std::shared_ptr<spi::notifier> notifier_;
    io_clock* own_clock_ = nullptr;  // set when clock_ is ours to stop; likewise the notifier
    notifier_thread* own_notifier_ = nullptr;
    std::shared_ptr<watchdog> watchdog_;
    std::unique_ptr<spi::store> store_;

    std::array<shard, 16> shards_;
    std::atomic<bool> closed_{false};  // no new claims
    std::atomic<bool> shut_{false};    // the store is closed
    std::atomic<bool> awake_{false};   // the io thread has been started
    std::atomic<bool> looking_for_circles_{false};
    std::once_flag known_to_block_;

    std::mutex quiet_mutex_;
    std::condition_variable quiet_;
    std::atomic<int> goodbyes_{0};

    std::mutex leaving_mutex_;
    std::unordered_set<farewell*> leaving_;

    std::mutex questions_mutex_;
    std::unordered_map<std::shared_ptr<open_question>, spi::clock::timer_id> questions_;

    std::atomic<std::size_t> unseen_events_{0};
    std::atomic<std::uint64_t> dropped_events_{0};
};

// How the other layers reach the engine behind a client.
struct access {
    static const std::shared_ptr<engine>& engine_of(const client& c) noexcept { return c.engine_; }
    static const std::shared_ptr<reentry>& frames_of(const client& c) noexcept { return c.frames_; }
    static client wrap(std::shared_ptr<engine> e) { return client{std::move(e)}; }
};

}  // namespace mortise::inline v0::core
