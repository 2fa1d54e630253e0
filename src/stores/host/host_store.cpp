#include "stores/host/host_store.hpp"

#include "base/limits.hpp"
#include "base/lock_state.hpp"
#include "stores/host/ledger.hpp"
#include "stores/host/place.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mortise::inline v0::stores::host {
namespace {

using std::chrono::milliseconds;

// How often a waiting client looks for holders that died or whose lease ended: nobody rings the bell for those.
constexpr milliseconds look_every{20};

const mortise::promises& promised() {
    static const mortise::promises all{
        .store = "host",
        .tokens = true,
        .fifo = true,
        .detached = true,
        .leases = true,
        .most_capacity = base::most_capacity,
        .default_lease = std::nullopt,  // the kernel tells when a holder died
        .reach = "processes of one machine",
        .ends = {"The files are deleted or replaced while in use.",
                 "The directory is on a file system that others serve.",
                 "A hold with a lease is paused past it: another is let in, with a larger token."},
    };
    return all;
}

// A client of a process, as the shared state knows it: 10 bits of seat, 22 of client, 32 of term.
std::uint64_t session_of(const seat& s, std::uint32_t client) {
    return std::uint64_t{s.number} << 54 | std::uint64_t{client & 0x3fffff} << 32 | s.term;
}
seat seat_of(std::uint64_t session) {
    return {static_cast<std::uint32_t>(session >> 54), static_cast<std::uint32_t>(session)};
}
std::string bell_of(const std::string& directory, std::uint64_t session) {
    return directory + "/bell-" + std::to_string(session >> 54) + "-" + std::to_string(session & 0xffffffff) + "-" +
           std::to_string(session >> 32 & 0x3fffff);
}

class host_store final : public spi::store {
public:
    host_store(place where, const spi::context& around)
        : where_(std::move(where)),
          around_(around),
          from_(std::make_shared<base::whereabouts>(base::whereabouts{around.host, around.pid})) {}
    ~host_store() override { close(); }

    const mortise::promises& promises() const noexcept override { return promised(); }
    void claim(const spi::claim_request&, spi::reply<spi::claim_answer>) override;
    void renew(std::span<const spi::renewal>, spi::reply<std::vector<spi::renewal_answer>>) override;
    void release(std::string_view name, const claim_id&, spi::reply<spi::release_answer>) override;
    void list(spi::reply<spi::listing>) override;
    void break_hold(std::string_view name, std::uint64_t counter, spi::reply<bool>) override;
    void close() noexcept override;

private:
    // What is left to say once the ledger is given back.
    struct errands {
        base::effects effects;
        std::set<std::uint64_t> buried;
    };

    void connect();
    void sit_down();
    void sweep();
    static base::instant now();
    template <class Verb>
    auto with(std::string_view name, Verb&& verb);
    void bury(base::lock_state& state, base::instant at, errands& out);
    void keep(ledger::access& in, std::string_view name, const base::lock_state& state, base::instant at);
    void run(const std::string& name, const errands& todo);
    void ring(std::uint64_t session, char what);

    void answer_bell();
    void look(bool at_holds_too);
    void look_later();
    void forget_later(std::string name, spi::time_point now);
    void forget_old(spi::time_point now);

    const place where_;
    const spi::context around_;
    const std::shared_ptr<const base::whereabouts> from_;

    std::mutex connecting_;
    std::shared_ptr<ledger> ledger_;
    std::uint64_t session_ = 0;
    int bell_ = -1;
    bool swept_ = false;
    std::atomic<bool> closed_{false};

