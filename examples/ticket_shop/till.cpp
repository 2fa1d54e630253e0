#include "till.hpp"

#include "seller.hpp"

#include <array>
#include <charconv>

#include <errno.h>
#include <poll.h>
#include <unistd.h>

namespace {

void tell(std::string_view line) {
    ssize_t written = -1;
    do written = ::write(till_descriptor, line.data(), line.size());
    while (written < 0 && errno == EINTR);
    if (written < 0) ::_exit(failed);
}

}  // namespace

void tell_ready() {
    tell("ready\n");
}

void tell_sold() {
    tell("sold\n");
}

void tell_trouble(const failure& why) {
    tell("trouble " + std::to_string(why.status) + ' ' + one_line(why.message) + '\n');
}

bool till::listen(std::chrono::milliseconds at_most) {
    pollfd wait{from_.number(), POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(at_most.count())) <= 0) return false;
    std::array<char, 65'536> buffer;  // as much as a pipe holds
    const ssize_t got = ::read(from_.number(), buffer.data(), buffer.size());
    if (got < 0) throw system_failure("cannot read from the sellers");
    if (got == 0) from_.close();  // from now on poll() only sleeps
    unread_.append(buffer.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = unread_.find('\n', begin)) != std::string::npos; begin = end + 1)
        note(std::string_view{unread_}.substr(begin, end - begin));
    unread_.erase(0, begin);
    return true;
}

void till::note(std::string_view line) {
    if (line == "sold") {
        ++sold_;
    } else if (line == "ready") {
        ++ready_;
    } else if (constexpr std::string_view word = "trouble "; line.starts_with(word)) {
        int status = failed;
        const char* const end = line.data() + line.size();
        const char* const text = std::from_chars(line.data() + word.size(), end, status).ptr;
        throw failure{static_cast<exit_status>(status), std::string(text, end).substr(1)};
    }
}
