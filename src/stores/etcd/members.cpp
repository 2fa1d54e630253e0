#include "stores/etcd/members.hpp"

#include "rpc.pb.h"

#include <mortise/error.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <grpc/grpc.h>
#include <grpc/support/time.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/client_callback.h>
#include <sys/types.h>
#include <unistd.h>

namespace mortise::inline v0::stores::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int none = -1;  // no limit

grpc::ByteBuffer buffer_of(const std::string& bytes) {
    const grpc::Slice slice{bytes};
    return {&slice, 1};
}

std::string bytes_of(const grpc::ByteBuffer& buffer) {
    std::vector<grpc::Slice> slices;
    std::string bytes;
    if (!buffer.Dump(&slices).ok()) return bytes;
    for (const grpc::Slice& one : slices) bytes.append(reinterpret_cast<const char*>(one.begin()), one.size());
    return bytes;
}

bool says(const grpc::Status& said, std::string_view what) {
    return said.error_message().find(what) != std::string::npos;
}

std::string line_of(const std::string& address, std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    if (text.size() > 300) text.resize(300);
    return address + ": " + text;
}

// What etcd and gRPC say, in our terms.
outcome read_status(const grpc::Status& said, const std::string& address) {
    using enum outcome::verdict;
    outcome end{.is = unknown, .reason = errc::unreachable};
    if (said.ok()) return {.is = answered};
    end.detail = line_of(address, said.error_message());
    switch (said.error_code()) {
        case grpc::StatusCode::NOT_FOUND:
            end.is = refused;
            end.reason = errc::lost;
            end.no_lease = says(said, "lease not found");
            break;
        case grpc::StatusCode::PERMISSION_DENIED:
            end.is = refused;
            end.reason = errc::denied;
            end.detail += "; the user needs the right to read and write the keys of the option prefix";
            break;
        case grpc::StatusCode::UNAUTHENTICATED:
            end.is = refused;
            end.reason = errc::denied;
            break;
        case grpc::StatusCode::INVALID_ARGUMENT:
            end.is = refused;
            end.reason = says(said, "user") || says(said, "auth") ? errc::denied : errc::invalid_option;
            break;
        case grpc::StatusCode::FAILED_PRECONDITION:
            end.is = refused;
            end.reason = says(said, "authentication") ? errc::denied : errc::unsupported;
            end.lease_exists = says(said, "lease already exists");
            if (says(said, "authentication is not enabled")) end.detail += "; leave the user out of the address";
            break;
        case grpc::StatusCode::RESOURCE_EXHAUSTED:
            end.reason = errc::exhausted;
            if (says(said, "space exceeded")) {
                end.is = refused;
                end.detail += "; compact and defragment it, then clear the alarm with etcdctl alarm disarm";
            }
            break;
        case grpc::StatusCode::UNIMPLEMENTED:
            end.is = refused;
            end.reason = errc::unsupported;
            end.detail += "; is this an etcd 3.4 or newer?";
            break;
        case grpc::StatusCode::UNAVAILABLE:
            if (says(said, "CERTIFICATE_VERIFY_FAILED") || says(said, "Ssl handshake") || says(said, "Peer name")) {
                end.is = refused;
                end.reason = errc::denied;
                end.detail += "; look at the options ca, cert, key and server_name";
            }
            break;
        default:
            break;
    }
    return end;
}

// It says nothing of what was asked: another member may do better.
bool is_trouble_of_the_member(const grpc::Status& said) {
    return said.error_code() == grpc::StatusCode::UNAVAILABLE ||
           said.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
}

// gRPC has threads, which do not go along when a process forks; so a child cannot use it while one of its users lives. And
// it never closes its epoll descriptor, which parent and child would then share; so it must not have one.
std::atomic<int> users_of_grpc{0};
std::atomic<pid_t> process_of_grpc{0};

bool polls() {
    const char* strategy = std::getenv("GRPC_POLL_STRATEGY");
    return strategy != nullptr && std::string_view{strategy} == "poll";
}

bool cut_off_by_fork() {
    const pid_t first = process_of_grpc.load();
    return first != 0 && first != ::getpid() && (users_of_grpc.load() > 0 || !polls());
}

bool grpc_has_threads() {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream{task.path() / "comm"}, name);
        for (const std::string_view one :
             {"event_engine", "timer_manager", "grpc_", "nexting_thread", "default-exec", "resolver-exec"})
            if (name.starts_with(one)) return true;
    }
    return false;
}

// Its threads end on their own time. A process that means to fork waits for them, unless others use gRPC too.
void await_the_end_of_grpc() {
    if (users_of_grpc.load() > 0 || !polls()) return;
    grpc_init();
    grpc_shutdown_blocking();
    for (int tries = 0; tries < 2000 && grpc_has_threads(); ++tries) std::this_thread::sleep_for(milliseconds{1});
}

