#include "stores/etcd/etcd_store.hpp"

#include "stores/etcd/admin.hpp"
#include "stores/etcd/claims.hpp"
#include "stores/etcd/client_parts.hpp"
#include "stores/etcd/connection.hpp"
#include "stores/etcd/diagnostics.hpp"
#include "stores/etcd/promises.hpp"
#include "stores/etcd/renewals.hpp"
#include "stores/etcd/settings.hpp"

#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

// Its parts outlive it by whatever is on its way.
class etcd_store final : public spi::store {
public:
    etcd_store(const settings& how, const spi::context& around)
        : parts_(new client_parts{.settings = how, .context = around, .cluster = members::of(how, around.clock)}) {
        claims_->start();
    }
    ~etcd_store() override { close(); }

    const mortise::promises& promises() const noexcept override { return promises_; }
    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) override {
        claims_->claim(wanted, std::move(done));
    }
    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) override {
        renewals_->renew(due, std::move(done));
    }
    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) override {
        claims_->release(name, id, std::move(done));
    }
    void list(spi::reply<spi::listing> done) override { admin_->list(std::move(done)); }
    void break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) override {
        admin_->break_hold(which, std::move(done));
    }
    void check(spi::reply<std::vector<finding>> done) override {
        diagnose(parts_->settings, parts_->cluster, parts_->context.clock, std::move(done));
    }
    void will_sleep(bool whether) noexcept override { connection::will_wait(whether); }
    void sleep(spi::sleeper& caller) override { parts_->cluster->wait(caller); }
    void wake(spi::sleeper& caller) noexcept override {
        if (caller.is.exchange(spi::sleeper::answered) == spi::sleeper::asleep) {
            caller.is.notify_one();
        } else {
            parts_->cluster->nudge(caller);
        }
    }
    void close() noexcept override { claims_->close(); }

private:
    const std::shared_ptr<client_parts> parts_;
    const mortise::promises promises_ = promises_of(parts_->settings);
    const std::shared_ptr<claims> claims_ = std::make_shared<claims>(parts_);
    const std::shared_ptr<renewals> renewals_ = std::make_shared<renewals>(parts_, claims_->table());
    const std::shared_ptr<admin> admin_ = std::make_shared<admin>(parts_, claims_->table());
};

}  // namespace

spi::store_factory open(const base::url& address) {
    return
        [how = settings::of(address)](const spi::context& around) { return std::make_unique<etcd_store>(how, around); };
}

}  // namespace mortise::inline v0::stores::etcd
