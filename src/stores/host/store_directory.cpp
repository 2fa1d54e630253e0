#include "stores/host/store_directory.hpp"

#include <mortise/error.hpp>

#include <cstring>

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace mortise::inline v0::stores::host {
namespace {

[[noreturn]] void fail(const std::string& directory, const std::string& what) {
    throw error(errc::unreachable, "host store in " + directory + ": " + what);
}

// Locks between processes need a kernel that sees all of them: nothing that another machine serves will do.
void check_file_system(int fd, const std::string& directory) {
    struct statfs fs {};
    if (::fstatfs(fd, &fs) != 0) fail(directory, std::strerror(errno));
    constexpr long cifs = 0xFF534D42, smb2 = 0xFE534D42, fuse = 0x65735546, ninep = 0x01021997;
    for (const long remote : {static_cast<long>(NFS_SUPER_MAGIC), cifs, smb2, fuse, ninep})
        if (static_cast<long>(fs.f_type) == remote)
            fail(directory,
                 "it is on a network or FUSE file system, whose locks cannot be trusted; use a local directory");
}

}  // namespace

store_directory store_directory::of(const base::url& address) {
    const bool plain = address.hosts.empty() && address.query.empty();
    if (!plain || (!address.path.empty() && address.path.front() != '/'))
        throw error(errc::bad_url, "store address '" + address.masked() +
                                       "': write host: or host:/absolute/path, without host and options");
    if (!address.path.empty()) return {address.path, true};
    return {"/var/tmp/mortise-" + std::to_string(::geteuid()), false};
}

int store_directory::open_directory() const {
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
        fail(directory, std::string("cannot make it: ") + std::strerror(errno));
    return open_made();
}

bool store_directory::in_use() const {
    struct stat is {};
    if (::lstat(directory.c_str(), &is) != 0) {
        const std::string above = directory.substr(0, directory.find_last_not_of('/') + 1);
        const std::string parent = above.substr(0, above.rfind('/') + 1);
        if (errno != ENOENT || ::access(parent.c_str(), W_OK | X_OK) != 0)
            fail(directory, std::string("cannot make it: ") + std::strerror(errno));
        return false;
    }
    const int fd = open_made();
    const bool found = ::fstatat(fd, "locks", &is, 0) == 0;
    ::close(fd);
    return found;
}

int store_directory::open_made() const {
    const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | (shared ? 0 : O_NOFOLLOW));
    if (fd < 0) fail(directory, std::string("cannot open it: ") + std::strerror(errno));
    try {
        struct stat is {};
        if (::fstat(fd, &is) != 0) fail(directory, std::strerror(errno));
        if (!shared && is.st_uid != ::geteuid()) fail(directory, "it belongs to another user; remove or rename it");
        if (!shared && (is.st_mode & 022) != 0) fail(directory, "others may write it; run: chmod 700 " + directory);
        check_file_system(fd, directory);
    } catch (...) {
        ::close(fd);
        throw;
    }
    return fd;
}

mode_t store_directory::file_mode(int directory_fd) const {
    struct stat is {};
    if (!shared || ::fstat(directory_fd, &is) != 0) return 0600;
    return (is.st_mode & 0666) | 0600;
}

}  // namespace mortise::inline v0::stores::host
