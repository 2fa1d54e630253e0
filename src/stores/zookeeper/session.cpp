#include "stores/zookeeper/session.hpp"

#include "stores/zookeeper/client_handle.hpp"

#include <memory>
#include <utility>

namespace mortise::inline v0::stores::zookeeper {
namespace {

node_stat stat_of(const Stat* from) {
    if (from == nullptr) return {};
    return {.created = static_cast<std::uint64_t>(from->czxid),
            .changed = static_cast<std::uint64_t>(from->mzxid),
            .session = from->ephemeralOwner,
            .version = from->version,
            .data_length = from->dataLength};
}

std::string text_of(const char* from) {
    return from != nullptr ? std::string(from) : std::string{};
}

}  // namespace

session::session(const settings& settings, spi::clock& clock, session_listener& listener)
    : handle_(std::make_shared<client_handle>(settings, clock, listener)) {}

session::~session() {
    close();
}

void session::close() noexcept {
    handle_->close();
}

void session::run_aside(unique_function<void()> what) {
    handle_->run_aside(std::move(what));
}

bool session::unreached(const request_status& failed) const {
    return handle_->unreached(failed);
}

std::string session::complaint(const request_status& failed) const {
    return handle_->complaint(failed);
}

// Each verb gives the C client a stateless function and a call of ours, which that function finishes.

void session::create(const std::string& path, const std::string& data, kind what,
                     unique_function<void(const request_status&, const std::string&, const node_stat&)> done) {
    auto* call = handle_->new_call(std::move(done));
    handle_->with_handle([handle = handle_.get(), path, data, what, call](zhandle_t* with) {
        call->given(with);
        const int mode = what == kind::ephemeral_sequential ? ZOO_EPHEMERAL_SEQUENTIAL
                         : what == kind::container          ? ZOO_CONTAINER
                                                            : ZOO_PERSISTENT;
        const ACL_vector* acl = handle->settings().user.empty() ? &ZOO_OPEN_ACL_UNSAFE : &ZOO_CREATOR_ALL_ACL;
        const int taken =
            with == nullptr
                ? static_cast<int>(ZCLOSING)
                : zoo_acreate2(
                      with, path.c_str(), data.data(), static_cast<int>(data.size()), acl, mode,
                      [](int code, const char* made, const Stat* stat, const void* to) {
                          using mine = std::remove_pointer_t<decltype(call)>;
                          static_cast<mine*>(const_cast<void*>(to))->finish(code, text_of(made), stat_of(stat));
                      },
                      call);
        if (taken != ZOK) call->fail(taken);
    });
}

void session::remove(const std::string& path, unique_function<void(const request_status&)> done) {
    auto* call = handle_->new_call(std::move(done));
    handle_->with_handle([path, call](zhandle_t* with) {
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

void session::children(const std::string& path, bool watch, children_reply done) {
    auto* call = handle_->new_call(std::move(done));
    handle_->with_handle([path, watch, call](zhandle_t* with) {
        call->given(with);
        const int taken =
            with == nullptr
                ? static_cast<int>(ZCLOSING)
                : zoo_aget_children2(
                      with, path.c_str(), watch ? 1 : 0,
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
                   unique_function<void(const request_status&, std::string, const node_stat&)> done) {
    auto* call = handle_->new_call(std::move(done));
    handle_->with_handle([path, watch, call](zhandle_t* with) {
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

void session::stat(const std::string& path, unique_function<void(const request_status&, const node_stat&)> done) {
    auto* call = handle_->new_call(std::move(done));
    handle_->with_handle([path, call](zhandle_t* with) {
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

void session::transact(std::vector<operation> operations,
                       unique_function<void(const request_status&, const std::string&, const node_stat&)> done) {
    // What the C client writes its replies to.
    struct replies {
        decltype(handle_->new_call(std::move(done))) call;
        std::vector<zoo_op_result_t> results;
        std::string created = std::string(1024, '\0');
        Stat set{};
    };
    auto* call = handle_->new_call(std::move(done));
    auto* room = new replies{.call = call, .results = std::vector<zoo_op_result_t>(operations.size())};
    handle_->with_handle([handle = handle_.get(), operations = std::move(operations), room](zhandle_t* with) {
        room->call->given(with);
        const ACL_vector* acl = handle->settings().user.empty() ? &ZOO_OPEN_ACL_UNSAFE : &ZOO_CREATOR_ALL_ACL;
        std::vector<zoo_op_t> ops(operations.size());
        for (std::size_t i = 0; i < operations.size(); ++i) {
            const operation& one = operations[i];
            const int size = static_cast<int>(one.data.size());
            switch (one.is) {
                case operation::kind::create:
                case operation::kind::create_sequential:
                    zoo_create_op_init(&ops[i], one.path.c_str(), one.data.data(), size, acl,
                                       one.is == operation::kind::create ? ZOO_EPHEMERAL : ZOO_EPHEMERAL_SEQUENTIAL,
                                       room->created.data(), static_cast<int>(room->created.size()));
                    break;
                case operation::kind::remove:
                    zoo_delete_op_init(&ops[i], one.path.c_str(), one.version);
                    break;
                case operation::kind::set:
                    zoo_set_op_init(&ops[i], one.path.c_str(), one.data.data(), size, one.version, &room->set);
                    break;
                case operation::kind::check:
                    zoo_check_op_init(&ops[i], one.path.c_str(), one.version);
                    break;
            }
        }
        const int taken =
            with == nullptr ? static_cast<int>(ZCLOSING)
                            : zoo_amulti(
                                  with, static_cast<int>(ops.size()), ops.data(), room->results.data(),
                                  [](int code, const void* to) {
                                      const std::unique_ptr<replies> all{static_cast<replies*>(const_cast<void*>(to))};
                                      all->call->finish(code, std::string(all->created.c_str()), stat_of(&all->set));
                                  },
                                  room);
        if (taken == ZOK) return;
        room->call->fail(taken);
        delete room;
    });
}

void session::sync(unique_function<void(const request_status&)> done) {
    auto* call = handle_->new_call(std::move(done));
    handle_->with_handle([handle = handle_.get(), call](zhandle_t* with) {
        call->given(with);
        const int taken = with == nullptr
                              ? static_cast<int>(ZCLOSING)
                              : zoo_async(
                                    with, handle->settings().root.empty() ? "/" : handle->settings().root.c_str(),
                                    [](int code, const char*, const void* to) {
                                        using mine = std::remove_pointer_t<decltype(call)>;
                                        static_cast<mine*>(const_cast<void*>(to))->finish(code);
                                    },
                                    call);
        if (taken != ZOK) call->fail(taken);
    });
}

}  // namespace mortise::inline v0::stores::zookeeper
