#include "stores/host/wake_pipes.hpp"

#include "base/descriptors.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <vector>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mortise::inline v0::stores::host {
namespace {

constexpr std::size_t most_open = 256;
constexpr std::size_t most_pipes_checked = 128;  // by each client that connects

// For reading too: writing to a pipe whose only reader has died raises SIGPIPE. Nothing but a pipe: in a directory that others
// may write, a name can lead anywhere.
int open_pipe(const std::string& path) noexcept {
    const base::standard_descriptors_taken out_of_the_way;
    const int fd = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    struct stat is {};
    if (fd < 0 || (::fstat(fd, &is) == 0 && S_ISFIFO(is.st_mode))) return fd;
    ::close(fd);
    errno = EEXIST;
    return -1;
}

}  // namespace

wake_pipes::wake_pipes(std::string directory, session_id mine, mode_t mode)
    : directory_(std::move(directory)), mine_(mine) {
    const std::string path = path_of(mine_);
    ::unlink(path.c_str());  // a wiped directory counts the terms of its slots anew
    if (::mkfifo(path.c_str(), mode) == 0 && (own_ = open_pipe(path)) >= 0) {
        ::fchmod(own_, mode);  // whatever the umask says
        return;
    }
    const std::string why = std::strerror(errno);
    ::unlink(path.c_str());
    throw error(errc::exhausted, "host store in " + directory_ + ": cannot make " + path + ": " + why);
}

wake_pipes::~wake_pipes() {
    remove(mine_);
    ::close(own_);
    for (const auto& other : others_) ::close(other.second);
}

// The prefix is part of the format: older builds look for it.
std::string wake_pipes::path_of(session_id of) const {
    const process_slot slot = slot_of(of);
    return directory_ + "/bell-" + std::to_string(slot.number) + "-" + std::to_string(slot.term) + "-" +
           std::to_string(client_of(of));
}

bool wake_pipes::drain() noexcept {
    char messages[64];
    bool lost = false;
    for (ssize_t n = 0; (n = ::read(own_, messages, sizeof messages)) > 0;)
        lost = lost || std::find(messages, messages + n, static_cast<char>(message::lost)) != messages + n;
    return lost;
}

bool wake_pipes::send(session_id to, message what) noexcept {
    std::scoped_lock guard{mutex_};
    auto it = others_.find(to);
    if (it == others_.end()) {
        const int fd = open_pipe(path_of(to));
        if (fd < 0) return false;  // it is gone; if not, it polls anyhow
        if (others_.size() >= most_open) {
            ::close(others_.begin()->second);
            others_.erase(others_.begin());
        }
        it = others_.emplace(to, fd).first;
    }
    const char byte = static_cast<char>(what);
    if (::write(it->second, &byte, 1) < 0 && errno != EAGAIN) {
        ::close(it->second);
        others_.erase(it);
        return false;
    }
    return true;
}

void wake_pipes::remove(session_id of) const noexcept {
    ::unlink(path_of(of).c_str());
}

void wake_pipes::remove_those_of_the_dead(const process_slots& slots) const noexcept {
    std::error_code failed;
    std::vector<std::pair<process_slot, std::filesystem::path>> all;
    for (const auto& file : std::filesystem::directory_iterator(directory_, failed)) {
        process_slot whose;
        if (std::sscanf(file.path().filename().c_str(), "bell-%u-%u-", &whose.number, &whose.term) == 2)
            all.emplace_back(whose, file.path());
    }
    const std::size_t start = all.size() > most_pipes_checked ? std::random_device{}() : 0;
    for (std::size_t i = 0; i < std::min(all.size(), most_pipes_checked); ++i)
        if (const auto& [whose, path] = all[(start + i) % all.size()]; !slots.alive(whose)) ::unlink(path.c_str());
}

}  // namespace mortise::inline v0::stores::host
