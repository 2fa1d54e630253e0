#include "stores/zookeeper/session.hpp"

#include "stores/zookeeper/machinery.hpp"

#include <deque>
#include <mutex>
#include <utility>

namespace mortise::inline v0::stores::zookeeper {
namespace {

node_stat stat_of(const Stat* from) {
    if (from == nullptr) return {};
    return {.created = static_cast<std::uint64_t>(from->czxid),
            .changed = static_cast<std::uint64_t>(from->mzxid),
            .session = from->ephemeralOwner,
            .version = from->version};
}

std::string text_of(const char* from) {
    return from != nullptr ? std::string(from) : std::string{};
}

}  // namespace

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

std::string outcome::text() const {
    return zerror(code);
}

outcome outcome::session_over() {
    return outcome_of(ZSESSIONEXPIRED);
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

bool session::unreached(const outcome& how) const {
    return inside_->unreached(how);
}

std::string session::complaint(const outcome& how) const {
    const bool unreached = inside_->unreached(how);
    const std::scoped_lock guard{inside_->mutex};
    const std::string& servers = inside_->how.servers;
    if (inside_->connected) return servers + ": " + how.text();
    if (unreached && !inside_->turned_away_by.empty())
        return inside_->turned_away_by +
               " accepts connections and closes them at once; most likely this machine has as many as it allows: raise "
               "maxClientCnxns (60 unless set) in its zoo.cfg, or run fewer clients here";
    const bool several = servers.find(',') != std::string::npos;
    if (inside_->unmade) return (several ? "cannot find the hosts " : "cannot find the host ") + servers;
    // What the C client says of requests that it never sent, once we have closed its handle, is now this and now that.
    if (inside_->silent || how.code == ZCLOSING || how.code == ZOPERATIONTIMEOUT)
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

void session::read(const std::string& path, bool watch,
                   unique_function<void(const outcome&, std::string, const node_stat&)> done) {
    auto* call = inside_->calling(std::move(done));
    inside_->ask([path, watch, call](zhandle_t* with) {
        call->given(with);
        const int taken =
            with == nullptr
                ? static_cast<int>(ZCLOSING)
                : zoo_aget(
                      with, path.c_str(), watch ? 1 : 0,
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

void session::look(const std::string& path, unique_function<void(const outcome&, const node_stat&)> done) {
    auto* call = inside_->calling(std::move(done));
    inside_->ask([path, call](zhandle_t* with) {
        call->given(with);
        const int taken = with == nullptr
                              ? static_cast<int>(ZCLOSING)
                              : zoo_aexists(
                                    with, path.c_str(), 0,
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
