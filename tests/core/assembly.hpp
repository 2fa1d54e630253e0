// Five stores on simulated time that are one quorum, each behind a bad network of its own for each client.
#pragma once

#include "fleet.hpp"

#include <mortise/spi/quorum.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mortise::testing {

inline constexpr std::size_t node_count = 5;

// Tells what a test wants for its age, and forgets it when it is told to.
class aged_store final : public spi::store_wrapper {
public:
    aged_store(const spi::context& outer, const spi::store_factory& inner,
               std::shared_ptr<std::optional<spi::duration>> age)
        : store_wrapper(outer, inner), age_(std::move(age)) {}
    void uptime(spi::reply<std::optional<spi::duration>> done) override { done(*age_); }

private:
    const std::shared_ptr<std::optional<spi::duration>> age_;
};

// What is behind a node: a table, until the node starts again with an empty one.
struct node_state {
    std::shared_ptr<stores::memory::memory_table> table;
    std::uint64_t starts = 1;
    std::uint64_t ahead = 0;  // its wall clock, in us, and so its counters
};

// Speaks to the table of the day. What was asked of an earlier one is answered by that.
class restarting_store final : public spi::store {
public:
    restarting_store(const spi::context& outer, std::shared_ptr<node_state> node)
        : outer_(outer), node_(std::move(node)), promises_(today().promises()) {}

    const mortise::promises& promises() const noexcept override { return promises_; }
    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) override {
        today().claim(wanted, [this, done = std::move(done)](spi::claim_answer answer) mutable {
            answer.grant.counter = outside(answer.grant.counter);
            done(std::move(answer));
        });
    }
    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) override {
        today().renew(due, std::move(done));
    }
    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) override {
        today().release(name, id, std::move(done));
    }
    std::optional<spi::duration> keeps_abandoned(const std::optional<spi::duration>& lease) const noexcept override {
        return lease;
    }
    void list(spi::reply<spi::listing> done) override { today().list(std::move(done)); }
    void break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) override {
        today().break_hold(which, std::move(done));
    }
    void raise_token(const spi::raise_request& which, spi::reply<spi::raise_answer> done) override {
        spi::raise_request there = which;
        there.to = inside(which.to);
        today().raise_token(there, [this, done = std::move(done)](spi::raise_answer answer) mutable {
            answer.largest = outside(answer.largest);
            done(answer);
        });
    }
    void recall_tokens(const spi::recall_request& asked, spi::reply<std::optional<spi::token_memory>> done) override {
        spi::recall_request there = asked;
        there.floor = inside(asked.floor);
        today().recall_tokens(there, [this, done = std::move(done)](std::optional<spi::token_memory> memory) mutable {
            memory->floor = outside(memory->floor);
            memory->highest = outside(memory->highest);
            done(memory);
        });
    }
    void close() noexcept override { store_->close(); }

private:
    std::uint64_t outside(std::uint64_t counter) const { return counter == 0 ? 0 : counter + node_->ahead; }
    std::uint64_t inside(std::uint64_t counter) const { return counter > node_->ahead ? counter - node_->ahead : 0; }

    spi::store& today() {
        if (met_ != node_->starts) {
            if (store_) store_->close();
            store_ = stores::memory::open(node_->table)(outer_);
            if (std::exchange(met_, node_->starts) != 0) outer_.events.reconnected();
        }
        return *store_;
    }

    const spi::context outer_;
    const std::shared_ptr<node_state> node_;
    std::unique_ptr<spi::store> store_;
    std::uint64_t met_ = 0;
    mortise::promises promises_;
};

struct voter {
    std::vector<std::shared_ptr<fault_plan>> nets;
    std::shared_ptr<recording_observer> seen;
    client locks;
};

class assembly {
public:
    // By how much the clock of each node is ahead.
    explicit assembly(const std::array<std::chrono::microseconds, node_count>& ahead = {}) {
        for (std::size_t i = 0; i < node_count; ++i) {
            nodes_.push_back(std::make_shared<node_state>());
            restart(i, ahead[i]);
            ages.push_back(std::make_shared<std::optional<spi::duration>>());
        }
    }
    assembly(const assembly&) = delete;
    assembly& operator=(const assembly&) = delete;
    ~assembly() { sim_.advance(std::chrono::hours{48}); }

    voter join(spi::quorum_options options = {}, client_options of_client = fleet::quick()) {
        std::vector<std::shared_ptr<fault_plan>> nets;
        std::vector<spi::quorum_node> nodes;
        for (std::size_t i = 0; i < node_count; ++i) {
            nets.push_back(std::make_shared<fault_plan>());
            const auto inner =
                faulty([node = nodes_[i]](
                           const spi::context& outer) { return std::make_unique<restarting_store>(outer, node); },
                       nets.back());
            nodes.push_back({"node " + std::to_string(i), [inner, age = ages[i]](const spi::context& outer) {
                                 return std::make_unique<aged_store>(outer, inner, age);
                             }});
        }
        auto seen = std::make_shared<recording_observer>();
        of_client.observer = seen;
        return {nets, seen, spi::make_client(spi::quorum_of(nodes, std::move(options)), sim_.world(), of_client)};
    }

    // It has forgotten everything, and its clock is set right, or to this.
    void restart(std::size_t node, std::chrono::microseconds ahead = {}) {
        nodes_[node]->ahead = static_cast<std::uint64_t>(ahead.count());
        nodes_[node]->table = stores::memory::make_table(sim_.world().clock);
        ++nodes_[node]->starts;
    }

    bool remembers_its_tokens(std::size_t node) { return nodes_[node]->table->recall({}).whole; }

    // On how many nodes anybody holds it.
    std::size_t held_on(const std::string& name) {
        std::size_t on = 0;
        for (const auto& node : nodes_)
            for (const spi::listed& one : node->table->list()) on += one.name == name ? 1 : 0;
        return on;
    }

    // Somebody else holds it on this node.
    hold occupy(std::size_t node, const std::string& name, spi::duration lease = std::chrono::hours{1}) {
        strangers_.push_back(spi::make_client(stores::memory::open(nodes_[node]->table), sim_.world(), fleet::quick()));
        return strangers_.back().acquire(name, {.lease = lease});
    }

    sim_world& sim() { return sim_; }
    void advance(std::chrono::nanoseconds by) { sim_.advance(by); }
    void settle() { sim_.settle(); }

    std::vector<std::shared_ptr<std::optional<spi::duration>>> ages;

private:
    sim_world sim_;
    std::vector<std::shared_ptr<node_state>> nodes_;
    std::deque<client> strangers_;
};

}  // namespace mortise::testing
