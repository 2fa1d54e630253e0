#include "stores/etcd/etcd_store.hpp"

#include "stores/etcd/checkup.hpp"
#include "stores/etcd/connection.hpp"
#include "stores/etcd/desk.hpp"
#include "stores/etcd/promised.hpp"
#include "stores/etcd/settings.hpp"

#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

// The desk outlives it by whatever is on its way.
class etcd_store final : public spi::store {
public:
    etcd_store(const settings& how, const spi::context& around)
        : how_(how), around_(around), desk_(std::make_shared<desk>(how, around)) {
        desk_->start();
    }
    ~etcd_store() override { close(); }

    const mortise::promises& promises() const noexcept override { return promised_; }
    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) override {
        desk_->claim(wanted, std::move(done));
    }
    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) override {
        desk_->renew(due, std::move(done));
    }
    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) override {
        desk_->release(name, id, std::move(done));
    }
    void list(spi::reply<spi::listing> done) override { desk_->list(std::move(done)); }
    void break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) override {
        desk_->break_hold(which, std::move(done));
    }
    void check(spi::reply<std::vector<finding>> done) override {
        check_up(how_, desk_->cluster(), around_.clock, std::move(done));
    }
    void will_sleep(bool whether) noexcept override { connection::will_wait(whether); }
    void sleep(spi::sleeper& who) override { desk_->cluster()->wait(who); }
    void wake(spi::sleeper& who) noexcept override {
        if (who.is.exchange(spi::sleeper::answered) == spi::sleeper::asleep) {
            who.is.notify_one();
        } else {
            desk_->cluster()->nudge(who);
        }
    }
    void close() noexcept override { desk_->close(); }

private:
    const settings how_;
    const spi::context around_;
    const mortise::promises promised_ = promised_by(how_);
    const std::shared_ptr<desk> desk_;
};

}  // namespace

spi::store_factory open(const base::url& address) {
    return
        [how = settings::of(address)](const spi::context& around) { return std::make_unique<etcd_store>(how, around); };
}

}  // namespace mortise::inline v0::stores::etcd
