#include "stores/memory/memory_store.hpp"

#include "base/limits.hpp"
#include "stores/memory/memory_table.hpp"

#include <mortise/error.hpp>

#include <atomic>
#include <map>
#include <mutex>

namespace mortise::inline v0::stores::memory {
namespace {

mortise::promises memory_promises() {
    return {
        .store = "memory",
        .tokens = true,
        .fifo = true,
        .detached = true,
        .leases = true,
        .upgrades = true,
        .pushes = true,
        .keeps = true,
        .lists = true,
        .raises_tokens = true,
        .most_capacity = base::most_capacity,
        .default_lease = std::chrono::seconds{30},
        .reach = "threads of one process",
        .exclusion = "Yes.",
        .fencing = "Yes: a later grant has a larger token.",
        .freed = "At the end of its lease; at once with its client.",
        .ends = {"The process ends: nothing is kept outside of it.",
                 "A holder is paused past its lease: another is let in, with a larger token."},
    };
}

// One client's session on a table. The table pushes to it; it outlives the store while a push is under way.
class memory_session final : public table_client, public std::enable_shared_from_this<memory_session> {
public:
    memory_session(std::shared_ptr<memory_table> shared, const spi::context& context)
        : table_(std::move(shared)), context_(context) {}

    void granted(const std::string& name, const claim_id& id, const spi::grant& given) override {
        guarded([&] { context_.events.granted(name, id, on_client_clock(given)); });
    }
    void lost(const std::string& name, const claim_id& id) override {
        guarded([&] { context_.events.lost(name, id); });
    }
    void look_at(const std::string& name, spi::duration in) override {
        guarded([&] {
            context_.clock.at(context_.clock.now() + in, [weak = weak_from_this(), name] {
                if (const auto self = weak.lock()) self->guarded([&] { self->table_->settle(name); });
            });
        });
    }
    bool gone() const noexcept override { return closed_.load(); }

    // Read it before the table's clock, and the age of a grant comes out long.
    spi::time_point now() const noexcept { return context_.clock.now(); }

    // The same instant, or an earlier one, on the client's clock.
    spi::grant on_client_clock(spi::grant given) const {
        const spi::time_point here = now();
        given.counted_from = here - (table_->now() - given.counted_from);
        return given;
    }

    // Runs `what` unless closed, and lets close() wait for it. A push may cause another one, so this nests.
    template <class What>
    void guarded(What&& what) {
        struct visit {
            memory_session& of;
            explicit visit(memory_session& s) : of(s) { of.inside_.fetch_add(1); }
            ~visit() {
                if (of.inside_.fetch_sub(1) == 1 && of.closed_.load()) of.inside_.notify_all();
            }
        } const here{*this};
        if (!closed_.load()) what();
    }
    void close() noexcept {
        closed_.store(true);
        for (int n = inside_.load(); n != 0; n = inside_.load()) inside_.wait(n);
    }

private:
    std::shared_ptr<memory_table> table_;
    spi::context context_;
    std::atomic<int> inside_{0};
    std::atomic<bool> closed_{false};
};

class memory_store final : public spi::store {
public:
    memory_store(std::shared_ptr<memory_table> shared, const spi::context& context)
        : table_(std::move(shared)),
          session_(std::make_shared<memory_session>(table_, context)),
          from_(table_->keep(context.host, context.pid)),
          number_(table_->join(session_)) {}
    ~memory_store() override { close(); }

    const mortise::promises& promises() const noexcept override { return promises_; }

    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) override {
        done(table_->claim(number_, *session_, from_, wanted, session_->now()));
    }
    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) override {
        std::vector<spi::renewal_answer> answers;
        answers.reserve(due.size());
        for (const spi::renewal& one : due) answers.push_back(table_->renew(one));
        done(std::move(answers));
    }
    std::optional<spi::duration> keeps_abandoned(const std::optional<spi::duration>& lease) const noexcept override {
        return lease;
    }
    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) override {
        done(table_->release(number_, name, id));
    }
    void list(spi::reply<spi::listing> done) override { done({.holds = table_->list()}); }
    void break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) override {
        using enum spi::break_answer;
        done(table_->break_hold(which.name, which.counter) ? broken : not_held);
    }
    void raise_token(const spi::raise_request& which, spi::reply<spi::raise_answer> done) override {
        done(table_->raise(which));
    }
    void recall_tokens(const spi::recall_request& asked, spi::reply<std::optional<spi::token_memory>> done) override {
        done(table_->recall(asked));
    }
    void check(spi::reply<std::vector<finding>> done) override {
        done({{finding::grade::note, "reaches the threads of this process only, and is gone with it",
               "processes of one machine meet on host:"}});
    }
    void close() noexcept override {
        if (closed_) return;
        closed_ = true;
        session_->close();
        table_->leave(number_);
    }

private:
    const mortise::promises promises_ = memory_promises();
    std::shared_ptr<memory_table> table_;
    std::shared_ptr<memory_session> session_;
    std::shared_ptr<const base::whereabouts> from_;
    std::uint64_t number_;
    bool closed_ = false;
};

}  // namespace

spi::store_factory open(std::shared_ptr<memory_table> shared) {
    return [shared](const spi::context& context) { return std::make_unique<memory_store>(shared, context); };
}

spi::store_factory open(const base::url& address) {
    if (!address.hosts.empty() || !address.query.empty())
        throw error(errc::bad_url, "store address '" + address.masked() +
                                       "': memory: takes no host and no options; write memory: or memory:NAME");
    return [name = address.path](const spi::context& context) {
        return std::make_unique<memory_store>(memory_table::named(name), context);
    };
}

std::shared_ptr<memory_table> make_table(std::shared_ptr<spi::clock> clock) {
    return std::make_shared<memory_table>([clock] { return clock->now(); });
}

}  // namespace mortise::inline v0::stores::memory
