#include "stores/host/bells.hpp"

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
constexpr std::size_t most_asked_for = 128;  // in a crowd, by each that comes

// For reading too: a pipe that only its dead owner could read would send us SIGPIPE. Nothing but a pipe: in a directory that
// others may write, a name can lead anywhere.
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

session session_of(const seat& s, std::uint32_t client) noexcept {
    return std::uint64_t{s.number} << 54 | std::uint64_t{client & 0x3fffff} << 32 | s.term;
}

seat seat_of(session s) noexcept {
    return {static_cast<std::uint32_t>(s >> 54), static_cast<std::uint32_t>(s)};
}

bells::bells(std::string directory, session mine, mode_t mode) : directory_(std::move(directory)), mine_(mine) {
    const std::string path = path_of(mine_);
    ::unlink(path.c_str());  // a wiped directory counts its seats anew
    if (::mkfifo(path.c_str(), mode) == 0 && (own_ = open_pipe(path)) >= 0) {
        ::fchmod(own_, mode);  // the umask is not ours to obey
        return;
    }
    const std::string why = std::strerror(errno);
    ::unlink(path.c_str());
    throw error(errc::exhausted, "host store in " + directory_ + ": cannot make " + path + ": " + why);
}

bells::~bells() {
    take_down(mine_);
    ::close(own_);
    for (const auto& other : others_) ::close(other.second);
}

std::string bells::path_of(session whose) const {
    const seat s = seat_of(whose);
    return directory_ + "/bell-" + std::to_string(s.number) + "-" + std::to_string(s.term) + "-" +
           std::to_string(whose >> 32 & 0x3fffff);
}

bool bells::answer() noexcept {
    char rung[64];
    bool lost = false;
    for (ssize_t n = 0; (n = ::read(own_, rung, sizeof rung)) > 0;)
        lost = lost || std::find(rung, rung + n, static_cast<char>(call::lost)) != rung + n;
    return lost;
}

bool bells::ring(session whose, call what) noexcept {
    std::scoped_lock guard{mutex_};
    auto it = others_.find(whose);
    if (it == others_.end()) {
        const int fd = open_pipe(path_of(whose));
        if (fd < 0) return false;  // it is gone; if not, it looks by itself now and then
        if (others_.size() >= most_open) {
            ::close(others_.begin()->second);
            others_.erase(others_.begin());
        }
        it = others_.emplace(whose, fd).first;
    }
    const char byte = static_cast<char>(what);
    if (::write(it->second, &byte, 1) < 0 && errno != EAGAIN) {
        ::close(it->second);
        others_.erase(it);
        return false;
    }
    return true;
}

void bells::take_down(session whose) const noexcept {
    ::unlink(path_of(whose).c_str());
}

void bells::take_down_those_of_the_dead(const host::seats& who) const noexcept {
    std::error_code failed;
    std::vector<std::pair<seat, std::filesystem::path>> all;
    for (const auto& file : std::filesystem::directory_iterator(directory_, failed)) {
        seat whose;
        if (std::sscanf(file.path().filename().c_str(), "bell-%u-%u-", &whose.number, &whose.term) == 2)
            all.emplace_back(whose, file.path());
    }
    const std::size_t start = all.size() > most_asked_for ? std::random_device{}() : 0;
    for (std::size_t i = 0; i < std::min(all.size(), most_asked_for); ++i)
        if (const auto& [whose, path] = all[(start + i) % all.size()]; !who.alive(whose)) ::unlink(path.c_str());
}

}  // namespace mortise::inline v0::stores::host