class grpc_members;

// One that was asked.
struct call {
    std::size_t member = 0;
    bool pinned = false;  // to that member
    bool again = false;   // its token was not accepted once
    const char* method = nullptr;
    spi::duration timeout{};
    std::string token{};
    grpc::ByteBuffer request{};
    grpc::ByteBuffer response{};
    std::optional<grpc::ClientContext> context{};
    members::answered done{};
};

class conversation final : public stream,
                           public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                           public std::enable_shared_from_this<conversation> {
public:
    conversation(std::shared_ptr<grpc_members> home, const char* method, listener hears)
        : home_(std::move(home)), method_(method), hears_(std::move(hears)) {}

    void begin(std::size_t member, const std::string& token, grpc::GenericStub& stub);
    void fail(const outcome& why);  // it cannot begin
    void say(std::string message) override;
    void stop() override;
    void cut();  // as if the member had ended it

    std::size_t member() const {
        std::scoped_lock guard{mutex_};
        return member_;
    }

    void OnReadDone(bool ok) override;
    void OnWriteDone(bool ok) override;
    void OnDone(const grpc::Status& said) override;

private:
    void write_next(std::unique_lock<std::mutex>& held);

    const std::shared_ptr<grpc_members> home_;
    const char* const method_;
    listener hears_;
    std::optional<grpc::ClientContext> context_{std::in_place};
    grpc::ByteBuffer reading_;

    mutable std::mutex mutex_;
    std::shared_ptr<conversation> self_;  // while gRPC knows us
    std::size_t member_ = 0;
    std::deque<std::string> to_say_;
    grpc::ByteBuffer writing_;
    bool begun_ = false;
    bool busy_ = false;  // with a write
    bool over_ = false;
    std::atomic<bool> stopped_{false};
};

class grpc_members final : public members, public std::enable_shared_from_this<grpc_members> {
public:
    explicit grpc_members(settings how) : how_(std::move(how)) {}

    void ask(const char* method, std::string request, spi::duration timeout, answered done) override {
        send(method, request, timeout, std::move(done), std::nullopt);
    }
    void ask_one(std::size_t member, const char* method, std::string request, spi::duration timeout,
                 answered done) override {
        send(method, request, timeout, std::move(done), member);
    }
    std::shared_ptr<stream> open(const char* method, stream::listener hears) override {
        auto made = std::make_shared<conversation>(shared_from_this(), method, std::move(hears));
        with_token([this, made](const outcome& admission, const std::string& token) {
            if (!admission.ok()) return made->fail(admission);
            std::size_t member = 0;
            {
                std::scoped_lock guard{mutex_};
                if (closed_) return;
                streams_.insert(made);
                member = current_;
            }
            made->begin(member, token, stub_of(member));
        });
        return made;
    }
    void give_up(const stream& silent) override { rotate(static_cast<const conversation&>(silent).member(), true); }

    std::size_t count() const override { return how_.endpoints.size(); }
    const std::string& address_of(std::size_t member) const override { return how_.endpoints[member]; }

    void guarded(unique_function<void()> what) override {
        struct visit {
            grpc_members& of;
            explicit visit(grpc_members& m) : of(m) { of.inside_.fetch_add(1); }
            ~visit() {
                if (of.inside_.fetch_sub(1) == 1 && of.closed_.load()) of.inside_.notify_all();
            }
        } const here{*this};
        if (!closed_.load()) what();
    }

    void close() noexcept override;

    void finished(const std::shared_ptr<conversation>& one) {
        std::scoped_lock guard{mutex_};
        streams_.erase(one);
        if (closed_) quiet_.notify_all();
    }
    void rotate(std::size_t from, bool even_alone = false);
    void forget_token(const std::string& refused) {
        std::scoped_lock guard{mutex_};
        if (token_ == refused) token_.clear();
    }

private:
    using admitted = unique_function<void(const outcome&, const std::string& token)>;

    grpc::GenericStub& stub_of(std::size_t member);
    std::shared_ptr<grpc::Channel> connect(const std::string& endpoint) const;
    void with_token(admitted then);
    void authenticate();
    void send(const char* method, const std::string& request, spi::duration timeout, answered done,
              std::optional<std::size_t> member);
    void start(const std::shared_ptr<call>& one);
    void ended(const std::shared_ptr<call>& one, const grpc::Status& said);

    const settings how_;
    std::atomic<bool> closed_{false};
    std::atomic<int> inside_{0};

