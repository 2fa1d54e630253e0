#include "stores/sql/row_store.hpp"

#include "base/text.hpp"
#include "net/poller.hpp"
#include "stores/sql/row_admin.hpp"
#include "stores/sql/row_claims.hpp"
#include "stores/sql/row_upkeep.hpp"

#include <atomic>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

namespace mortise::inline v0::stores::sql {
namespace {

std::string hex(std::int64_t number) {
    char text[16];
    const auto end = std::to_chars(text, text + sizeof text, static_cast<std::uint64_t>(number), 16);
    return {text, end.ptr};
}

class row_store final : public spi::store {
public:
    row_store(std::shared_ptr<const row_setup> setup, const spi::context& context);
    ~row_store() override { close(); }

    const mortise::promises& promises() const noexcept override { return setup_->promises; }
    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) override {
        upkeep_->begin();
        claims_->claim(wanted, std::move(done));
    }
    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) override {
        upkeep_->renew(due, std::move(done));
    }
    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) override {
        claims_->release(name, id, std::move(done));
    }
    // A late renewal may extend an abandoned lease once more.
    std::optional<spi::duration> keeps_abandoned(const std::optional<spi::duration>& lease) const noexcept override {
        return lease ? std::optional{2 * *lease} : std::nullopt;
    }
    void list(spi::reply<spi::listing> done) override { list_rows(parts_, std::move(done)); }
    void break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) override {
        break_row(parts_, which, std::move(done));
    }
    void check(spi::reply<std::vector<finding>> done) override;
    std::string schema() const override { return setup_->schema; }
    void will_sleep(bool whether) noexcept override { connection::will_wait(whether); }
    void sleep(spi::sleeper& sleeper) override { line_->wait(sleeper); }
    void wake(spi::sleeper& sleeper) noexcept override;
    void close() noexcept override;

private:
    std::shared_ptr<connection> connect();
    void heard(const notification& told);

    const std::shared_ptr<const row_setup> setup_;
    const spi::context context_;
    net::poller sockets_;
    const std::shared_ptr<row_parts> parts_;
    const statement listen_;
    const std::shared_ptr<connection> line_;
    const std::shared_ptr<row_claims> claims_;
    const std::shared_ptr<row_upkeep> upkeep_;
    std::atomic<bool> was_up_{false};
    std::atomic<bool> closed_{false};
};

row_store::row_store(std::shared_ptr<const row_setup> setup, const spi::context& context)
    : setup_(std::move(setup)),
      context_(context),
      sockets_(context.clock),
      parts_(std::make_shared<row_parts>(row_parts{
          .dialect = setup_->dialect,
          .context = context,
          .session = static_cast<std::int64_t>((claim_id::random().bits[0] >> 1) | 1),
      })),
      listen_{.text = setup_->dialect.listen.empty() ? "" : setup_->dialect.listen + hex(parts_->session),
              .direct = true},
      line_(connect()),
      claims_(std::make_shared<row_claims>(parts_, setup_->waker ? row_waker_factory{[this](row_woken woken) {
                                               return setup_->waker(parts_->session, sockets_, context_.clock,
                                                                    std::move(woken));
                                           }}
                                                                 : row_waker_factory{})),
      upkeep_(std::make_shared<row_upkeep>(parts_, claims_)) {
    parts_->rows =
        std::make_shared<database>(line_, parts_->dialect.schema,
                                   "let an administrator run what `mortise schema --store URL` prints", context.clock);
    claims_->start();
}

// Kept up, since the server may have news for us, and takes the claims of a client that is gone for dead.
std::shared_ptr<connection> row_store::connect() {
    return std::make_shared<connection>(
        connection::setup{.servers = setup_->servers,
                          .make = setup_->make,
                          .timeout = setup_->timeout,
                          .greets =
                              [this] {
                                  std::vector<connection::greeting> all;
                                  for (const statement& one : parts_->dialect.greeting)
                                      all.push_back({&one, one.direct ? values{} : values{parts_->session}});
                                  if (!listen_.text.empty()) all.push_back({&listen_, {}});
                                  return all;
                              },
                          .up =
                              [this] {
                                  if (was_up_.exchange(true)) claims_->reconnected();
                              },
                          .notified = [this](const notification& told) { heard(told); }},
        context_.clock, sockets_);
}

// See the routine `tell` of the schema: what, the id of the claim, and its number.
void row_store::heard(const notification& told) {
    const std::string_view said{told.payload};
    if (said.size() < 33) return;
    const claim_id id = id_in_hex(said.substr(1, 32));
    const auto counter = base::number_in<std::uint64_t>(said.substr(33), 1, UINT64_MAX);
    if (said.front() == 'l')
        claims_->gone(id);
    else if (said.front() == 'k')
        claims_->wanted(id);
    else if (said.front() == 'g' && counter)
        claims_->pushed(id, *counter);
    else
        claims_->look(id);
}

void row_store::check(spi::reply<std::vector<finding>> done) {
    check_rows(parts_, setup_->shown,
               [setup = setup_, parts = parts_, done = std::move(done)](std::vector<finding> found) mutable {
                   struct round {
                       std::shared_ptr<const row_setup> setup;
                       std::shared_ptr<const row_parts> parts;
                       spi::reply<std::vector<finding>> done;
                       std::vector<finding> found;
                       static void ask(const std::shared_ptr<round>& self, std::size_t next) {
                           if (next == self->setup->questions.size()) return self->done(std::move(self->found));
                           const auto& one = self->setup->questions[next];
                           self->parts->rows->run(one.what, {}, [self, next, &one](const result& answer) {
                               for (finding& each : one.findings(answer)) self->found.push_back(std::move(each));
                               ask(self, next + 1);
                           });
                       }
                   };
                   round::ask(std::make_shared<round>(
                                  round{std::move(setup), std::move(parts), std::move(done), std::move(found)}),
                              0);
               });
}

void row_store::wake(spi::sleeper& sleeper) noexcept {
    if (sleeper.is.exchange(spi::sleeper::answered) == spi::sleeper::asleep) {
        sleeper.is.notify_one();
    } else {
        line_->nudge(sleeper);
    }
}

void row_store::close() noexcept {
    if (closed_.exchange(true)) return;
    upkeep_->close();
    claims_->close();
    sockets_.stop();
    line_->close();
}

}  // namespace

std::unique_ptr<spi::store> make_row_store(const std::shared_ptr<const row_setup>& setup, const spi::context& context) {
    return std::make_unique<row_store>(setup, context);
}

}  // namespace mortise::inline v0::stores::sql
