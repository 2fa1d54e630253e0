#include "stores/host/seats.hpp"

#include <mortise/error.hpp>

#include <cstring>
#include <fstream>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mortise::inline v0::stores::host {
namespace {

constexpr off_t first_byte = off_t{1} << 40;

struct flock one_byte(std::uint32_t number) {
    struct flock byte {};
    byte.l_type = F_WRLCK;
    byte.l_whence = SEEK_SET;
    byte.l_start = first_byte + number;
    byte.l_len = 1;
    return byte;
}

std::uint64_t pid_namespace() {
    struct stat is {};
    return ::stat("/proc/self/ns/pid", &is) == 0 ? is.st_ino : 0;
}

}  // namespace

seats::seats(int file, seat_record* records, const std::string& directory)
    : file_(file), records_(records), my_space_(pid_namespace()) {
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
            throw error(errc::unreachable,
                        "host store in " + directory + ": cannot take a record lock: " + std::strerror(errno));
        }
    }
    throw error(errc::exhausted,
                "host store in " + directory + ": all " + std::to_string(count) +
                    " seats for processes are taken; use another directory (host:/path) for some of them");
}

bool seats::anybody(int file) noexcept {
    struct flock all = one_byte(0);
    all.l_len = count;
    return ::fcntl(file, F_GETLK, &all) == 0 && all.l_type != F_UNLCK;
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

bool seats::looks_stuck(const seat& who, std::chrono::nanoseconds not_moving_for,
                        std::chrono::nanoseconds patience) const {
    if (not_moving_for <= patience) return false;
    if (not_moving_for > 10 * patience) return true;
    std::ifstream in{"/proc/" + std::to_string(pid_here(who)) + "/stat"};
    std::string stat;
    std::getline(in, stat);
    const std::size_t name_end = stat.rfind(')');
    const char state = name_end != stat.npos && name_end + 2 < stat.size() ? stat[name_end + 2] : '?';
    return state != 'R' && state != 'S' && state != 'D';
}

std::string seats::describe(const seat& who) const {
    const pid_t pid = pid_here(who);
    return pid != 0 ? "pid " + std::to_string(pid) : "a process of another pid namespace";
}

}  // namespace mortise::inline v0::stores::host