    std::mutex mutex_;
    std::condition_variable quiet_;
    std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;  // as many as endpoints, made when first needed
    std::size_t current_ = 0;
    std::set<std::shared_ptr<call>> calls_;
    std::set<std::shared_ptr<conversation>> streams_;
    std::string token_;
    bool authenticating_ = false;
    std::vector<admitted> waiting_;  // for a token
};

gpr_timespec in(spi::duration time) {
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(time.count(), GPR_TIMESPAN));
}

void prepare(grpc::ClientContext& context, const std::string& token) {
    context.AddMetadata("hasleader", "true");  // better an error than silence
    if (!token.empty()) context.AddMetadata("token", token);
}

std::shared_ptr<grpc::Channel> grpc_members::connect(const std::string& endpoint) const {
    grpc::ChannelArguments args;
    args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
    args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
    args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
    args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 6000);  // etcd accepts one in five seconds
    args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 3000);
    args.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    args.SetMaxReceiveMessageSize(none);
    if (!how_.tls.on) return grpc::CreateCustomChannel(endpoint, grpc::InsecureChannelCredentials(), args);
    grpc::SslCredentialsOptions trust;
    trust.pem_root_certs = how_.tls.authority;
    trust.pem_cert_chain = how_.tls.certificate;
    trust.pem_private_key = how_.tls.key;
    if (!how_.tls.server_name.empty()) args.SetSslTargetNameOverride(how_.tls.server_name);
    return grpc::CreateCustomChannel(endpoint, grpc::SslCredentials(trust), args);
}

grpc::GenericStub& grpc_members::stub_of(std::size_t member) {
    std::scoped_lock guard{mutex_};
    if (stubs_.empty()) {
        users_of_grpc.fetch_add(1);
        process_of_grpc.store(::getpid());
        stubs_.resize(how_.endpoints.size());
    }
    if (!stubs_[member]) stubs_[member] = std::make_unique<grpc::GenericStub>(connect(how_.endpoints[member]));
    return *stubs_[member];
}

void grpc_members::with_token(admitted then) {
    if (cut_off_by_fork())
        return then({.is = outcome::verdict::refused,
                     .reason = errc::unsupported,
                     .detail = "a parent of this process uses gRPC, which cannot be used after a fork; make the first "
                               "client of etcd after the fork, or set GRPC_POLL_STRATEGY=poll and close all before it"},
                    {});
    if (how_.user.empty()) return then({.is = outcome::verdict::answered}, {});
    std::string token;
    bool begin = false;
    {
        std::scoped_lock guard{mutex_};
        token = token_;
        if (token.empty()) {
            waiting_.push_back(std::move(then));
            begin = !std::exchange(authenticating_, true);
        }
    }
    if (!token.empty()) return then({.is = outcome::verdict::answered}, token);
    if (begin) authenticate();
}

void grpc_members::authenticate() {
    mortise_etcd::credentials who;
    who.set_name(how_.user);
    who.set_password(how_.password);
    const auto one = std::make_shared<call>();
    one->method = "/etcdserverpb.Auth/Authenticate";
    one->timeout = how_.timeout;
    one->request = buffer_of(who.SerializeAsString());
    one->done = [this](const outcome& said, const std::string& bytes) {
        mortise_etcd::admission given;
        if (said.ok()) static_cast<void>(given.ParseFromString(bytes));
        std::vector<admitted> all;
        {
            std::scoped_lock guard{mutex_};
            authenticating_ = false;
            token_ = given.token();
            all = std::exchange(waiting_, {});
        }
        for (admitted& then : all) then(said, given.token());
    };
    start(one);
}

void grpc_members::send(const char* method, const std::string& request, spi::duration timeout, answered done,
                        std::optional<std::size_t> member) {
    const auto one = std::make_shared<call>();
    one->member = member.value_or(0);
    one->pinned = member.has_value();
    one->method = method;
    one->timeout = timeout;
    one->request = buffer_of(request);
    one->done = std::move(done);
    with_token([this, one](const outcome& admission, const std::string& token) {
        if (!admission.ok()) return guarded([&] { one->done(admission, {}); });
        one->token = token;
        start(one);
    });
}

void grpc_members::start(const std::shared_ptr<call>& one) {
    {
        std::scoped_lock guard{mutex_};
        if (closed_) return;
        if (!one->pinned) one->member = current_;
        one->context.emplace();
        calls_.insert(one);
    }
    prepare(*one->context, one->token);
    one->context->set_deadline(in(one->timeout));
    stub_of(one->member)
        .UnaryCall(&*one->context, one->method, {}, &one->request, &one->response,
                   [self = shared_from_this(), one](const grpc::Status& said) { self->ended(one, said); });
}

