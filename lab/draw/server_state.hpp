// The server's state beside each command.
#pragma once

#include "lab/draw/tokens.hpp"
#include "lab/stage/trace.hpp"

#include <map>
#include <string>
#include <vector>

namespace lab {

// What is known of it after each event: the keys that the story shows, as they were read, and the locks of ours, as the server
// has answered. An answer is forgotten when time passes: a lease may have ended since.
class server_state {
public:
    explicit server_state(const trace& all);

    // A line for each key or lock. None: nothing is known.
    std::vector<text> after(const event& next, const token_ranks& tokens);

private:
    struct known_lock {
        std::string holder{};   // empty: not known
        std::string granted{};  // what the server said
        std::vector<std::string> waiting{};
    };
    void heard(const event& next);
    static text holder_of(const std::string& name, const known_lock& known, const token_ranks& tokens);
    std::vector<text> locks(const token_ranks& tokens) const;

    bool keys_are_shown_ = false;
    std::map<std::string, known_lock> locks_;
};

}  // namespace lab
