#include "checker/campaign/worker.hpp"

#include "checker/campaign/judging.hpp"
#include "checker/campaign/resource.hpp"
#include "checker/history/log.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>
#include <mortise/mutex.hpp>
#include <mortise/shared_mutex.hpp>

#include <atomic>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace mortise::checker {
namespace {

using namespace std::chrono_literals;

std::atomic<bool> told_to_leave{false};
std::atomic<bool> told_to_fork{false};

constexpr std::uint8_t readers = 100;  // of a read-write lock, at once
constexpr std::uint8_t permits = 5;

struct share {
    std::uint8_t weight = 1;
    std::uint8_t capacity = 1;
};

// A mutex or a read-write lock of a client that keeps what it unlocks.
class kept_object {
public:
    kept_object(client& locks, const std::string& name, bool shared) {
        if (shared)
            shared_ = std::make_unique<shared_mutex>(locks, name);
        else
            alone_ = std::make_unique<mutex>(locks, name);
    }

    bool try_lock_for(share of, std::chrono::seconds wait) {
        if (alone_) return alone_->try_lock_for(wait);
        return of.weight == of.capacity ? shared_->try_lock_for(wait) : shared_->try_lock_shared_for(wait);
    }
    const hold& held() const { return alone_ ? alone_->hold() : shared_->hold(); }
    std::error_code unlock(share of) {
        std::error_code why;
        if (alone_)
            alone_->unlock(why);
        else if (of.weight == of.capacity)
            shared_->unlock(why);
        else
            shared_->unlock_shared(why);
        return why;
    }

private:
    std::unique_ptr<mutex> alone_;
    std::unique_ptr<shared_mutex> shared_;
};

// A fault may take them from a process before it has begun.
void wait_for_descriptors() {
    for (int tries = 0; tries < 200; ++tries) {
        const int one = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (one >= 0) return static_cast<void>(::close(one));
        std::this_thread::sleep_for(100ms);
    }
}

// What is known of a refusal: whether the store may have granted the lock all the same.
phase outcome_of(const std::error_code& why) {
    if (why == errc::timed_out || why == errc::busy || why == errc::cancelled || why == errc::denied)
        return phase::fail;
    return phase::unknown;
}

phase outcome_of(release_result result) {
    switch (result) {
        case release_result::released:
            return phase::ok;
        case release_result::expired:
        case release_result::taken_over:
            return phase::lost;
        default:
            return phase::unknown;
    }
}

std::int64_t when(boot_clock::time_point until) {
    return until == boot_clock::time_point::max() ? never : until.time_since_epoch().count();
}

class line_notes final : public observer {
public:
    line_notes(history_log& notes, const lock_plan& plan, const std::string& prefix) : notes_(notes) {
        for (std::uint32_t i = 0; i < plan.count(); ++i) names_[plan.name(prefix, i)] = i;
    }
    void on_event(const event& what) override {
        const bool lost = what.kind == event_kind::retried && what.reason == errc::lost;
        if (what.kind != event_kind::waited && !lost) return;
        notes_.write({.at = what.at.time_since_epoch().count(),
                      .lock = names_.at(what.name),
                      .what = lost ? act::unqueued : act::queued,
                      .is = phase::ok});
    }

private:
    history_log& notes_;
    std::map<std::string, std::uint32_t> names_;
};

class worker {
public:
    explicit worker(const worker_orders& orders)
        : orders_(orders),
          plan_{orders.mutexes, orders.shared},
          notes_(orders.log_file),
          resource_(orders.resource),
          locks_(orders.url, options_of(orders)),
          dice_(static_cast<unsigned>(orders.seed * 1000 + orders.number + 1)) {}

    void run() {
        while (!told_to_leave) {
            const auto lock = static_cast<std::uint32_t>(dice_() % plan_.count());
            visit(lock, share_of(lock));
            watch_the_wall_clock();
            if (orders_.pause > 0ms) std::this_thread::sleep_for(up_to(orders_.pause));
        }
    }

private:
    // A hold of its own, or a lock object's.
    struct mine {
        hold handle;
        kept_object* through = nullptr;
        const hold& held() const { return through != nullptr ? through->held() : handle; }
        std::uint32_t lock = 0;
        std::uint64_t attempt = 0;
        std::uint64_t token = 0;
        share of{};
    };

    client_options options_of(const worker_orders& orders) {
        client_options options{.lease = orders.lease, .label = "mortise-check"};
        if (orders.keeps) options.keep = keep::idle();
        if (orders.in_order) options.observer = std::make_shared<line_notes>(notes_, plan_, orders.prefix);
        return options;
    }
    share share_of(std::uint32_t lock) {
        if (plan_.is_mutex(lock)) return {};
        if (plan_.is_read_write(lock)) return {dice_() % 4 == 0 ? readers : std::uint8_t{1}, readers};
        return {static_cast<std::uint8_t>(1 + dice_() % 3), permits};
    }
    std::chrono::microseconds up_to(std::chrono::microseconds most) {
        return std::chrono::microseconds{dice_() % static_cast<unsigned long>(most.count() + 1)};
    }

