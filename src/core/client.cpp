#include "base/url.hpp"
#include "core/engine.hpp"
#include "core/list_poller.hpp"
#include "core/reentry.hpp"
#include "core/registry.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>
#include <mortise/spi/client.hpp>

#include <cstdlib>
#include <string>
#include <utility>

namespace mortise::inline v0 {
namespace {

claim wanted_by(std::string_view name, const claim_options& options) {
    return {.name = std::string(name), .options = options};
}

std::string store_from_environment() {
    const char* named = ::secure_getenv("MORTISE_STORE");
    if (named != nullptr && *named == '\0')
        throw error(errc::bad_url, "MORTISE_STORE is set but empty; name a store in it, or unset it for host:");
    return named != nullptr ? named : "host:";
}

error not_listed(const std::string& store, std::error_code ec, const std::string& why) {
    const char* const silent = ec == errc::unreachable ? "it did not answer: " : "";
    return error(ec, "store " + store + ": " + (why.empty() ? ec.message() : silent + why));
}

}  // namespace

client::client(std::shared_ptr<core::engine> made)
    : engine_(std::move(made)), frames_(std::make_shared<core::reentry>()) {}

client::client(std::string_view store_url, client_options options)
    : client([&] {
          const base::url address = base::url::parse(store_url);
          return core::engine::make(core::open_store(address), {}, std::move(options), address.masked());
      }()) {}

client::client(client_options options) : client(store_from_environment(), std::move(options)) {}

client::client(client&&) noexcept = default;

client& client::operator=(client&& other) noexcept {
    if (this != &other) {
        leave();
        engine_ = std::move(other.engine_);
        frames_ = std::move(other.frames_);
    }
    return *this;
}

client::~client() {
    leave();
}

void client::leave() noexcept {
    if (!engine_) return;
    if (engine_->forked()) {  // the parent's: leaked, not closed
        new std::shared_ptr<core::engine>(std::move(engine_));
        new std::shared_ptr<core::reentry>(std::move(frames_));
        return;
    }
    engine_->close();
}

attempt client::try_acquire(std::string_view name, const claim_options& options) {
    claim wanted = wanted_by(name, options);
    if (!wanted.options.wait) wanted.options.wait = std::chrono::nanoseconds::zero();
    return engine_->acquire(std::move(wanted));
}

hold client::acquire(std::string_view name, const claim_options& options) {
    return engine_->acquire(wanted_by(name, options)).value();
}

hold client::acquire(std::string_view name, const claim_options& options, std::error_code& ec) {
    ec.clear();
    try {
        attempt got = engine_->acquire(wanted_by(name, options));
        ec = got.reason();
        return got ? *std::move(got) : hold{};
    } catch (const error& e) {
        ec = e.code();
        return {};
    }
}

void client::start(claim wanted, completion done) {
    core::check_completion(done);
    engine_->start(std::move(wanted), core::on_notifier(engine_->notifications(), std::move(done)));
}

release_result client::release(std::string_view name, const claim_id& id, std::error_code& ec) noexcept {
    return engine_->release(name, id, ec);
}

void client::start_release(std::string_view name, const claim_id& id, release_completion done) {
    core::check_completion(done);
    engine_->start_release(name, id, core::on_notifier(engine_->notifications(), std::move(done)));
}

void client::start_list(unique_function<void(std::vector<held_lock>, std::error_code)> done) {
    core::check_completion(done);
    engine_->queries().start_list(core::on_notifier(engine_->notifications(), std::move(done)));
}

std::vector<held_lock> client::list(std::error_code& ec) {
    return engine_->queries().list(ec);
}

std::vector<held_lock> client::list() {
    std::error_code ec;
    std::string why;
    std::vector<held_lock> all = engine_->queries().list(ec, &why);
    if (ec) throw not_listed(store(), ec, why);
    return all;
}

void client::list_in_parts(const some_locks& part, std::error_code& ec) {
    engine_->queries().list_in_parts(part, ec);
}

void client::list_in_parts(const some_locks& part) {
    std::error_code ec;
    std::string why;
    engine_->queries().list_in_parts(part, ec, &why);
    if (ec) throw not_listed(store(), ec, why);
}

bool client::renew(std::string_view name, const claim_id& id, std::chrono::nanoseconds lease,
                   std::error_code& ec) noexcept {
    return engine_->queries().renew(name, id, lease, ec);
}

watch client::watch(std::string_view name, change changed) {
    return core::watch(engine_->link(), engine_->policy(), name, std::move(changed));
}

bool client::break_lock(std::string_view name, token held, std::string_view why, std::error_code& ec) {
    return engine_->queries().break_lock(name, held, why, ec);
}

std::vector<finding> client::check(std::error_code& ec) {
    return engine_->queries().check(ec);
}

std::string client::schema() const {
    return engine_->store().schema();
}

const promises& client::promises() const noexcept {
    return engine_->store().promises();
}

const std::string& client::store() const noexcept {
    return engine_->shown_as();
}

bool client::forked() const noexcept {
    return engine_->forked();
}

namespace spi {

client make_client(const store_factory& store, world around, client_options options) {
    return core::access::wrap(core::engine::make(store, std::move(around), std::move(options), "(given store)"));
}

store_factory factory_of(std::string_view store_url) {
    return core::open_store(base::url::parse(store_url));
}

}  // namespace spi

}  // namespace mortise::inline v0
