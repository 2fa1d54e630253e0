#include "stores/host/seats.hpp"

#include <mortise/error.hpp>

#include <cstring>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mortise::inline v0::stores::host {
namespace {

struct flock one_byte(std::uint32_t number) {
    struct flock byte {};
    byte.l_type = F_WRLCK;
    byte.l_whence = SEEK_SET;
    byte.l_start = number;
    byte.l_len = 1;
    return byte;
}

std::uint64_t pid_namespace() {
    struct stat is {};
    return ::stat("/proc/self/ns/pid", &is) == 0 ? is.st_ino : 0;
}

}  // namespace

seats::seats(int directory_fd, mode_t mode, seat_record* records, const std::string& directory)
    : records_(records), my_space_(pid_namespace()) {
    file_ = ::openat(directory_fd, "alive", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file_ < 0 && errno == ENOENT)
        file_ = ::openat(directory_fd, "alive", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);
    if (file_ < 0)
        throw error(errc::unreachable, "host store in " + directory + ": cannot open 'alive': " + std::strerror(errno));
    ::fchmod(file_, mode);  // the umask is not ours to obey; only its owner may do this
    for (std::uint32_t number = 0; number < count; ++number) {
        struct flock byte = one_byte(number);
        if (::fcntl(file_, F_SETLK, &byte) == 0) {
            mine_ = {number, records_[number].term.load() + 1};
            records_[number].pid.store(::getpid());
            records_[number].pid_space.store(my_space_);
            records_[number].term.store(mine_.term);
            return;
        }
        if (errno != EACCES && errno != EAGAIN) {
            const std::string why = std::strerror(errno);
            ::close(file_);
            throw error(errc::unreachable, "host store in " + directory + ": cannot lock 'alive': " + why);
        }
    }
    ::close(file_);
    throw error(errc::exhausted,
                "host store in " + directory + ": all " + std::to_string(count) +
                    " seats for processes are taken; use another directory (host:/path) for some of them");
}

seats::~seats() {
    ::close(file_);
}

bool seats::alive(const seat& who) const noexcept {
    if (who == mine_) return true;
    if (who.number >= count || records_[who.number].term.load() != who.term || who.number == mine_.number) return false;
    struct flock byte = one_byte(who.number);
    return ::fcntl(file_, F_GETLK, &byte) != 0 || byte.l_type != F_UNLCK;  // in doubt, alive
}

pid_t seats::pid_here(const seat& who) const noexcept {
    if (who.number >= count || records_[who.number].term.load() != who.term) return 0;
    return records_[who.number].pid_space.load() == my_space_ ? records_[who.number].pid.load() : 0;
}

std::string seats::describe(const seat& who) const {
    const pid_t pid = pid_here(who);
    return pid != 0 ? "pid " + std::to_string(pid) : "a process of another pid namespace";
}

}  // namespace mortise::inline v0::stores::host
