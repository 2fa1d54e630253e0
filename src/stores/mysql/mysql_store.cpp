#include "stores/mysql/mysql_store.hpp"

#include "base/address_options.hpp"
#include "stores/mysql/bound_claims.hpp"
#include "stores/mysql/diagnostics.hpp"
#include "stores/mysql/grant_listener.hpp"
#include "stores/mysql/mariadb_driver.hpp"
#include "stores/mysql/promises.hpp"
#include "stores/mysql/row_dialect.hpp"
#include "stores/mysql/schema.hpp"
#include "stores/mysql/settings.hpp"
#include "stores/sql/row_store.hpp"

#include <memory>
#include <utility>

namespace mortise::inline v0::stores::mysql {
namespace {

// A client without claims says nothing for long; of one that has some, its connection tells that it lives.
constexpr std::chrono::seconds silence_of_rows = std::chrono::hours{8};

// for_update and get_lock.
class bound_store final : public spi::store {
public:
    bound_store(const settings& settings, const spi::context& context)
        : settings_(settings),
          claims_(std::make_shared<bound_claims>(settings_, context, bound_lease(settings_))),
          clock_(context.clock) {}
    ~bound_store() override { claims_->close(); }

    const mortise::promises& promises() const noexcept override { return promises_; }
    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) override {
        claims_->claim(wanted, std::move(done));
    }
    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) override {
        claims_->renew(due, std::move(done));
    }
    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) override {
        claims_->release(name, id, std::move(done));
    }
    void list(spi::reply<spi::listing> done) override { claims_->list(std::move(done)); }
    void break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) override {
        claims_->break_hold(which, std::move(done));
    }
    void check(spi::reply<std::vector<finding>> done) override {
        diagnose(settings_, claims_->sessions().shared(), clock_, std::move(done));
    }
    std::string schema() const override { return bound_schema(settings_); }
    void will_sleep(bool whether) noexcept override { sql::reading_callers::will_sleep(whether); }
    void sleep(spi::sleeper& who) override { claims_->callers().sleep(who); }
    void wake(spi::sleeper& who) noexcept override { claims_->callers().wake(who); }
    void close() noexcept override { claims_->close(); }

private:
    const settings settings_;
    const mortise::promises promises_ = promises_of(settings_);
    const std::shared_ptr<bound_claims> claims_;
    spi::clock& clock_;
};

// A client that is not woken: it asks.
class no_waker final : public sql::row_waker {
public:
    bool watch(const waiter&) override { return false; }
    void unwatch(const claim_id&) override {}
    bool serves() const override { return false; }
    void close() noexcept override {}
};

// row.
spi::store_factory open_rows(const settings& how) {
    const sql::driver_factory make = make_drivers(how, silence_of_rows);
    const auto setup = std::make_shared<const sql::row_setup>(sql::row_setup{
        .dialect = row_dialect(),
        .promises = promises_of_row(how),
        .servers = how.servers,
        .make = make,
        .timeout = how.timeout,
        .shown = how.shown(),
        .schema = row_schema(how),
        .waker = [how, make](std::int64_t session, net::poller& sockets, spi::clock& clock,
                             sql::row_woken woken) -> std::unique_ptr<sql::row_waker> {
            if (how.wait_connections == 0) return std::make_unique<no_waker>();
            const auto connect = [how, make, &sockets, &clock](std::function<void(sql::notification)> notified) {
                return std::make_shared<sql::connection>(
                    sql::connection::setup{
                        .servers = how.servers, .make = make, .timeout = how.timeout, .notified = std::move(notified)},
                    clock, sockets);
            };
            return std::make_unique<grant_listener>(connect, session, clock, std::move(woken));
        },
        .questions = {{server_variables(), [how](const sql::result& got) { return findings_of(how, got); }}},
    });
    return [setup](const spi::context& context) { return sql::make_row_store(setup, context); };
}

}  // namespace

spi::store_factory open(const base::url& address) {
    const settings how = settings::of(address);
    if (!how.bound()) return open_rows(how);
    return [how](const spi::context& context) { return std::make_unique<bound_store>(how, context); };
}

}  // namespace mortise::inline v0::stores::mysql
