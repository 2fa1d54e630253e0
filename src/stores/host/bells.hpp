// How clients of other processes are told that something happened to their claims, when no thread of theirs sleeps in the
// store: each has a named pipe in the directory, and a byte in it makes its io thread look.
#pragma once

#include "stores/host/ledger.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace mortise::inline v0::stores::host {

// A client of a process, as the shared state knows it: 10 bits of seat, 22 of client, 32 of term.
using session = std::uint64_t;
session session_of(const seat& s, std::uint32_t client) noexcept;
seat seat_of(session s) noexcept;

class bells {
public:
    enum class call : char { granted = 'g', lost = 'l' };

    // Hangs up one's own. Throws errc::exhausted.
    bells(std::string directory, session mine, mode_t mode);
    ~bells();
    bells(const bells&) = delete;
    bells& operator=(const bells&) = delete;

    int descriptor() const noexcept { return own_; }
    bool answer() noexcept;  // empties it; true: somebody lost something

    bool ring(session whose, call what) noexcept;  // false: there is none to be rung
    void take_down(session whose) const noexcept;
    void take_down_those_of_the_dead(const host::seats& who) const noexcept;

private:
    std::string path_of(session whose) const;

    const std::string directory_;
    const session mine_;
    int own_ = -1;
    std::mutex mutex_;
    std::map<session, int> others_;  // open for writing
};

}  // namespace mortise::inline v0::stores::host
