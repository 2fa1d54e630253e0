#include "stores/zookeeper/session.hpp"

#include "base/quiet_thread.hpp"
#include "stores/zookeeper/session_window.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <iterator>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <unordered_set>
#include <utility>

#define THREADED
#include <zookeeper/zookeeper.h>

namespace mortise::inline v0::stores::zookeeper {
namespace {

outcome outcome_of(int code) {
    using enum outcome::kind;
    switch (code) {
        case ZOK:
            return {ok, code};
        case ZNONODE:
            return {no_node, code};
        case ZNODEEXISTS:
            return {exists, code};
        case ZNOTEMPTY:
            return {not_empty, code};
        case ZBADVERSION:
            return {changed, code};
        case ZNOAUTH:
        case ZAUTHFAILED:
        case ZINVALIDACL:
        case ZSESSIONCLOSEDREQUIRESASLAUTH:
            return {denied, code};
        case ZCONNECTIONLOSS:
        case ZOPERATIONTIMEOUT:
        case ZSESSIONMOVED:
        case ZNOTREADONLY:
        case ZTHROTTLEDOP:
        case ZCLOSING:
        case ZSYSTEMERROR:
            return {unsure, code};
        case ZSESSIONEXPIRED:
        case ZINVALIDSTATE:
            return {over, code};
        default:
            return {refused, code};
    }
}

node_stat stat_of(const Stat* from) {
    if (from == nullptr) return {};
    return {.created = static_cast<std::uint64_t>(from->czxid),
            .changed = static_cast<std::uint64_t>(from->mzxid),
            .session = from->ephemeralOwner,
            .created_at = std::chrono::milliseconds{from->ctime},
            .version = from->version};
}

std::string text_of(const char* from) {
    return from != nullptr ? std::string(from) : std::string{};
}

void say_nothing(const char*) {}

}  // namespace

std::string outcome::text() const {
    return zerror(code);
}

// A thread of ours makes handles and closes them: the C client looks up names and joins its threads meanwhile.
struct session::machinery : std::enable_shared_from_this<machinery> {
    using request = unique_function<void(zhandle_t*)>;

    // What a handle is made with, and what its callbacks are told by. One for each handle, as long as that lives.
    struct line {
        machinery* of = nullptr;
        spi::time_point asked{};
        std::atomic<bool> in_use{true};
        bool connected = false;  // ever; by the C client's thread, and the keeper under `mutex`
    };

    machinery(settings with, spi::clock& time, listener& to) : how(std::move(with)), clock(time), told(to) {}

    const settings how;
    spi::clock& clock;
    listener& told;

    std::shared_mutex in_use;  // shared: somebody uses the handle
    zhandle_t* handle = nullptr;

    mutable std::mutex mutex;
    std::condition_variable_any news;
    std::thread keeper;
    std::unique_ptr<line> current;                // of the handle
    std::deque<request> backlog;                  // there is no handle yet
    std::deque<unique_function<void()>> errands;  // for the keeper
    bool expired = false;                         // the one there is
    bool unmade = false;                          // the C client could not make one
    bool connected = false;
    std::atomic<bool> closed{false};

    void ask(request what);
    void need_keeper();
    void keep();
    void make();
    void flush();
    bool drop();
    void state(line& from, zhandle_t* of, int now);

    static void watcher(zhandle_t* of, int type, int now, const char* path, void* context);

    // What the C client has to answer. It forgets some when a handle is closed in bad times.
    struct open_call {
        virtual ~open_call() = default;
        virtual void abandon() = 0;
    };
    std::mutex calls_mutex;
    std::unordered_set<open_call*> calls;

    void forget(open_call* which) {
        const std::scoped_lock guard{calls_mutex};
        calls.erase(which);
    }

    // What a callback of the C client's is given. `Arguments` are what ours takes.
    template <class... Arguments>
    struct call final : open_call {
        std::shared_ptr<machinery> of;
        unique_function<void(const outcome&, Arguments...)> done;

        call(std::shared_ptr<machinery> home, unique_function<void(const outcome&, Arguments...)> then)
            : of(std::move(home)), done(std::move(then)) {}

