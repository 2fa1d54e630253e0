// What the nodes of a quorum remember of their tokens. Each is asked once, and again when it says that it is another memory by now.
// One that has forgotten is told by the others (base/token_vote.hpp has the rules), and votes again then.
#pragma once

#include "base/quorum_desk.hpp"
#include "base/token_vote.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0::base {

class quorum_tokens {
public:
    explicit quorum_tokens(quorum_desk& desk);

    // With the desk's mutex held.
    const token_vote::memories& known() const noexcept { return known_; }

    // Calls `then` with the reason why this node's grants do not count, or with none: at once if its memory is known to be whole.
    void judge(std::size_t node, spi::reply<std::string> then);
    // With the mutex held: why this node's grants may not count yet.
    std::string doubts() const;
    // Asks all nodes of which nothing is known.
    void prepare();
    // This node may have forgotten its tokens.
    void doubt(std::size_t node);

private:
    struct repair;
    using memory = std::optional<spi::token_memory>;

    void look(std::size_t node);
    void heard(std::size_t node, const memory& said);
    void begin_repair();
    void vouched(const std::shared_ptr<repair>& round, std::size_t node, const memory& said);
    void restored(std::size_t node, const memory& said);

    // With the mutex held. The task calls whoever waits for these nodes, without it.
    spi::task conclude(repair& round);
    spi::task tell(const std::vector<std::size_t>& nodes, const std::string& why);
    std::string why_not(const token_vote::memories& vouched) const;
    std::vector<std::size_t> forgetful() const;

    quorum_desk& desk_;
    token_vote::memories known_;
    std::vector<std::optional<spi::time_point>> asked_;          // since when an answer is awaited
    std::vector<std::vector<spi::reply<std::string>>> waiting_;  // by node
    std::shared_ptr<repair> repair_;
    spi::time_point next_repair_{};
    std::string failed_;  // why the latest repair did
};

}  // namespace mortise::inline v0::base
