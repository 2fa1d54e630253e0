#include "raw.hpp"

#include "shared.hpp"

#include <cerrno>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

namespace bench {
namespace {

void check(int error, const char* what) {
    if (error != 0) throw std::system_error(error, std::generic_category(), what);
}

class flock_turnstile : public turnstile {
public:
    explicit flock_turnstile(const std::string& file)
        : file_(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
        if (file_ < 0) check(errno, "open");
    }
    ~flock_turnstile() override { ::close(file_); }
    flock_turnstile(const flock_turnstile&) = delete;
    flock_turnstile& operator=(const flock_turnstile&) = delete;

    void lock() override {
        while (::flock(file_, LOCK_EX) != 0) {
            if (errno != EINTR) check(errno, "flock");
        }
    }
    void unlock() override {
        if (::flock(file_, LOCK_UN) != 0) check(errno, "flock");
    }

private:
    int file_;
};

class robust_turnstile : public turnstile {
public:
    explicit robust_turnstile(pthread_mutex_t& mutex) : mutex_(mutex) {}
    void lock() override { check(::pthread_mutex_lock(&mutex_), "pthread_mutex_lock"); }
    void unlock() override { check(::pthread_mutex_unlock(&mutex_), "pthread_mutex_unlock"); }

private:
    pthread_mutex_t& mutex_;
};

class turn : public turnstile {
public:
    turn(futex_word& whose, unsigned mine) : whose_(whose), mine_(mine) {}
    ~turn() override { whose_.set(anybodys); }  // the other may be waiting still, and I shall not come again
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

    void lock() override { whose_.await(mine_, anybodys); }
    void unlock() override { whose_.set(1 - mine_, 1); }

private:
    static constexpr unsigned anybodys = 2;

    futex_word& whose_;
    unsigned mine_;
};

}  // namespace

contender flock_on(const std::string& file) {
    return {"flock(2)", [file](int) -> maker { return [file] { return std::make_unique<flock_turnstile>(file); }; }};
}

contender robust_mutex() {
    auto mutex = std::make_shared<shared<pthread_mutex_t>>();
    pthread_mutexattr_t how;
    check(::pthread_mutexattr_init(&how), "pthread_mutexattr_init");
    check(::pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED), "pthread_mutexattr_setpshared");
    check(::pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST), "pthread_mutexattr_setrobust");
    check(::pthread_mutex_init(&**mutex, &how), "pthread_mutex_init");
    ::pthread_mutexattr_destroy(&how);
    return {"robust mutex",
            [mutex](int) -> maker { return [mutex] { return std::make_unique<robust_turnstile>(**mutex); }; }};
}

contender futex_ping_pong() {
    auto whose = std::make_shared<shared<futex_word>>();
    return {"futex ping-pong", [whose](int process) -> maker {
                return [whose, process] { return std::make_unique<turn>(**whose, static_cast<unsigned>(process)); };
            }};
}

}  // namespace bench