    attempt acquire(std::uint32_t lock, share of) {
        const std::string name = plan_.name(orders_.prefix, lock);
        const claim_options options{.wait = 20s, .order = orders_.in_order ? order::fifo : order::any};
        if (of.capacity == 1) return locks_.try_acquire(name, options);
        auto answer = std::make_shared<std::promise<attempt>>();
        auto later = answer->get_future();
        locks_.start(claim{name, of.capacity, of.weight, options},
                     [answer](attempt got) { answer->set_value(std::move(got)); });
        return later.get();
    }

    void visit(std::uint32_t lock, share of) {
        if (orders_.keeps && of.capacity != permits) return visit_object(lock, of);
        record note{
            .op = notes_.next_op(), .lock = lock, .what = act::acquire, .weight = of.weight, .capacity = of.capacity};
        notes_.write(note);
        attempt got = acquire(lock, of);
        if (!got) return note_refusal(note, got.reason());
        mine inside{.handle = std::move(*got), .lock = lock, .attempt = note.op, .of = of};
        enter(inside, note);
    }
    void enter(mine& inside, record& note) {
        std::error_code none;
        inside.token = inside.held().token(none).value();
        note.is = phase::ok;
        note.token = inside.token;
        note.valid_until = when(inside.held().valid_until());
        notes_.write(note);
        stay(inside);
        leave(inside);
    }

    void note_refusal(record& note, std::error_code why) {
        note.is = outcome_of(why);
        note.value = static_cast<std::uint64_t>(why.value());
        notes_.write(note);
        std::this_thread::sleep_for(10ms);  // a refusal that comes at once comes again
    }

    // As visit(), through a lock object that keeps what it unlocks.
    void visit_object(std::uint32_t lock, share of) {
        auto& object = objects_[lock];
        if (!object)
            object = std::make_unique<kept_object>(locks_, plan_.name(orders_.prefix, lock), plan_.is_read_write(lock));
        record note{
            .op = notes_.next_op(), .lock = lock, .what = act::acquire, .weight = of.weight, .capacity = of.capacity};
        notes_.write(note);
        std::error_code why = errc::timed_out;
        try {
            if (object->try_lock_for(of, 20s)) why.clear();
        } catch (const error& refused) {
            why = refused.code();
        }
        if (why) return note_refusal(note, why);
        mine inside{.handle = {}, .through = object.get(), .lock = lock, .attempt = note.op, .of = of};
        enter(inside, note);
    }

    // Notes a time before the question: it was valid then too.
    bool look(const mine& inside) {
        const std::int64_t before = raw_now();
        const bool valid = inside.held().valid();
        notes_.write({.at = valid ? before : 0,
                      .lock = inside.lock,
                      .what = act::valid,
                      .is = valid ? phase::ok : phase::lost,
                      .attempt = inside.attempt,
                      .token = inside.token,
                      .valid_until = when(inside.held().valid_until())});
        return valid;
    }

    void stay(mine& inside) {
        const std::int64_t until = raw_now() + std::chrono::nanoseconds{up_to(orders_.stay)}.count();
        if (!look(inside) && orders_.checks) return;
        if (told_to_fork.exchange(false)) fork_inside(inside);
        if (inside.of.weight == inside.of.capacity && !update(inside)) return;
        while (raw_now() < until) {
            std::this_thread::sleep_for(
                std::min<std::chrono::nanoseconds>(2ms, std::chrono::nanoseconds{until - raw_now()} + 1us));
            if (!look(inside) && orders_.checks) return;
        }
        look(inside);
    }

    // The lock is not its children's, and what they do to it is not done to ours.
    void fork_inside(mine& inside) {
        bool sound = true;
        const hold& its = inside.held();
        for (int n = 0; n < 10; ++n) {
            const pid_t child = ::fork();
            if (child == 0) {
                const bool believes = its.valid();
                inside.through != nullptr ? static_cast<void>(inside.through->unlock(inside.of))
                                          : static_cast<void>(inside.handle.release());
                ::_exit(believes ? 1 : 0);
            }
            int status = 0;
            if (child > 0) sound = ::waitpid(child, &status, 0) == child && status == 0 && sound;
        }
        if (!sound) throw std::runtime_error("the child of a fork believed that it held the lock, or died");
        notes_.write({.what = act::fault, .is = phase::ok, .value = children_were_made});
    }

