#include "mortise_locks.hpp"

#include <mortise/mutex.hpp>

#include <memory>
#include <system_error>

namespace bench {
namespace {

class mutex_turnstile : public turnstile {
public:
    mutex_turnstile(mortise::client& locks, const std::string& name, const mortise::claim_options& claim)
        : mutex_(locks, name, claim) {}
    void lock() override { mutex_.lock(); }
    void unlock() override { mutex_.unlock(); }

private:
    mortise::mutex mutex_;
};

class handle_turnstile : public turnstile {
public:
    handle_turnstile(mortise::client& locks, const std::string& name, const mortise::claim_options& claim)
        : locks_(locks), name_(name), claim_(claim) {}
    void lock() override { held_ = locks_.acquire(name_, claim_); }
    void unlock() override {
        std::error_code ec;
        held_.release(ec);
        if (ec) throw std::system_error(ec, "release");
    }

private:
    mortise::client& locks_;
    std::string name_;
    mortise::claim_options claim_;
    mortise::hold held_;
};

template <class Turnstile>
contender made(const char* label, const std::string& store, const std::string& name, mortise::client_options how,
               mortise::claim_options claim) {
    return {label, [=](int) -> maker {
                auto locks = std::make_shared<mortise::client>(store, how);
                return [=] { return std::make_unique<Turnstile>(*locks, name, claim); };
            }};
}

}  // namespace

contender mutex_on(const std::string& store, const std::string& name, mortise::client_options how,
                   mortise::claim_options claim) {
    return made<mutex_turnstile>("mortise::mutex", store, name, std::move(how), std::move(claim));
}

contender handle_on(const std::string& store, const std::string& name, mortise::client_options how,
                    mortise::claim_options claim) {
    return made<handle_turnstile>("mortise, acquire/release", store, name, std::move(how), std::move(claim));
}

}  // namespace bench
