#include "checker/history/log.hpp"

#include <atomic>
#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace mortise::checker {
namespace {

constexpr std::uint64_t log_mark = 0x3174736968726f6d;  // "morhist1"

[[noreturn]] void fail(const std::string& what, const std::string& file) {
    throw std::system_error(errno, std::generic_category(), what + " " + file);
}

}  // namespace

// Of the length of a record.
struct history_log::header {
    std::uint64_t mark;
    std::uint64_t capacity;
    std::atomic<std::uint64_t> begun;
    std::atomic<std::uint64_t> ops;
    std::uint64_t unused[4];
};

history_log::history_log(const std::string& file, std::size_t records) : length_((records + 1) * sizeof(record)) {
    static_assert(sizeof(header) == sizeof(record));
    const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) fail("cannot make the log", file);
    void* at = MAP_FAILED;
    if (::ftruncate(fd, static_cast<off_t>(length_)) == 0)
        at = ::mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const int why = errno;
    ::close(fd);
    errno = why;
    if (at == MAP_FAILED) fail("cannot map the log", file);
    head_ = static_cast<header*>(at);
    first_ = static_cast<record*>(at) + 1;
    head_->capacity = records;
    head_->ops = static_cast<std::uint64_t>(raw_now() / 1000)
                 << 24;  // no two logs of a run have the same, whatever their pids
    head_->mark = log_mark;
}

history_log::~history_log() {
    ::munmap(head_, length_);
}

std::uint64_t history_log::next_op() noexcept {
    return head_->ops.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::int64_t history_log::write(record what) noexcept {
    const std::uint64_t i = head_->begun.fetch_add(1, std::memory_order_relaxed);
    const std::int64_t at = what.at != 0 ? what.at : raw_now();
    if (i >= head_->capacity) return at;
    static const thread_local auto tid = static_cast<std::uint32_t>(::gettid());
    what.pid = static_cast<std::uint32_t>(::getpid());
    what.tid = tid;
    what.at = 0;
    record& place = first_[i];
    place = what;
    std::atomic_ref<std::int64_t>{place.at}.store(at, std::memory_order_release);
    return at;
}

log_contents read_log(const std::string& file) {
    std::ifstream in{file, std::ios::binary};
    if (!in) fail("cannot read the log", file);
    std::uint64_t head[8] = {};
    in.read(reinterpret_cast<char*>(head), sizeof head);
    if (head[0] == 0) return {};  // its process was killed before it could write anything
    if (!in || head[0] != log_mark) throw std::runtime_error(file + " is no log of a history");
    log_contents found;
    found.full = head[2] > head[1];
    const std::uint64_t count = found.full ? head[1] : head[2];
    std::vector<record> all(count);
    in.read(reinterpret_cast<char*>(all.data()), static_cast<std::streamsize>(count * sizeof(record)));
    if (!in && count != 0) throw std::runtime_error(file + " is shorter than it says");
    found.records.reserve(count);
    for (const record& one : all) {
        if (one.at == 0)
            ++found.torn;
        else
            found.records.push_back(one);
    }
    return found;
}

}  // namespace mortise::checker
