// Which channels a connection listens to, and for how many listeners. Pure; its owner guards it.
#pragma once

#include <mortise/config.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::stores::redis {

// One subscription a channel, however many listen: the first subscribes, the last unsubscribes.
class subscriptions {
public:
    bool empty() const noexcept { return listened_ == 0; }

    // Whether messages reach this listener from now on. If not, the owner subscribes (again, if somebody else does just now),
    // and asked() and answered() follow.
    bool join(std::string_view channel);
    // True: it was the last, and the owner unsubscribes. One that nobody has joined for is for a listener that is still to come:
    // when a slot moves, its channels are joined at the new node while listeners leave.
    bool leave(std::string_view channel);
    // Instead of join(), if this listener has left already. False: it has not.
    bool has_left(std::string_view channel);

    // A command about the channel is on its way, or was answered.
    void asked(std::string_view channel);
    void answered(std::string_view channel);

    // The connection is gone, and all commands with it. Once there is a new one, these are subscribed to again.
    void lost();
    std::vector<std::string> wanted() const;

private:
    struct state {
        std::size_t listeners = 0;
        std::size_t gone_before = 0;  // listeners that left before they came
        std::size_t unanswered = 0;   // commands
        bool subscribed = false;      // once they are answered
    };
    void tidy(std::string_view channel);

    std::map<std::string, state, std::less<>> channels_;
    std::size_t listened_ = 0;  // channels with listeners
};

}  // namespace mortise::inline v0::stores::redis
