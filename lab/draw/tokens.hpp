// Tokens are large numbers; a reader needs to know which is the older one.
#pragma once

#include "lab/stage/trace.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace lab {

class token_ranks {
public:
    explicit token_ranks(const trace& all);

    std::size_t rank(std::int64_t token) const;  // 1: the oldest; 0: none of the story

    // The text with each token in it, plain or padded for a fence, replaced by its rank.
    std::string ranked(const std::string& words) const;

private:
    std::string replaced(const std::string& digits, bool is_token) const;
    std::vector<std::int64_t> sorted_;
};

}  // namespace lab
