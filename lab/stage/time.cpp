#include "lab/stage/time.hpp"

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace lab {

// The same in every run, so that pictures are: the first of January 2026.
constexpr std::chrono::seconds when_stories_begin{1'767'225'600};

stage_time::stage_time(std::string file) : file_(std::move(file)) {
    const int fd = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void* page = MAP_FAILED;
    if (fd >= 0 && ::ftruncate(fd, sizeof *page_) == 0)
        page = ::mmap(nullptr, sizeof *page_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const int failed = errno;
    if (fd >= 0) ::close(fd);
    if (page == MAP_FAILED)
        throw std::system_error(failed, std::generic_category(), "cannot keep the time in " + file_);
    page_ = static_cast<std::int64_t*>(page);
    set(when_stories_begin);
}

stage_time::~stage_time() {
    ::munmap(page_, sizeof *page_);
}

std::chrono::nanoseconds stage_time::now() const {
    return std::chrono::nanoseconds{std::atomic_ref{*page_}.load()};
}

void stage_time::set(std::chrono::nanoseconds since_1970) {
    std::atomic_ref{*page_}.store(since_1970.count());
}

}  // namespace lab
