// Named pipes through which clients of other processes are told about their claims when no thread of theirs sleeps in the store:
// each client has one in the directory, and a byte in it makes its io thread look.
#pragma once

#include "stores/host/process_slots.hpp"
#include "stores/host/session_id.hpp"

#include <mortise/config.hpp>

#include <map>
#include <mutex>
#include <string>

#include <sys/types.h>

namespace mortise::inline v0::stores::host {

class wake_pipes {
public:
    enum class message : char { granted = 'g', lost = 'l' };

    // Makes one's own. Throws errc::exhausted.
    wake_pipes(std::string directory, session_id mine, mode_t mode);
    ~wake_pipes();
    wake_pipes(const wake_pipes&) = delete;
    wake_pipes& operator=(const wake_pipes&) = delete;

    int descriptor() const noexcept { return own_; }
    bool drain() noexcept;  // reads all messages; true: a hold was lost

    bool send(session_id to, message what) noexcept;  // false: that client has no pipe
    void remove(session_id of) const noexcept;
    void remove_those_of_the_dead(const process_slots& slots) const noexcept;

private:
    std::string path_of(session_id of) const;

    const std::string directory_;
    const session_id mine_;
    int own_ = -1;
    std::mutex mutex_;
    std::map<session_id, int> others_;  // open for writing
};

}  // namespace mortise::inline v0::stores::host
