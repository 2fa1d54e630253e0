// Questions to the store from outside, as operators and scripts ask them; these wait for at most `patience`.
#pragma once

#include "core/claim_policy.hpp"
#include "core/pending_reply.hpp"
#include "core/store_link.hpp"

#include <mortise/config.hpp>
#include <mortise/finding.hpp>
#include <mortise/holder.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace mortise::inline v0::core {

class store_queries {
public:
    store_queries(const claim_policy& policy, store_link& link, std::shared_ptr<pending_replies> replies,
                  std::string host)
        : policy_(policy), link_(link), replies_(std::move(replies)), host_(std::move(host)) {}

    std::vector<held_lock> list(std::error_code& ec, std::string* why = nullptr);
    void list_in_parts(const std::function<void(std::vector<held_lock>)>& part, std::error_code& ec,
                       std::string* why = nullptr);
    // The same without waiting: `done` is called exactly once, from any thread, possibly before this returns.
    void start_list(unique_function<void(std::vector<held_lock>, std::error_code)> done);

    bool renew(std::string_view name, const claim_id& id, spi::duration lease, std::error_code& ec) noexcept;
    bool break_lock(std::string_view name, token held, std::string_view why, std::error_code& ec);
    std::vector<finding> check(std::error_code& ec);

private:
    // Asks the store, and waits for its answer.
    template <class Answer, class Ask>
    std::optional<Answer> ask_and_wait(Ask&& ask, std::error_code& ec);

    const claim_policy& policy_;
    store_link& link_;
    const std::shared_ptr<pending_replies> replies_;
    const std::string host_;
};

}  // namespace mortise::inline v0::core
