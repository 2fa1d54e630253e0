#include "stores/zookeeper/zookeeper_store.hpp"

#include "base/text.hpp"
#include "stores/zookeeper/admin.hpp"
#include "stores/zookeeper/claims.hpp"
#include "stores/zookeeper/diagnostics.hpp"
#include "stores/zookeeper/four_letters.hpp"
#include "stores/zookeeper/names.hpp"
#include "stores/zookeeper/permissions.hpp"
#include "stores/zookeeper/promises.hpp"
#include "stores/zookeeper/session.hpp"
#include "stores/zookeeper/session_keepalive.hpp"
#include "stores/zookeeper/settings.hpp"

#include <memory>
#include <utility>

namespace mortise::inline v0::stores::zookeeper {
namespace {

class zookeeper_store final : public spi::store {
public:
    zookeeper_store(settings settings, const spi::context& context)
        : settings_(std::move(settings)), context_(context) {}
    ~zookeeper_store() override { close(); }

    const mortise::promises& promises() const noexcept override { return promises_; }
    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) override {
        claims_.claim(wanted, std::move(done));
    }
    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) override {
        claims_.renew(due, std::move(done));
    }
    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) override {
        claims_.release(name, id, std::move(done));
    }
    void list(spi::reply<spi::listing> done) override { admin_.list(std::move(done)); }
    void break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) override {
        admin_.break_hold(which, std::move(done));
    }
    void check(spi::reply<std::vector<finding>>) override;
    void close() noexcept override {
        servers_.close();
        claims_.close();
    }

private:
    const settings settings_;
    const spi::context context_;
    const naming names_{settings_.root, settings_.protocol};
    const mortise::promises promises_ = promises_of(settings_);
    session servers_{settings_, context_.clock, claims_};
    session_keepalive keepalive_{servers_, context_.clock};
    admin admin_{settings_, names_, servers_};
    claims claims_{settings_, names_, context_, servers_, keepalive_};
};

void zookeeper_store::check(spi::reply<std::vector<finding>> done) {
    const auto seen = std::make_shared<diagnosis>();
    const spi::time_point sent = context_.clock.now();
    servers_.sync([this, sent, seen](const request_status& status) {
        if (!status.ok()) seen->failed = servers_.complaint(status);
        seen->trip = context_.clock.now() - sent;
        seen->session = keepalive_.timeout();
    });
    check_permissions(
        servers_, settings_.root,
        [this, seen, done = std::move(done)](const request_status& status, const std::string& path) mutable {
            if (status == request_status::kind::denied)
                seen->denied = "the servers do not permit us to read and create nodes under " +
                               base::quoted(path + "/") + " (" + status.text() + ")";
            else if (!status.ok() && seen->failed.empty())
                seen->failed = servers_.complaint(status);
            servers_.run_aside([this, seen, done = std::move(done)]() mutable {
                for (const std::string& one : each_server(settings_.servers)) {
                    server_facts facts = read_facts(four_letters(one, "srvr"));
                    facts.turns_away = facts.version.empty() && try_connecting(one) == connect_result::closed_at_once;
                    seen->servers.emplace_back(one, std::move(facts));
                }
                done(findings_of(settings_, *seen));
            });
        });
}

}  // namespace

spi::store_factory open(const base::url& address) {
    return [settings = settings::of(address)](const spi::context& context) {
        return std::make_unique<zookeeper_store>(settings, context);
    };
}

}  // namespace mortise::inline v0::stores::zookeeper
