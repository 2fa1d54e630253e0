#include "stores/redis/router.hpp"

#include <mortise/error.hpp>

namespace mortise::inline v0::stores::redis {
namespace {

// One server.
class lone final : public router {
public:
    lone(const settings& how, const std::string& inbox, hooks tell, spi::clock& clock, poller& sockets)
        : server_(std::make_shared<connection>(
              how,
              connection::plan{.where = how.endpoints.front(),
                               .user = how.user,
                               .password = how.password,
                               .database = how.database,
                               .inbox = inbox},
              connection::hooks{
                  .pushed = [told = tell.pushed](std::string_view, std::string_view message) { told(message); },
                  .up =
                      [told = tell.doubtful, first = true]() mutable {
                          if (!std::exchange(first, false)) told();
                      }},
              clock, sockets)) {}

    void ask(std::string_view, call what, handler done) override { run(server_, std::move(what), std::move(done)); }
    std::uint32_t group_of(std::string_view) const override { return 0; }
    std::vector<std::shared_ptr<connection>> everywhere() override { return {server_}; }
    void wait(spi::sleeper& who) override { server_->wait(who); }
    void nudge(const spi::sleeper& who) noexcept override { server_->nudge(who); }
    void expect_pushes(bool whether) override { server_->expect_pushes(whether); }
    void close() noexcept override { server_->close(); }

private:
    const std::shared_ptr<connection> server_;
};

}  // namespace

router::~router() = default;

void run(const std::shared_ptr<connection>& on, call what, handler done) {
    const std::string bytes = what.by_digest();
    on->send(bytes, [on, what = std::move(what), done = std::move(done)](const reply& said) mutable {
        if (!said.error() || !said.text.starts_with("NOSCRIPT")) return done(said);
        on->send(what.by_source(), std::move(done));
    });
}

std::unique_ptr<router> router::make(const settings& how, const std::string& inbox, hooks tell, spi::clock& clock,
                                     poller& sockets) {
    if (how.shape != settings::topology::single) throw error(errc::unsupported, "not yet");
    return std::make_unique<lone>(how, inbox, std::move(tell), clock, sockets);
}

}  // namespace mortise::inline v0::stores::redis
