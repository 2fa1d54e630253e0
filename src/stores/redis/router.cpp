#include "stores/redis/router.hpp"

#include <utility>

namespace mortise::inline v0::stores::redis {
namespace {

// One server.
class lone final : public router {
public:
    lone(const settings& how, const std::string& inbox, hooks tell, spi::clock& clock, poller& sockets)
        : server_(how,
                  connection::plan{.where = how.endpoints.front(),
                                   .user = how.user,
                                   .password = how.password,
                                   .database = how.database,
                                   .inbox = inbox},
                  connection::hooks{
                      .pushed = [told = tell.pushed](std::string_view, std::string_view message) { told(message); },
                      .up =
                          [told = tell.reconnected, first = true]() mutable {
                              if (!std::exchange(first, false)) told();
                          }},
                  clock, sockets) {}

    void ask(std::string_view, call what, handler done) override {
        run(server_.shared(), std::move(what), std::move(done));
    }
    void ask_durably(std::string_view, call what, unsigned replicas, durable_handler done) override {
        server_.run_durably(std::move(what), replicas, std::move(done));
    }
    std::uint32_t group_of(std::string_view) const override { return 0; }
    std::vector<std::shared_ptr<connection>> everywhere() override { return {server_.shared()}; }
    void wait(spi::sleeper& who) override { server_.shared()->wait(who); }
    void nudge(const spi::sleeper& who) noexcept override { server_.shared()->nudge(who); }
    void expect_pushes(bool whether) override { server_.shared()->expect(whether); }
    void close() noexcept override { server_.close(); }

private:
    server server_;
};

}  // namespace

router::~router() = default;

std::shared_ptr<router> router::make(const settings& how, const std::string& inbox, hooks tell, spi::clock& clock,
                                     poller& sockets) {
    switch (how.shape) {
        case settings::topology::sentinel:
            return watched_by_sentinels(how, inbox, std::move(tell), clock, sockets);
        case settings::topology::cluster:
            return in_a_cluster(how, inbox, std::move(tell), clock, sockets);
        case settings::topology::single:
            break;
    }
    return std::make_shared<lone>(how, inbox, std::move(tell), clock, sockets);
}

}  // namespace mortise::inline v0::stores::redis