        void finish(int code, Arguments... arguments) {
            const std::unique_ptr<call> gone{this};
            of->forget(this);
            if (!of->closed) done(outcome_of(code), std::forward<Arguments>(arguments)...);
        }
        // Before the C client hears of it.
        void given(const zhandle_t* to) {
            if (to == nullptr) return;
            const std::scoped_lock guard{of->calls_mutex};
            of->calls.insert(this);
        }
        void abandon() override { finish(ZCONNECTIONLOSS, std::decay_t<Arguments>{}...); }
        // The C client did not take it: the keeper answers.
        void fail(int code) {
            machinery& by = *of;
            by.forget(this);
            const std::scoped_lock guard{by.mutex};
            by.errands.emplace_back([this, code] { finish(code, std::decay_t<Arguments>{}...); });
            by.news.notify_one();
        }
    };
    template <class... Arguments>
    call<Arguments...>* calling(unique_function<void(const outcome&, Arguments...)> done) {
        return new call<Arguments...>{shared_from_this(), std::move(done)};
    }
};

void session::machinery::ask(request what) {
    {
        const std::shared_lock using_it{in_use};
        if (handle != nullptr) return what(handle);
    }
    const std::scoped_lock guard{mutex};
    if (closed) return;
    backlog.push_back(std::move(what));
    need_keeper();
}

void session::machinery::need_keeper() {
    if (!keeper.joinable()) keeper = base::quiet_thread("mortise-zk", [this] { keep(); });
    news.notify_one();
}

void session::machinery::keep() {
    std::unique_lock held{mutex};
    while (!closed) {
        if (!errands.empty()) {
            auto what = std::move(errands.front());
            errands.pop_front();
            held.unlock();
            what();
            held.lock();
        } else if (expired) {
            held.unlock();
            drop();
            told.ended();
            held.lock();
        } else if (!backlog.empty()) {
            held.unlock();
            make();
            held.lock();
        } else if (handle != nullptr && !current->connected) {
            // A session must be young when it is there at last: only so is it known how long it lives.
            const auto patience = session_window::patience_of(how.session);
            if (news.wait_for(held, patience) == std::cv_status::timeout && !closed && !current->connected &&
                clock.now() - current->asked >= patience) {
                held.unlock();
                if (drop()) told.ended();  // it came at the last moment
                held.lock();
            }
        } else {
            news.wait(held);
        }
    }
}

void session::machinery::make() {
    if (handle != nullptr) return flush();  // somebody asked while it was made; only this thread changes it
    auto fresh = std::make_unique<line>();
    fresh->of = this;
    fresh->asked = clock.now();
    zhandle_t* made = zookeeper_init2(how.servers.c_str(), &machinery::watcher, static_cast<int>(how.session.count()),
                                      nullptr, fresh.get(), 0, &say_nothing);
    if (made != nullptr && !how.user.empty()) {
        const std::string who = how.user + ":" + how.password;
        zoo_add_auth(made, "digest", who.data(), static_cast<int>(who.size()), nullptr, nullptr);
    }
    {
        const std::unique_lock alone{in_use};
        const std::scoped_lock guard{mutex};
        if (made != nullptr) current = std::move(fresh);
        handle = made;
        unmade = made == nullptr;
    }
    flush();
}

void session::machinery::flush() {
    std::deque<request> waiting;
    {
        const std::scoped_lock guard{mutex};
        waiting.swap(backlog);
    }
    const std::shared_lock using_it{in_use};
    for (request& one : waiting) one(handle);
}

// Whether there was a session that is over now.
bool session::machinery::drop() {
    zhandle_t* old = nullptr;
    std::unique_ptr<line> of_old;
    {
        const std::unique_lock alone{in_use};
        const std::scoped_lock guard{mutex};
        old = std::exchange(handle, nullptr);
        expired = false;
        connected = false;
        of_old = std::move(current);
        if (of_old) of_old->in_use = false;
    }
    if (old != nullptr) {
        std::unordered_set<open_call*> asked;
        {
            const std::scoped_lock guard{calls_mutex};
            asked = calls;
        }
        zookeeper_close(old);
        std::unordered_set<open_call*> unanswered;
        {
            const std::scoped_lock guard{calls_mutex};
            std::ranges::copy_if(asked, std::inserter(unanswered, unanswered.end()),
                                 [&](open_call* one) { return calls.contains(one); });
        }
        for (open_call* one : unanswered) one->abandon();
    }
    return of_old && of_old->connected;
}

void session::machinery::watcher(zhandle_t* of, int type, int now, const char* path, void* context) {
    line& from = *static_cast<line*>(context);
    machinery& self = *from.of;
    if (!from.in_use || self.closed) return;
    if (type == ZOO_SESSION_EVENT) return self.state(from, of, now);
    if (path != nullptr) self.told.touched(path);
}

void session::machinery::state(line& from, zhandle_t* of, int now) {
    bool first = false;
    {
        const std::scoped_lock guard{mutex};
        connected = now == ZOO_CONNECTED_STATE;
        if (connected) first = !std::exchange(from.connected, true);
        expired = expired || now == ZOO_EXPIRED_SESSION_STATE || now == ZOO_AUTH_FAILED_STATE;
        news.notify_one();
    }
    if (now != ZOO_CONNECTED_STATE) return;
    const spi::duration timeout = std::chrono::milliseconds{zoo_recv_timeout(of)};
    if (!first) return told.back(timeout);
    told.begun(zoo_client_id(of)->client_id, from.asked, timeout);
}

session::session(const settings& how, spi::clock& clock, listener& told)
    : inside_(std::make_shared<machinery>(how, clock, told)) {}

session::~session() {
    close();
}

void session::close() noexcept {
    machinery& of = *inside_;
    std::deque<machinery::request> forgotten;
    {
        const std::scoped_lock guard{of.mutex};
        if (of.closed.exchange(true)) return;
        of.news.notify_all();
    }
    if (of.keeper.joinable()) of.keeper.join();
    of.drop();
    {
        const std::scoped_lock guard{of.mutex};
        forgotten.swap(of.backlog);
    }
    for (auto& one : forgotten) one(nullptr);
    while (!of.errands.empty()) {
        of.errands.front()();
        of.errands.pop_front();
    }
}

void session::aside(unique_function<void()> what) {
    const std::scoped_lock guard{inside_->mutex};
    if (inside_->closed) return;
    inside_->errands.push_back([of = inside_.get(), what = std::move(what)]() mutable {
        if (!of->closed) what();
    });
    inside_->need_keeper();
}

std::string session::complaint(const outcome& how) const {
    const std::scoped_lock guard{inside_->mutex};
    const std::string& servers = inside_->how.servers;
    if (inside_->connected) return servers + ": " + how.text();
    const bool several = servers.find(',') != std::string::npos;
    if (inside_->unmade) return (several ? "cannot find the hosts " : "cannot find the host ") + servers;
    // The first is what the C client says of requests that it never sent, once we have closed its handle.
    if (how.code == ZCLOSING || how.code == ZOPERATIONTIMEOUT)
        return several ? "none of " + servers + " answers" : servers + " does not answer";
    return "no connection to " + servers + " (" + how.text() + ")";
}

// Each verb gives the C client a function without state and a call of ours, which that function finishes.

void session::create(const std::string& path, const std::string& data, kind what,
                     unique_function<void(const outcome&, const std::string&, const node_stat&)> done) {
    auto* call = inside_->calling(std::move(done));
    inside_->ask([this_is = inside_.get(), path, data, what, call](zhandle_t* with) {
        call->given(with);
        const int mode = what == kind::ephemeral_in_line ? ZOO_EPHEMERAL_SEQUENTIAL
                         : what == kind::container       ? ZOO_CONTAINER
                                                         : ZOO_PERSISTENT;
        const ACL_vector* who = this_is->how.user.empty() ? &ZOO_OPEN_ACL_UNSAFE : &ZOO_CREATOR_ALL_ACL;
        const int taken =
            with == nullptr
                ? static_cast<int>(ZCLOSING)
                : zoo_acreate2(
                      with, path.c_str(), data.data(), static_cast<int>(data.size()), who, mode,
                      [](int code, const char* made, const Stat* stat, const void* to) {
                          using mine = std::remove_pointer_t<decltype(call)>;
                          static_cast<mine*>(const_cast<void*>(to))->finish(code, text_of(made), stat_of(stat));
                      },
                      call);
        if (taken != ZOK) call->fail(taken);
    });
}

void session::remove(const std::string& path, unique_function<void(const outcome&)> done) {
    auto* call = inside_->calling(std::move(done));
    inside_->ask([path, call](zhandle_t* with) {
        call->given(with);
        const int taken = with == nullptr ? static_cast<int>(ZCLOSING)
                                          : zoo_adelete(
                                                with, path.c_str(), -1,
                                                [](int code, const void* to) {
                                                    using mine = std::remove_pointer_t<decltype(call)>;
                                                    static_cast<mine*>(const_cast<void*>(to))->finish(code);
                                                },
                                                call);
        if (taken != ZOK) call->fail(taken);
    });
}

void session::children(const std::string& path,
                       unique_function<void(const outcome&, std::vector<std::string>, const node_stat&)> done) {
    auto* call = inside_->calling(std::move(done));
    inside_->ask([path, call](zhandle_t* with) {
        call->given(with);
        const int taken =
            with == nullptr
                ? static_cast<int>(ZCLOSING)
                : zoo_aget_children2(
                      with, path.c_str(), 0,
                      [](int code, const String_vector* names, const Stat* stat, const void* to) {
                          using mine = std::remove_pointer_t<decltype(call)>;
                          std::vector<std::string> all;
                          if (names != nullptr)
                              for (int i = 0; i < names->count; ++i) all.emplace_back(names->data[i]);
                          static_cast<mine*>(const_cast<void*>(to))->finish(code, std::move(all), stat_of(stat));
                      },
                      call);
        if (taken != ZOK) call->fail(taken);
    });
}

void session::read(const std::string& path, unique_function<void(const outcome&, std::string, const node_stat&)> done) {
    auto* call = inside_->calling(std::move(done));
    inside_->ask([path, call](zhandle_t* with) {
        call->given(with);
        const int taken =
            with == nullptr
                ? static_cast<int>(ZCLOSING)
                : zoo_aget(
                      with, path.c_str(), 0,
                      [](int code, const char* data, int size, const Stat* stat, const void* to) {
                          using mine = std::remove_pointer_t<decltype(call)>;
                          std::string value;
                          if (data != nullptr && size > 0) value.assign(data, static_cast<std::size_t>(size));
                          static_cast<mine*>(const_cast<void*>(to))->finish(code, std::move(value), stat_of(stat));
                      },
                      call);
        if (taken != ZOK) call->fail(taken);
    });
}

void session::look(const std::string& path, bool watch, unique_function<void(const outcome&, const node_stat&)> done) {
    auto* call = inside_->calling(std::move(done));
    inside_->ask([path, watch, call](zhandle_t* with) {
        call->given(with);
        const int taken = with == nullptr
                              ? static_cast<int>(ZCLOSING)
                              : zoo_aexists(
                                    with, path.c_str(), watch ? 1 : 0,
                                    [](int code, const Stat* stat, const void* to) {
                                        using mine = std::remove_pointer_t<decltype(call)>;
                                        static_cast<mine*>(const_cast<void*>(to))->finish(code, stat_of(stat));
                                    },
                                    call);
        if (taken != ZOK) call->fail(taken);
    });
}

void session::change_all(std::vector<change> what,
                         unique_function<void(const outcome&, const std::string&, const node_stat&)> done) {
    // What the C client writes its answers to.
    struct answers {
        decltype(inside_->calling(std::move(done))) call;
        std::vector<zoo_op_result_t> results;
        std::string created = std::string(1024, '\0');
        Stat set{};
    };
    auto* call = inside_->calling(std::move(done));
    auto* room = new answers{.call = call, .results = std::vector<zoo_op_result_t>(what.size())};
    inside_->ask([this_is = inside_.get(), what = std::move(what), room](zhandle_t* with) {
        room->call->given(with);
        const ACL_vector* who = this_is->how.user.empty() ? &ZOO_OPEN_ACL_UNSAFE : &ZOO_CREATOR_ALL_ACL;
        std::vector<zoo_op_t> ops(what.size());
        for (std::size_t i = 0; i < what.size(); ++i) {
            const change& one = what[i];
            const int size = static_cast<int>(one.data.size());
            switch (one.is) {
                case change::kind::create_in_line:
                    zoo_create_op_init(&ops[i], one.path.c_str(), one.data.data(), size, who, ZOO_EPHEMERAL_SEQUENTIAL,
                                       room->created.data(), static_cast<int>(room->created.size()));
                    break;
                case change::kind::remove:
                    zoo_delete_op_init(&ops[i], one.path.c_str(), one.version);
                    break;
                case change::kind::set:
                    zoo_set_op_init(&ops[i], one.path.c_str(), one.data.data(), size, one.version, &room->set);
                    break;
                case change::kind::check:
                    zoo_check_op_init(&ops[i], one.path.c_str(), one.version);
                    break;
            }
        }
        const int taken =
            with == nullptr ? static_cast<int>(ZCLOSING)
                            : zoo_amulti(
                                  with, static_cast<int>(ops.size()), ops.data(), room->results.data(),
                                  [](int code, const void* to) {
                                      const std::unique_ptr<answers> all{static_cast<answers*>(const_cast<void*>(to))};
                                      all->call->finish(code, std::string(all->created.c_str()), stat_of(&all->set));
                                  },
                                  room);
        if (taken == ZOK) return;
        room->call->fail(taken);
        delete room;
    });
}

void session::sync(unique_function<void(const outcome&)> done) {
    auto* call = inside_->calling(std::move(done));
    inside_->ask([this_is = inside_.get(), call](zhandle_t* with) {
        call->given(with);
        const int taken = with == nullptr ? static_cast<int>(ZCLOSING)
                                          : zoo_async(
                                                with, this_is->how.root.empty() ? "/" : this_is->how.root.c_str(),
                                                [](int code, const char*, const void* to) {
                                                    using mine = std::remove_pointer_t<decltype(call)>;
                                                    static_cast<mine*>(const_cast<void*>(to))->finish(code);
                                                },
                                                call);
        if (taken != ZOK) call->fail(taken);
    });
}

}  // namespace mortise::inline v0::stores::zookeeper
