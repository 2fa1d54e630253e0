#include "stores/host/baseline/baselines.hpp"

#include "base/descriptors.hpp"
#include "stores/host/store_directory.hpp"

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

class opened_file {
public:
    opened_file(const store_directory& where, const std::string& name) {
        const base::standard_descriptors_taken out_of_the_way;
        const int directory = where.open_directory();
        const mode_t mode = where.file_mode(directory);
        fd_ = ::openat(directory, name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);
        const int why = errno;
        ::close(directory);
        if (fd_ < 0)
            throw error(errc::unreachable,
                        "host store in " + where.directory + ": cannot open " + name + ": " + std::strerror(why));
        ::fchmod(fd_, mode);  // whatever the umask says
    }
    ~opened_file() { ::close(fd_); }
    opened_file(const opened_file&) = delete;
    opened_file& operator=(const opened_file&) = delete;

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

// A T in a shared file. `make` is called once, on zeros, before anybody else sees it.
template <class T>
class mapped_file {
public:
    template <class Make>
    mapped_file(const store_directory& where, const std::string& name, Make&& make) {
        opened_file file{where, name};
        const std::scoped_lock alone{file};  // closing would not unlock it: the mapping keeps the file open
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
class flock_end final : public baseline_end {
public:
    flock_end(const store_directory& where, const std::string& name) : file_(where, name) {}
    void lock() override { file_.lock(); }
    void unlock() override { file_.unlock(); }

private:
    opened_file file_;
};

class robust_end final : public baseline_end {
public:
    robust_end(const store_directory& where, const std::string& name) : mutex_(where, name, make) {}
    void lock() override { check(::pthread_mutex_lock(&*mutex_), "pthread_mutex_lock"); }
    void unlock() override { check(::pthread_mutex_unlock(&*mutex_), "pthread_mutex_unlock"); }

private:
    static void make(pthread_mutex_t& mutex) {
        pthread_mutexattr_t attributes;
        check(::pthread_mutexattr_init(&attributes), "pthread_mutexattr_init");
        check(::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED), "pthread_mutexattr_setpshared");
        check(::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST), "pthread_mutexattr_setrobust");
        check(::pthread_mutex_init(&mutex, &attributes), "pthread_mutex_init");
        ::pthread_mutexattr_destroy(&attributes);
    }

    mapped_file<pthread_mutex_t> mutex_;
};

class futex_end final : public baseline_end {
public:
    futex_end(const store_directory& where, const std::string& name, unsigned side)
        : whose_(where, name, [](auto&) {}), mine_(side) {}
    ~futex_end() override {
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
baseline made_of(std::string name, baseline::kind is, const store_directory& where, const std::string& prefix,
                 Make make) {
    return {.name = std::move(name),
            .is = is,
            .open = [=](const std::string& at, unsigned side) -> std::unique_ptr<baseline_end> {
                check_baseline_place(at);
                return make(where, prefix + at, side);
            },
            .clear = [path = where.directory + "/" + prefix](const std::string& at) { ::unlink((path + at).c_str()); }};
}

store_usage usage_of(const store_directory& where) {
    struct stat is {};
    if (::stat((where.directory + "/locks").c_str(), &is) != 0) return {.memory = 0};  // not used yet
    return {.memory = static_cast<std::uint64_t>(is.st_blocks) * 512};
}

}  // namespace

baselines make_baselines(const base::url& address) {
    const store_directory where = store_directory::of(address);
    using enum baseline::kind;
    return {.all = {made_of("flock(2)", lock, where, "baseline-flock-",
                            [](const store_directory& in, const std::string& file, unsigned) {
                                return std::make_unique<flock_end>(in, file);
                            }),
                    made_of("robust mutex", lock, where, "baseline-mutex-",
                            [](const store_directory& in, const std::string& file, unsigned) {
                                return std::make_unique<robust_end>(in, file);
                            }),
                    made_of("futex ping-pong", ping_pong, where, "baseline-futex-",
                            [](const store_directory& in, const std::string& file, unsigned side) {
                                return std::make_unique<futex_end>(in, file, side);
                            })},
            .usage = [where] { return usage_of(where); }};
}

}  // namespace mortise::inline v0::stores::host
