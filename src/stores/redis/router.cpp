#include "stores/redis/router.hpp"

#include <utility>

namespace mortise::inline v0::stores::redis {
namespace {

// One server.
class single_server final : public router {
public:
    single_server(const settings& config, const std::string& inbox, hooks callbacks, spi::clock& clock, poller& sockets)
        : server_(config,
                  connection::plan{.where = config.endpoints.front(),
                                   .user = config.user,
                                   .password = config.password,
                                   .database = config.database,
                                   .inbox = inbox},
                  connection::hooks{.pushed = callbacks.pushed,
                                    .up =
                                        [notify = callbacks.reconnected, first = true]() mutable {
                                            if (!std::exchange(first, false)) notify();
                                        }},
                  clock, sockets) {}

    void ask(std::string_view, script_call request, handler done) override {
        run(server_.shared(), std::move(request), std::move(done));
    }
    void ask_durably(std::string_view, script_call request, unsigned replicas, durable_handler done) override {
        server_.run_durably(std::move(request), replicas, std::move(done));
    }
    std::uint32_t group_of(std::string_view) const override { return 0; }
    std::vector<std::shared_ptr<connection>> masters() override { return {server_.shared()}; }
    void wait(spi::sleeper& sleeper) override { server_.shared()->wait(sleeper); }
    void nudge(const spi::sleeper& sleeper) noexcept override { server_.shared()->nudge(sleeper); }
    connection* only() const noexcept override { return server_.shared().get(); }
    void expect_pushes(bool whether) override { server_.shared()->expect(whether); }
    void listen(std::string_view, std::string_view channel, handler ready) override {
        server_.shared()->listen(channel, std::move(ready));
    }
    void leave(std::string_view, std::string_view channel) override { server_.shared()->leave(channel); }
    void close() noexcept override { server_.close(); }

private:
    server server_;
};

}  // namespace

router::~router() = default;

void router::ask_for(std::string_view key, script_call request, unsigned replicas, durable_handler done) {
    if (replicas > 0) return ask_durably(key, std::move(request), replicas, std::move(done));
    ask(key, std::move(request), [done = std::move(done)](const reply& answer) mutable { done(answer, 0); });
}

std::shared_ptr<router> router::make(const settings& config, const std::string& inbox, hooks callbacks,
                                     spi::clock& clock, poller& sockets) {
    switch (config.shape) {
        case settings::topology::sentinel:
            return make_sentinel_router(config, inbox, std::move(callbacks), clock, sockets);
        case settings::topology::cluster:
            return make_cluster_router(config, inbox, std::move(callbacks), clock, sockets);
        case settings::topology::single:
            break;
    }
    return std::make_shared<single_server>(config, inbox, std::move(callbacks), clock, sockets);
}

}  // namespace mortise::inline v0::stores::redis