    std::mutex mutex_;
    std::unordered_map<claim_id, std::string> waiting_;  // our claims in a queue
    std::unordered_map<claim_id, std::string> held_;
    std::deque<std::pair<spi::time_point, std::string>> idle_;  // names we left behind, to be forgotten
    std::unordered_set<std::string> idle_names_;                // the same, each once
    std::map<std::uint64_t, int> bells_;                        // of others
    bool looking_ = false;
};

void host_store::connect() {
    std::scoped_lock guard{connecting_};
    if (swept_) return;
    if (!ledger_) sit_down();
    sweep();
    swept_ = true;
}

void host_store::sit_down() {
    static std::atomic<std::uint32_t> clients{1};
    auto opened = ledger::open(where_);
    session_ = session_of(opened->seats().mine(), clients.fetch_add(1));
    const std::string path = bell_of(opened->directory(), session_);
    const mode_t mode = [&] {
        const int fd = where_.open_directory();
        const mode_t is = where_.file_mode(fd);
        ::close(fd);
        return is;
    }();
    if (::mkfifo(path.c_str(), mode) != 0 || ::chmod(path.c_str(), mode) != 0 ||
        (bell_ = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0) {
        const std::string why = std::strerror(errno);
        ::unlink(path.c_str());
        throw error(errc::exhausted, "host store in " + opened->directory() + ": cannot make " + path + ": " + why);
    }
    ledger_ = std::move(opened);
    around_.clock.watch(bell_, [this] { answer_bell(); });
}

// What processes left behind that are gone: their claims, their bells, names nobody uses. After a restart of the machine
// that is everything but the highest counter.
void host_store::sweep() {
    std::vector<std::pair<std::string, errands>> todo;
    {
        ledger::access in{*ledger_};
        const bool fresh = in.of_this_boot();
        const base::instant at = now();
        in.each([&](std::string_view name, std::string_view bytes) {
            base::lock_state state = base::lock_state::restore(bytes);
            if (!fresh) {
                in.raise_floor(state.last_counter());
                in.write(name, {});
                return;
            }
            errands& e = todo.emplace_back(std::string(name), errands{}).second;
            bury(state, at, e);
            state.settle(at, e.effects);
            keep(in, name, state, at);
            if (!state.idle() || state.forgettable(at.now)) return;
            std::scoped_lock guard{mutex_};  // whoever left it may be gone
            forget_later(std::string(name), at.now);
        });
        if (!fresh) in.mark_this_boot();
    }
    for (const auto& [name, e] : todo) run(name, e);

    std::error_code failed;
    for (const auto& file : std::filesystem::directory_iterator(ledger_->directory(), failed)) {
        seat whose;
        if (std::sscanf(file.path().filename().c_str(), "bell-%u-%u-", &whose.number, &whose.term) == 2 &&
            !ledger_->seats().alive(whose))
            ::unlink(file.path().c_str());
    }
}

base::instant host_store::now() {
    return base::instant::at(boot_clock::now());
}

// Claims of processes that are gone end here, before the verb looks at the state.
void host_store::bury(base::lock_state& state, base::instant at, errands& out) {
    const auto dead = [&](std::uint64_t session) { return !ledger_->seats().alive(seat_of(session)); };
    while (true) {
        std::uint64_t gone = 0;
        for (const base::kept_claim& held : state.holders())
            if (!held.detached && dead(held.session)) gone = held.session;
        if (gone == 0 && state.waiting() > 0 && dead(state.first_waiting_session()))
            gone = state.first_waiting_session();
        if (gone == 0) return;
        state.drop_session(gone, at, out.effects);
        out.buried.insert(gone);
    }
}

void host_store::keep(ledger::access& in, std::string_view name, const base::lock_state& state, base::instant at) {
    if (state.forgettable(at.now)) {
        in.raise_floor(state.last_counter());
        in.write(name, {});
    } else {
        in.write(name, state.save(at.now));
    }
}

template <class Verb>
auto host_store::with(std::string_view name, Verb&& verb) {
    errands todo;
    auto answer = [&] {
        ledger::access in{*ledger_};
        const base::instant at = now();
        const std::string bytes = in.read(name);
        base::lock_state state = bytes.empty() ? base::lock_state{in.floor()} : base::lock_state::restore(bytes);
        bury(state, at, todo);
        auto said = verb(state, at, todo.effects);
        keep(in, name, state, at);
        if (state.idle()) {
            std::scoped_lock guard{mutex_};
            forget_later(std::string(name), at.now);
        }
        return said;
    }();
    run(std::string(name), todo);
    return answer;
}

void host_store::run(const std::string& name, const errands& todo) {
    for (const auto& notice : todo.effects.lost) {
        if (notice.session == session_) {
            around_.events.lost(name, notice.id);
        } else {
            ring(notice.session, 'l');
        }
    }
    for (const auto& notice : todo.effects.granted) {
        if (todo.buried.contains(notice.session)) continue;
        if (notice.session == session_) {
            {
                std::scoped_lock guard{mutex_};
                waiting_.erase(notice.id);
                held_.emplace(notice.id, name);
            }
            around_.events.granted(name, notice.id, notice.grant);
        } else {
            ring(notice.session, 'g');
        }
    }
    for (const std::uint64_t gone : todo.buried) ::unlink(bell_of(ledger_->directory(), gone).c_str());
}

void host_store::ring(std::uint64_t session, char what) {
    std::scoped_lock guard{mutex_};
    auto it = bells_.find(session);
    if (it == bells_.end()) {
        const int fd = ::open(bell_of(ledger_->directory(), session).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0) return;  // nobody listens any more; it looks by itself now and then if it does
        if (bells_.size() >= 256) {
            ::close(bells_.begin()->second);
            bells_.erase(bells_.begin());
        }
        it = bells_.emplace(session, fd).first;
    }
    if (::write(it->second, &what, 1) < 0 && errno != EAGAIN) {
        ::close(it->second);
        bells_.erase(it);
    }
}

void host_store::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
    spi::claim_answer answer;
    try {
        connect();
        {
            std::scoped_lock guard{mutex_};
            if (wanted.queue) waiting_.emplace(wanted.id, wanted.name);  // before it can be granted
        }
        answer = with(wanted.name, [&](base::lock_state& state, base::instant at, base::effects& out) {
            return state.claim(base::kept_claim::of(wanted, session_, from_), wanted.capacity, wanted.queue, at, out)
                .answer(wanted, at.now);
        });
    } catch (const error& e) {
        answer = {.is = spi::claim_answer::verdict::refused, .reason = e.code(), .detail = e.what()};
    } catch (const std::exception& e) {
        answer = {.is = spi::claim_answer::verdict::refused, .reason = errc::unreachable, .detail = e.what()};
    }
    {
        std::scoped_lock guard{mutex_};
        if (answer.is != spi::claim_answer::verdict::queued) waiting_.erase(wanted.id);
        if (answer.is == spi::claim_answer::verdict::granted) held_.emplace(wanted.id, wanted.name);
    }
    if (answer.is == spi::claim_answer::verdict::queued) look_later();
    done(std::move(answer));
}

void host_store::renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) {
    std::vector<spi::renewal_answer> answers;
    for (const spi::renewal& one : due) {
        try {
            answers.push_back(with(one.name, [&](base::lock_state& state, base::instant at, base::effects& out) {
                return state.renew(one.id, one.lease, at, out);
            }));
        } catch (const std::exception&) {
            answers.push_back(spi::renewal_answer::unknown);
        }
    }
    done(std::move(answers));
}

