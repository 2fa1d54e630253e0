// The terminal: its size and colours, and a line that is redrawn.
#pragma once

#include "text.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include <sys/ioctl.h>
#include <unistd.h>

namespace command {

inline bool is_terminal(int descriptor) noexcept {
    return ::isatty(descriptor) == 1;
}

// Colour only for people, and not for those who said no (https://no-color.org).
inline bool colour_on(int descriptor) noexcept {
    const char* no = std::getenv("NO_COLOR");
    return is_terminal(descriptor) && (no == nullptr || *no == '\0');
}

inline std::size_t columns_of(int descriptor) noexcept {
    winsize size{};
    return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

inline std::size_t rows_of(int descriptor) noexcept {
    winsize size{};
    return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

// A whole line to stderr in one write, so that lines of several processes do not mix.
inline void complain(const std::string& line) noexcept {
    static_cast<void>(!::write(STDERR_FILENO, (line + "\n").c_str(), line.size() + 1));
}

// The line that changes, on stderr. May be used by several threads; nothing is drawn after end().
class live_line {
public:
    void draw(const std::string& text) {
        const std::scoped_lock guard{mutex_};
        if (ended_) return;
        write("\r\x1b[K" + fitted(text, columns_of(STDERR_FILENO) - 1));
        drawn_ = true;
    }
    void end() {
        const std::scoped_lock guard{mutex_};
        if (drawn_ && !ended_) write("\r\x1b[K");
        ended_ = true;
    }

private:
    static void write(const std::string& text) { static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size())); }

    std::mutex mutex_;
    bool drawn_ = false;
    bool ended_ = false;
};

}  // namespace command
