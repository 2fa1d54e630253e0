#include "stores/host/raw.hpp"

#include "base/descriptors.hpp"
#include "base/limits.hpp"

#include <mortise/error.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <utility>

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mortise::inline v0::stores::host {
namespace {

void check(int failure, const char* what) {
    if (failure != 0) throw std::system_error(failure, std::generic_category(), what);
}

class raw_file {
public:
    raw_file(const place& where, const std::string& name) {
        const base::standard_descriptors_taken out_of_the_way;
        const int directory = where.open_directory();
        const mode_t mode = where.file_mode(directory);
        fd_ = ::openat(directory, name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);
        const int why = errno;
        ::close(directory);
        if (fd_ < 0)
            throw error(errc::unreachable,
                        "host store in " + where.directory + ": cannot open " + name + ": " + std::strerror(why));
        ::fchmod(fd_, mode);  // the umask is not ours to obey
    }
    ~raw_file() { ::close(fd_); }
    raw_file(const raw_file&) = delete;
    raw_file& operator=(const raw_file&) = delete;

    void lock() {
        while (::flock(fd_, LOCK_EX) != 0)
            if (errno != EINTR) check(errno, "flock");
    }
    void unlock() {
        if (::flock(fd_, LOCK_UN) != 0) check(errno, "flock");
    }
    void make_room(std::size_t bytes) { check(::posix_fallocate(fd_, 0, static_cast<off_t>(bytes)), "fallocate"); }
    void* map(std::size_t bytes) {
        void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
        if (at == MAP_FAILED) check(errno, "mmap");
        return at;
    }

private:
    int fd_ = -1;
};

// A T in a file. `make` is called once with one of zeros, before anybody else sees it.
template <class T>
class mapped_file {
public:
    template <class Make>
    mapped_file(const place& where, const std::string& name, Make&& make) {
        raw_file file{where, name};
        const std::scoped_lock alone{file};  // closing would not give it back: the mapping keeps the file open
        file.make_room(sizeof(content));
        at_ = static_cast<content*>(file.map(sizeof(content)));
        if (at_->made != 0) return;
        make(at_->value);
        at_->made = 1;
    }
    ~mapped_file() { ::munmap(at_, sizeof(content)); }
    mapped_file(const mapped_file&) = delete;
    mapped_file& operator=(const mapped_file&) = delete;

    T& operator*() const noexcept { return at_->value; }

private:
    struct content {
        T value;
        std::uint32_t made;
    };
    content* at_;
};

// The kernel's lock belongs to the open file, so each end has its own.
class flock_end final : public raw_end {
public:
    flock_end(const place& where, const std::string& name) : file_(where, name) {}
    void lock() override { file_.lock(); }
    void unlock() override { file_.unlock(); }

private:
    raw_file file_;
};

class robust_end final : public raw_end {
public:
    robust_end(const place& where, const std::string& name) : mutex_(where, name, make) {}
    void lock() override { check(::pthread_mutex_lock(&*mutex_), "pthread_mutex_lock"); }
    void unlock() override { check(::pthread_mutex_unlock(&*mutex_), "pthread_mutex_unlock"); }

private:
    static void make(pthread_mutex_t& mutex) {
        pthread_mutexattr_t how;
        check(::pthread_mutexattr_init(&how), "pthread_mutexattr_init");
        check(::pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED), "pthread_mutexattr_setpshared");
        check(::pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST), "pthread_mutexattr_setrobust");
        check(::pthread_mutex_init(&mutex, &how), "pthread_mutex_init");
        ::pthread_mutexattr_destroy(&how);
    }

    mapped_file<pthread_mutex_t> mutex_;
};

class turn_end final : public raw_end {
public:
    turn_end(const place& where, const std::string& name, unsigned side)
        : whose_(where, name, [](auto&) {}), mine_(side) {}
    ~turn_end() override {
        word().store(anybodys);
        wake();
    }

    void lock() override {
        for (std::uint32_t now = word().load(); now != mine_ && now != anybodys; now = word().load())
            ::syscall(SYS_futex, &*whose_, FUTEX_WAIT, now, nullptr, nullptr, 0);
    }
    void unlock() override {
        std::uint32_t was = mine_;
        if (word().compare_exchange_strong(was, 1 - mine_)) wake();
    }

private:
    static constexpr std::uint32_t anybodys = 2;

    std::atomic_ref<std::uint32_t> word() const noexcept { return std::atomic_ref{*whose_}; }
    void wake() { ::syscall(SYS_futex, &*whose_, FUTEX_WAKE, 1, nullptr, nullptr, 0); }

    mapped_file<std::uint32_t> whose_;
    const std::uint32_t mine_;
};

template <class Make>
raw_limit limit(std::string name, raw_limit::kind is, const place& where, const std::string& prefix, Make make) {
    return {.name = std::move(name),
            .is = is,
            .open = [=](const std::string& at, unsigned side) -> std::unique_ptr<raw_end> {
                base::check_raw_place(at);
                return make(where, prefix + at, side);
            },
            .clear = [path = where.directory + "/" + prefix](const std::string& at) { ::unlink((path + at).c_str()); }};
}

store_usage usage_of(const place& where) {
    struct stat is {};
    if (::stat((where.directory + "/locks").c_str(), &is) != 0) return {.memory = 0};  // not used yet
    return {.memory = static_cast<std::uint64_t>(is.st_blocks) * 512};
}

}  // namespace

mortise::raw_limits raw_limits_in(const place& where) {
    using enum raw_limit::kind;
    return {.all = {limit("flock(2)", lock, where, "raw-flock-",
                          [](const place& in, const std::string& file, unsigned) {
                              return std::make_unique<flock_end>(in, file);
                          }),
                    limit("robust mutex", lock, where, "raw-mutex-",
                          [](const place& in, const std::string& file, unsigned) {
                              return std::make_unique<robust_end>(in, file);
                          }),
                    limit("futex ping-pong", turns, where, "raw-turn-",
                          [](const place& in, const std::string& file, unsigned side) {
                              return std::make_unique<turn_end>(in, file, side);
                          })},
            .usage = [where] { return usage_of(where); }};
}

}  // namespace mortise::inline v0::stores::host