void grpc_members::ended(const std::shared_ptr<call>& one, const grpc::Status& said) {
    {
        std::scoped_lock guard{mutex_};
        one->context.reset();
        calls_.erase(one);
        if (closed_) return quiet_.notify_all();
    }
    if (is_trouble_of_the_member(said) && !one->pinned) rotate(one->member);
    if (said.error_code() == grpc::StatusCode::UNAUTHENTICATED && !one->token.empty() &&
        !std::exchange(one->again, true)) {
        forget_token(one->token);
        return with_token([this, one](const outcome& admission, const std::string& token) {
            if (!admission.ok()) return guarded([&] { one->done(admission, {}); });
            one->token = token;
            start(one);
        });
    }
    guarded([&] {
        one->done(read_status(said, how_.endpoints[one->member]), said.ok() ? bytes_of(one->response) : std::string{});
    });
}

void grpc_members::rotate(std::size_t from, bool even_alone) {
    std::vector<std::shared_ptr<conversation>> of_it;
    {
        std::scoped_lock guard{mutex_};
        if (current_ != from || closed_ || (how_.endpoints.size() == 1 && !even_alone)) return;
        current_ = (from + 1) % how_.endpoints.size();
        for (const auto& one : streams_)
            if (one->member() == from) of_it.push_back(one);
    }
    for (const auto& one : of_it) one->cut();
}

void grpc_members::close() noexcept {
    std::set<std::shared_ptr<conversation>> streams;
    {
        std::scoped_lock guard{mutex_};
        if (closed_.exchange(true)) return;
        for (const auto& one : calls_)
            if (one->context) one->context->TryCancel();
        streams = streams_;
    }
    for (const auto& one : streams) one->cut();
    streams.clear();
    for (int n = inside_.load(); n != 0; n = inside_.load()) inside_.wait(n);
    std::unique_lock held{mutex_};
    const bool quiet = quiet_.wait_for(held, seconds{1}, [&] { return calls_.empty() && streams_.empty(); });
    auto* stubs = new std::vector(std::move(stubs_));
    held.unlock();
    // The last channel of a process takes gRPC's threads with it, and must not be destroyed by one of them.
    if (!quiet) return;
    if (!stubs->empty()) users_of_grpc.fetch_sub(1);
    delete stubs;
    await_the_end_of_grpc();
}

void conversation::begin(std::size_t member, const std::string& token, grpc::GenericStub& stub) {
    prepare(*context_, token);
    std::unique_lock held{mutex_};
    member_ = member;
    self_ = shared_from_this();
    begun_ = true;
    stub.PrepareBidiStreamingCall(&*context_, method_, {}, this);
    AddHold();  // for writes that begin outside of gRPC's calls to us
    StartRead(&reading_);
    write_next(held);
    held.unlock();
    StartCall();
    if (stopped_) cut();
}

void conversation::fail(const outcome& why) {
    home_->guarded([&] {
        if (!stopped_) hears_.ended(why);
    });
}

void conversation::say(std::string message) {
    std::unique_lock held{mutex_};
    to_say_.push_back(std::move(message));
    write_next(held);
}

void conversation::write_next(std::unique_lock<std::mutex>&) {
    if (!begun_ || busy_ || over_ || to_say_.empty()) return;
    writing_ = buffer_of(to_say_.front());
    to_say_.pop_front();
    busy_ = true;
    StartWrite(&writing_);
}

void conversation::stop() {
    stopped_ = true;
    cut();
}

void conversation::cut() {
    std::scoped_lock guard{mutex_};
    if (begun_ && context_) context_->TryCancel();
}

void conversation::OnReadDone(bool ok) {
    if (!ok) {
        {
            std::scoped_lock guard{mutex_};
            over_ = true;
        }
        return RemoveHold();
    }
    const std::string message = bytes_of(reading_);
    home_->guarded([&] {
        if (!stopped_) hears_.heard(message);
    });
    StartRead(&reading_);
}

void conversation::OnWriteDone(bool ok) {
    std::unique_lock held{mutex_};
    busy_ = false;
    if (ok) write_next(held);
}

void conversation::OnDone(const grpc::Status& said) {
    std::shared_ptr<conversation> self;
    {
        std::scoped_lock guard{mutex_};
        self = std::move(self_);
        context_.reset();
    }
    home_->finished(self);
    if (is_trouble_of_the_member(said)) home_->rotate(member_);
    outcome end = read_status(said, home_->address_of(member_));
    if (end.ok()) end = {.is = outcome::verdict::unknown, .reason = errc::unreachable};
    home_->guarded([&] {
        if (!stopped_) hears_.ended(end);
    });
}

}  // namespace

stream::~stream() = default;
members::~members() = default;

std::shared_ptr<members> members::of(const settings& how) {
    return std::make_shared<grpc_members>(how);
}

}  // namespace mortise::inline v0::stores::etcd
