// Where a host store lives on disk.
#pragma once

#include "base/url.hpp"

#include <mortise/config.hpp>

#include <string>

#include <sys/stat.h>

namespace mortise::inline v0::stores::host {

// "host:" is one directory per user, /var/tmp/mortise-<uid>, whatever the environment says: cron, sudo and a login shell
// must meet. It is made with mode 0700, and refused when somebody else owns or may write it. "host:/path" is shared with
// whoever may write that directory; its files take the directory's own permissions.
struct store_directory {
    std::string directory;
    bool shared = false;

    static store_directory of(const base::url& address);  // throws errc::bad_url

    // Makes the directory if it is missing and checks it. Throws errc::unreachable with what to do.
    int open_directory() const;

    // Whether anybody has made it and its records. Makes nothing, and throws as the above if it could not be made or used.
    bool in_use() const;
    mode_t file_mode(int directory_fd) const;

private:
    int open_made() const;
};

}  // namespace mortise::inline v0::stores::host
