// A store behind a bad network.
#pragma once

#include "checker/faults/fault_gate.hpp"
#include "checker/faults/fault_plan.hpp"

#include <mortise/spi/store_wrapper.hpp>

#include <memory>

namespace mortise::testing {

// Obeys a fault_plan, which the test keeps; one plan may rule the stores of several clients. No lock is held while
// the inner store or a reply runs.
class faulty_store final : public spi::store_wrapper {
public:
    faulty_store(const spi::context& outer, const spi::store_factory& make_inner, std::shared_ptr<fault_plan> plan);
    ~faulty_store() override;

    void claim(const spi::claim_request& asked, spi::reply<spi::claim_answer> done) override;
    void renew(std::span<const spi::renewal> asked, spi::reply<std::vector<spi::renewal_answer>> done) override;
    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) override;
    void list(spi::reply<spi::listing> done) override;
    void break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) override;
    void raise_token(const spi::raise_request& which, spi::reply<spi::raise_answer> done) override;
    void recall_tokens(const spi::recall_request& asked, spi::reply<std::optional<spi::token_memory>> done) override;
    void close() noexcept override;

    void granted(std::string_view name, const claim_id& id, const spi::grant& what) override;
    void lost(std::string_view name, const claim_id& id) override;
    void wanted(std::string_view name, const claim_id& id) override;

private:
    template <class Answer, class Ask>
    void travel(verb v, fault what, Answer unknown, Ask ask, spi::reply<Answer> done);
    template <class Deliver>
    void push(const claim_id& id, Deliver deliver);

    std::shared_ptr<fault_plan> plan_;
    std::shared_ptr<fault_gate> gate_ = std::make_shared<fault_gate>();
    bool closed_ = false;
};

//     auto plan = std::make_shared<fault_plan>();
//     client locks = spi::make_client(faulty(spi::factory_of("memory:"), plan), sim.world());
spi::store_factory faulty(spi::store_factory inner, std::shared_ptr<fault_plan> plan);

}  // namespace mortise::testing
