#include "contender.hpp"

#include <mortise/error.hpp>
#include <mortise/mutex.hpp>
#include <mortise/shared_mutex.hpp>

#include <system_error>
#include <utility>

namespace bench {
namespace {

// One that the store does not answer in time is made up for later: on a crowded machine that costs time, which is what is
// measured, and no lock.
void expect_released(std::error_code ec) {
    if (ec && ec != mortise::errc::unreachable) throw std::system_error(ec, "unlock");
}

class mutex_end final : public mortise::baseline_end {
public:
    mutex_end(mortise::client& locks, const std::string& name, const mortise::claim_options& claim)
        : mutex_(locks, name, claim) {}
    void lock() override { mutex_.lock(); }
    void unlock() override {
        std::error_code ec;
        mutex_.unlock(ec);
        expect_released(ec);
    }

private:
    mortise::mutex mutex_;
};

class reader_end final : public mortise::baseline_end {
public:
    reader_end(mortise::client& locks, const std::string& name, const mortise::claim_options& claim)
        : mutex_(locks, name, claim) {}
    void lock() override { mutex_.lock_shared(); }
    void unlock() override {
        std::error_code ec;
        mutex_.unlock_shared(ec);
        expect_released(ec);
    }

private:
    mortise::shared_mutex mutex_;
};

class empty_end final : public mortise::baseline_end {
public:
    void lock() override {}
    void unlock() override {}
};

class handle_end final : public mortise::baseline_end {
public:
    handle_end(mortise::client& locks, std::string name, const mortise::claim_options& claim)
        : locks_(locks), name_(std::move(name)), claim_(claim) {}
    void lock() override { held_ = locks_.acquire(name_, claim_); }
    void unlock() override {
        std::error_code ec;
        held_.release(ec);
        expect_released(ec);
    }

private:
    mortise::client& locks_;
    std::string name_;
    mortise::claim_options claim_;
    mortise::hold held_;
};

template <class End>
contender made(const char* label, const std::string& store, const names& where, mortise::client_options how,
               mortise::claim_options claim) {
    contender one{.name = label};
    one.open = [=]() -> maker {
        auto locks = std::make_shared<mortise::client>(store, how);
        return [=](int lane) { return std::make_unique<End>(*locks, where.of(lane), claim); };
    };
    return one;
}

}  // namespace

contender mutex_on(const std::string& store, const names& where, mortise::client_options how,
                   mortise::claim_options claim) {
    contender one = made<mutex_end>("mortise::mutex", store, where, std::move(how), std::move(claim));
    one.keeps = true;
    return one;
}

contender handle_on(const std::string& store, const names& where, mortise::client_options how,
                    mortise::claim_options claim) {
    return made<handle_end>("mortise, acquire/release", store, where, std::move(how), std::move(claim));
}

contender reader_on(const std::string& store, const names& where, mortise::client_options how) {
    return made<reader_end>("mortise::shared_mutex, shared", store, where, std::move(how), {});
}

contender no_lock() {
    contender one{.name = "no lock", .ours = false};
    one.open = [] { return [](int) { return std::make_unique<empty_end>(); }; };
    return one;
}

contender baseline_on(const mortise::baseline& beside, const names& where) {
    contender one{.name = beside.name,
                  .ours = false,
                  .alternates = beside.is == mortise::baseline::kind::ping_pong,
                  .commits = beside.is == mortise::baseline::kind::commit};
    one.open = [=]() -> maker {
        return [=](int lane) { return beside.open(where.of(lane), static_cast<unsigned>(lane % 2)); };
    };
    one.clear = [=](int lanes) {
        for (int lane = 0; lane < (where.each ? lanes : 1); ++lane) beside.clear(where.of(lane));
    };
    return one;
}

}  // namespace bench
