// The store of spi::quorum_of. Each request is a round: it goes to all nodes at once, and ends when its result is certain or the
// nodes' time is up. quorum_claims, quorum_renewals and quorum_releases are the kinds of rounds; quorum_tokens knows what the nodes
// remember of their tokens.
#include "base/quorum_claims.hpp"
#include "base/quorum_desk.hpp"
#include "base/quorum_reader.hpp"
#include "base/quorum_releases.hpp"
#include "base/quorum_renewals.hpp"
#include "base/quorum_tokens.hpp"

#include <mortise/error.hpp>
#include <mortise/spi/quorum.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace mortise::inline v0::base {
namespace {

// The findings of all nodes, in the order of the nodes, each with its node's name.
struct gathered_findings {
    std::mutex mutex;
    std::vector<std::vector<finding>> of;  // by node
    std::size_t missing = 0;
    spi::reply<std::vector<finding>> done;

    std::vector<finding> joined(const quorum_desk& desk) {
        std::vector<finding> all;
        for (std::size_t n = 0; n < of.size(); ++n)
            for (finding& one : of[n]) {
                const std::string& name = desk.nodes[n]->name();
                if (one.what.find(name) == std::string::npos) one.what = name + ": " + one.what;
                all.push_back(std::move(one));
            }
        return all;
    }
};

class quorum_store final : public spi::store {
public:
    quorum_store(const std::vector<spi::quorum_node>& nodes, const spi::quorum_options& options,
                 const spi::context& context)
        : desk_(nodes, options, context), tokens_(options.fenced ? std::make_unique<quorum_tokens>(desk_) : nullptr) {}
    ~quorum_store() override { close(); }

    const mortise::promises& promises() const noexcept override { return desk_.promises; }
    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) override {
        claims_.claim(wanted, std::move(done));
    }
    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) override {
        renewals_.renew(due, std::move(done));
    }
    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) override {
        releases_.release(name, id, std::move(done));
    }
    std::optional<spi::duration> keeps_abandoned(const std::optional<spi::duration>& lease) const noexcept override {
        return desk_.keeps_abandoned(lease);
    }
    void list(spi::reply<spi::listing> done) override { done({.failed = errc::unsupported}); }
    void break_hold(const spi::break_request&, spi::reply<spi::break_answer> done) override {
        done(spi::break_answer::unsupported);
    }
    void check(spi::reply<std::vector<finding>>) override;
    std::string schema() const override { return desk_.nodes.front()->store().schema(); }
    void will_sleep(bool whether) noexcept override { reader_.will_sleep(whether); }
    void sleep(spi::sleeper& who) override { reader_.sleep(who); }
    void wake(spi::sleeper& who) noexcept override { reader_.wake(who); }
    void close() noexcept override { desk_.close(); }

private:
    std::vector<spi::store*> stores() {
        std::vector<spi::store*> all;
        for (const auto& node : desk_.nodes) all.push_back(&node->store());
        return all;
    }
    // Whether no round waits for answers: what is still to come interests nobody.
    bool calm() {
        const quorum_desk::lock held{desk_.mutex};
        return desk_.rounds.empty();
    }

    quorum_desk desk_;
    quorum_reader reader_{stores(), [this] { return calm(); }};
    const std::unique_ptr<quorum_tokens> tokens_;  // none: without
    quorum_claims claims_{desk_, tokens_.get()};
    quorum_renewals renewals_{desk_, tokens_.get()};
    quorum_releases releases_{desk_};
};

void quorum_store::check(spi::reply<std::vector<finding>> done) {
    const auto all = std::make_shared<gathered_findings>();
    all->of.resize(desk_.nodes.size());
    all->missing = desk_.nodes.size();
    all->done = std::move(done);
    for (std::size_t i = 0; i < desk_.nodes.size(); ++i)
        desk_.nodes[i]->store().check([this, all, i](std::vector<finding> found) {
            {
                std::scoped_lock guard{all->mutex};
                all->of[i] = std::move(found);
                if (--all->missing > 0) return;
            }
            all->done(all->joined(desk_));
        });
}

}  // namespace
}  // namespace mortise::inline v0::base

namespace mortise::inline v0::spi {

store_factory quorum_of(std::vector<quorum_node> nodes, quorum_options options) {
    if (nodes.empty()) throw error(errc::invalid_option, "a quorum needs nodes");
    return [nodes = std::move(nodes), options = std::move(options)](const context& outer) -> std::unique_ptr<store> {
        return std::make_unique<base::quorum_store>(nodes, options, outer);
    };
}

}  // namespace mortise::inline v0::spi