void host_store::release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) {
    {
        std::scoped_lock guard{mutex_};
        waiting_.erase(id);
        held_.erase(id);
    }
    spi::release_answer answer = spi::release_answer::unknown;
    try {
        connect();
        answer = with(name, [&](base::lock_state& state, base::instant at, base::effects& out) {
            return state.release(id, session_, at, out);
        });
        forget_old(boot_clock::now());
    } catch (const std::exception&) {  // asked again later
    }
    done(answer);
}

void host_store::list(spi::reply<spi::listing> done) {
    spi::listing all;
    try {
        connect();
        ledger::access in{*ledger_};
        const auto at = boot_clock::now();
        in.each([&](std::string_view name, std::string_view bytes) {
            const base::lock_state state = base::lock_state::restore(bytes);
            for (const base::kept_claim& held : state.holders())
                if (at < held.ends && (held.detached || ledger_->seats().alive(seat_of(held.session))))
                    all.holds.push_back(
                        {std::string(name), held.describe(at), state.capacity(), held.weight, state.waiting()});
        });
        std::sort(all.holds.begin(), all.holds.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    } catch (const error& e) {
        all.failed = e.code();
    }
    done(std::move(all));
}

void host_store::break_hold(std::string_view name, std::uint64_t counter, spi::reply<bool> done) {
    bool broken = false;
    try {
        connect();
        broken = with(name, [&](base::lock_state& state, base::instant at, base::effects& out) {
            return state.break_hold(counter, at, out);
        });
    } catch (const std::exception&) {
    }
    done(broken);
}

void host_store::answer_bell() {
    char rung[64];
    bool lost = false;
    for (ssize_t n = 0; (n = ::read(bell_, rung, sizeof rung)) > 0;)
        lost = lost || std::find(rung, rung + n, 'l') != rung + n;
    if (!closed_) look(lost);
}

// Who of ours was granted, or thrown out, meanwhile.
void host_store::look(bool at_holds_too) {
    std::map<std::string, std::vector<claim_id>> names;
    {
        std::scoped_lock guard{mutex_};
        for (const auto& [id, name] : waiting_) names[name].push_back(id);
        if (at_holds_too)
            for (const auto& [id, name] : held_) names[name].push_back(id);
    }
    for (const auto& [name, ids] : names) {
        std::vector<std::pair<claim_id, spi::grant>> granted;
        std::vector<claim_id> lost;
        try {
            const std::vector<claim_id>& ours = ids;
            with(name, [&](base::lock_state& state, base::instant at, base::effects& out) {
                state.settle(at, out);
                for (const base::kept_claim& held : state.holders())
                    if (std::find(ours.begin(), ours.end(), held.id) != ours.end())
                        granted.push_back({held.id, {held.counter, held.lease, held.counted_from()}});
                for (const claim_id& id : ours)
                    if (!state.knows(id)) lost.push_back(id);
                return 0;
            });
        } catch (const std::exception&) {
            continue;  // looked at again soon
        }
        for (const auto& one : granted) {
            {
                std::scoped_lock guard{mutex_};
                if (waiting_.erase(one.first) == 0) continue;
                held_.emplace(one.first, name);
            }
            around_.events.granted(name, one.first, one.second);
        }
        for (const claim_id& id : lost) {
            {
                std::scoped_lock guard{mutex_};
                if (waiting_.erase(id) + held_.erase(id) == 0) continue;
            }
            around_.events.lost(name, id);
        }
    }
}

void host_store::look_later() {
    {
        std::scoped_lock guard{mutex_};
        if (looking_ || closed_) return;
        looking_ = true;
    }
    around_.clock.at(around_.clock.now() + look_every, [this] {
        if (closed_) return;
        bool more = false;
        {
            std::scoped_lock guard{mutex_};
            looking_ = false;
            more = !waiting_.empty();
        }
        if (!more) return;
        look(false);
        look_later();
    });
}

// With mutex_ held.
void host_store::forget_later(std::string name, spi::time_point at) {
    if (!idle_names_.insert(name).second) return;
    idle_.emplace_back(at + base::lock_state::remembered_for, std::move(name));
}

void host_store::forget_old(spi::time_point at) {
    for (int n = 0; n < 2; ++n) {
        std::string name;
        {
            std::scoped_lock guard{mutex_};
            if (idle_.empty() || idle_.front().first > at) return;
            name = std::move(idle_.front().second);
            idle_.pop_front();
            idle_names_.erase(name);
        }
        ledger::access in{*ledger_};
        const std::string bytes = in.read(name);
        if (bytes.empty()) continue;
        const base::lock_state state = base::lock_state::restore(bytes);
        keep(in, name, state, now());
        if (!state.idle() || state.forgettable(at)) continue;
        std::scoped_lock guard{mutex_};  // it was used again meanwhile
        forget_later(std::move(name), at);
    }
}

void host_store::close() noexcept {
    if (closed_.exchange(true) || !ledger_) return;
    around_.clock.unwatch(bell_);
    try {
        std::set<std::string> names;
        {
            std::scoped_lock guard{mutex_};
            for (const auto& one : waiting_) names.insert(one.second);
            for (const auto& one : held_) names.insert(one.second);
            for (const auto& one : idle_) names.insert(one.second);
        }
        for (const std::string& name : names) {
            errands todo;
            {
                ledger::access in{*ledger_};
                const std::string bytes = in.read(name);
                if (bytes.empty()) continue;
                base::lock_state state = base::lock_state::restore(bytes);
                state.drop_session(session_, now(), todo.effects);
                if (state.idle()) {
                    in.raise_floor(state.last_counter());
                    in.write(name, {});
                } else {
                    in.write(name, state.save(boot_clock::now()));
                }
            }
            run(name, todo);
        }
    } catch (const std::exception&) {  // whoever comes next sweeps up
    }
    ::unlink(bell_of(ledger_->directory(), session_).c_str());
    ::close(bell_);
    for (const auto& bell : bells_) ::close(bell.second);
}

}  // namespace

spi::store_factory open(const base::url& address) {
    return [where = place::of(address)](const spi::context& around) {
        return std::make_unique<host_store>(where, around);
    };
}

}  // namespace mortise::inline v0::stores::host
