#include "stores/zookeeper/zookeeper_store.hpp"

#include "base/text.hpp"
#include "stores/zookeeper/checkup.hpp"
#include "stores/zookeeper/claims.hpp"
#include "stores/zookeeper/four_letters.hpp"
#include "stores/zookeeper/names.hpp"
#include "stores/zookeeper/onlooker.hpp"
#include "stores/zookeeper/promised.hpp"
#include "stores/zookeeper/raw.hpp"
#include "stores/zookeeper/rights.hpp"
#include "stores/zookeeper/session.hpp"
#include "stores/zookeeper/settings.hpp"

#include <memory>
#include <utility>

namespace mortise::inline v0::stores::zookeeper {
namespace {

class zookeeper_store final : public spi::store {
public:
    zookeeper_store(settings how, const spi::context& around) : how_(std::move(how)), around_(around) {}
    ~zookeeper_store() override { close(); }

    const mortise::promises& promises() const noexcept override { return promised_; }
    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) override {
        claims_.claim(wanted, std::move(done));
    }
    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) override {
        claims_.renew(due, std::move(done));
    }
    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) override {
        claims_.release(name, id, std::move(done));
    }
    void list(spi::reply<spi::listing> done) override { others_.list(std::move(done)); }
    void break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) override {
        others_.break_hold(which, std::move(done));
    }
    void check(spi::reply<std::vector<finding>>) override;
    mortise::raw_limits raw_limits() const override { return bare_limits(how_); }
    void close() noexcept override {
        servers_.close();
        claims_.close();
    }

private:
    const settings how_;
    const spi::context around_;
    const naming names_{how_.root, how_.protocol};
    const mortise::promises promised_ = promised_by(how_);
    session servers_{how_, around_.clock, claims_};
    onlooker others_{how_, names_, servers_};
    claims claims_{how_, names_, around_, servers_, others_};
};

void zookeeper_store::check(spi::reply<std::vector<finding>> done) {
    const auto seen = std::make_shared<examination>();
    const spi::time_point sent = around_.clock.now();
    servers_.sync([this, sent, seen](const outcome& how) {
        if (!how.ok()) seen->failed = servers_.complaint(how);
        seen->trip = around_.clock.now() - sent;
        seen->session = claims_.session_timeout();
    });
    ask_for_rights(servers_, how_.root,
                   [this, seen, done = std::move(done)](const outcome& how, const std::string& path) mutable {
                       if (how == outcome::kind::denied)
                           seen->denied = "the servers do not let us read and make nodes under " +
                                          base::quoted(path + "/") + " (" + how.text() + ")";
                       else if (!how.ok() && seen->failed.empty())
                           seen->failed = servers_.complaint(how);
                       servers_.aside([this, seen, done = std::move(done)]() mutable {
                           for (const std::string& one : each_server(how_.servers)) {
                               server_facts told = read_facts(four_letters(one, "srvr"));
                               told.turns_away = told.version.empty() && door_of(one) == door::turns_away;
                               seen->servers.emplace_back(one, std::move(told));
                           }
                           done(findings_of(how_, *seen));
                       });
                   });
}

}  // namespace

spi::store_factory open(const base::url& address) {
    return [how = settings::of(address)](const spi::context& around) {
        return std::make_unique<zookeeper_store>(how, around);
    };
}

}  // namespace mortise::inline v0::stores::zookeeper