    // Seal, read, think, write. False: refused, because somebody newer has been there.
    bool update(const mine& inside) {
        if (orders_.sealing && !ask(inside, act::seal, 0, 0)) return false;
        const auto seen = ask(inside, act::read, 0, 0);
        if (!seen) return false;
        std::this_thread::sleep_for(up_to(orders_.stay) / 2);
        if (orders_.checks && !look(inside)) return false;
        return ask(inside, act::write, notes_.next_op(), seen->value).has_value();
    }
    std::optional<resource_reply> ask(const mine& inside, act what, std::uint64_t value, std::uint64_t prior) {
        record note{.op = notes_.next_op(),
                    .lock = inside.lock,
                    .what = what,
                    .attempt = inside.attempt,
                    .token = inside.token,
                    .valid_until = static_cast<std::int64_t>(prior),
                    .value = value};
        notes_.write(note);
        const auto reply = resource_.ask({what, inside.lock, inside.token, value, prior});
        note.is = !reply ? phase::unknown : reply->done ? phase::ok : phase::fail;
        if (reply && what == act::read) note.value = reply->value;
        notes_.write(note);
        return reply && reply->done ? reply : std::nullopt;
    }

    void leave(mine& inside) {
        record note{.op = notes_.next_op(),
                    .lock = inside.lock,
                    .what = act::release,
                    .attempt = inside.attempt,
                    .token = inside.token};
        notes_.write(note);
        note.is = released(inside);
        notes_.write(note);
    }
    static phase released(mine& inside) {
        if (inside.through == nullptr) return outcome_of(inside.handle.release());
        const std::error_code why = inside.through->unlock(inside.of);
        return !why ? phase::ok : why == errc::lost ? phase::lost : phase::unknown;
    }

    // A jump of the wall clock proves itself here, where it is seen.
    void watch_the_wall_clock() {
        timespec wall{};
        ::clock_gettime(CLOCK_REALTIME, &wall);
        const std::int64_t apart = wall.tv_sec - raw_now() / 1'000'000'000;
        if (wall_ != 0 && std::abs(apart - wall_) > 5)
            notes_.write({.what = act::fault, .is = phase::ok, .value = clock_was_seen_to_jump});
        wall_ = apart;
    }

    const worker_orders orders_;
    const lock_plan plan_;
    history_log notes_;
    resource_client resource_;
    client locks_;
    std::map<std::uint32_t, std::unique_ptr<kept_object>> objects_;
    std::minstd_rand dice_;
    std::int64_t wall_ = 0;
};

}  // namespace

std::string lock_plan::name(const std::string& prefix, std::uint32_t lock) const {
    const char* kind = is_mutex(lock) ? "mutex" : is_read_write(lock) ? "shared" : "permits";
    return prefix + "/" + kind + "-" + std::to_string(lock);
}

std::vector<std::string> worker_orders::words() const {
    const auto number_of = [](auto n) { return std::to_string(n); };
    return {url,
            log_file,
            resource,
            prefix,
            number_of(number),
            number_of(seed),
            number_of(lease.count()),
            number_of(stay.count()),
            number_of(pause.count()),
            number_of(mutexes),
            number_of(int{shared}),
            number_of(int{sealing}),
            number_of(int{checks}),
            number_of(int{in_order}),
            number_of(int{keeps})};
}

worker_orders worker_orders::of(const std::vector<std::string>& words) {
    if (words.size() != 15) throw std::invalid_argument("these are no orders for a worker");
    return {.url = words[0],
            .log_file = words[1],
            .resource = words[2],
            .prefix = words[3],
            .number = static_cast<std::uint32_t>(std::stoul(words[4])),
            .seed = std::stoull(words[5]),
            .lease = std::chrono::milliseconds{std::stoll(words[6])},
            .stay = std::chrono::milliseconds{std::stoll(words[7])},
            .pause = std::chrono::milliseconds{std::stoll(words[8])},
            .mutexes = static_cast<std::uint32_t>(std::stoul(words[9])),
            .shared = words[10] == "1",
            .sealing = words[11] == "1",
            .checks = words[12] == "1",
            .in_order = words[13] == "1",
            .keeps = words[14] == "1"};
}

int work(const worker_orders& orders) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct sigaction heard {};
    heard.sa_flags = SA_RESTART;
    heard.sa_handler = [](int) { told_to_leave = true; };
    ::sigaction(SIGTERM, &heard, nullptr);
    heard.sa_handler = [](int) { told_to_fork = true; };
    ::sigaction(SIGUSR1, &heard, nullptr);
    ::signal(SIGINT, SIG_IGN);  // the one who started it ends it
    sigset_t none;
    ::sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
    wait_for_descriptors();
    worker{orders}.run();
    return 0;
}

}  // namespace mortise::checker
