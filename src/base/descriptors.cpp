#include "base/descriptors.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace mortise::inline v0::base {

standard_descriptors_taken::standard_descriptors_taken() noexcept {
    const auto closed = [](int fd) { return ::fcntl(fd, F_GETFD) < 0; };
    if (!closed(0) && !closed(1) && !closed(2)) return;
    for (int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC); fd >= 0; fd = ::open("/dev/null", O_RDWR | O_CLOEXEC)) {
        if (fd > 2) {
            ::close(fd);
            return;
        }
        ours_[static_cast<std::size_t>(fd)] = true;
    }
}

standard_descriptors_taken::~standard_descriptors_taken() {
    for (int fd = 0; fd < 3; ++fd)
        if (ours_[static_cast<std::size_t>(fd)]) ::close(fd);
}

}  // namespace mortise::inline v0::base
