// A store that forwards to another store.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

namespace mortise::inline v0 {

namespace spi {

// Forwards all requests and events. Subclasses override what they change, for fault injection, tracing and histories;
// the core and the stores do not know about them.
class MORTISE_API store_wrapper : public store, public events {
public:
    store_wrapper(const context& outer, const store_factory& make_inner);
    ~store_wrapper() override;

    const mortise::promises& promises() const noexcept override;
    void claim(const claim_request&, reply<claim_answer>) override;
    void renew(std::span<const renewal>, reply<std::vector<renewal_answer>>) override;
    void release(std::string_view name, const claim_id&, reply<release_answer>) override;
    std::optional<duration> keeps_abandoned(const std::optional<duration>& lease) const noexcept override;
    void list(reply<listing>) override;
    void break_hold(const break_request&, reply<break_answer>) override;
    void raise_token(const raise_request&, reply<raise_answer>) override;
    void recall_tokens(const recall_request&, reply<std::optional<token_memory>>) override;
    void check(reply<std::vector<finding>>) override;
    void uptime(reply<std::optional<duration>>) override;
    std::string schema() const override;
    void will_sleep(bool whether) noexcept override;
    void sleep(sleeper& who) override;
    void wake(sleeper& who) noexcept override;
    int start_reading(const sleeper& who) override;
    bool read_ready(const sleeper& who) override;
    void stop_reading(const sleeper& who, bool soon) noexcept override;
    void close() noexcept override;

    void granted(std::string_view name, const claim_id&, const grant&) override;
    void lost(std::string_view name, const claim_id&) override;
    void wanted(std::string_view name, const claim_id&) override;
    void reconnected() override;

protected:
    store& inner() noexcept { return *inner_; }
    spi::clock& clock() noexcept { return outer_.clock; }

private:
    context outer_;
    std::unique_ptr<store> inner_;
};

}  // namespace spi

}  // namespace mortise::inline v0
