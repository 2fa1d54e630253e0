// A disk of a few megabytes that a test can fill.
#pragma once

#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

namespace mortise::testing {

// Made before the server that is to use it: both are then in a name space of mounts of their own, which goes with them.
class small_disk {
public:
    small_disk()
        : permitted_(::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) {}

    // Not for a user who may not mount, nor in most containers.
    bool permitted() const { return permitted_; }

    // Puts it in the place of the directory.
    void mount_at(const std::string& directory, std::size_t megabytes) {
        directory_ = directory;
        const std::string size = "mode=0777,size=" + std::to_string(megabytes) + "m";
        if (::mount("tmpfs", directory.c_str(), "tmpfs", 0, size.c_str()) != 0)
            throw std::runtime_error("cannot mount a disk at " + directory);
    }

    void fill() const {
        std::ofstream out{filler(), std::ios::binary};
        for (std::size_t size : {std::size_t{65536}, std::size_t{512}}) {
            const std::string block(size, 'x');
            out.clear();
            while (out.write(block.data(), static_cast<std::streamsize>(size)).flush()) {
            }
        }
    }
    void free() const { ::unlink(filler().c_str()); }

private:
    std::string filler() const { return directory_ + "/filler"; }

    const bool permitted_;
    std::string directory_;
};

}  // namespace mortise::testing
