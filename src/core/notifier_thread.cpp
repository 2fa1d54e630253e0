#include "core/notifier_thread.hpp"

#include <mortise/error.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>

#include <pthread.h>

namespace mortise::inline v0::core {

struct notifier_thread::mailbox {
    std::mutex mutex;
    std::condition_variable arrived;
    std::condition_variable finished;
    std::deque<spi::task> tasks;
    bool stopping = false;
    bool abandoned = false;
    bool done = false;

    void run() {
        std::unique_lock guard{mutex};
        std::deque<spi::task> batch;
        while (!abandoned) {
            arrived.wait(guard, [&] { return stopping || !tasks.empty(); });
            if (tasks.empty()) break;
            batch.swap(tasks);
            guard.unlock();
            for (spi::task& one : batch) {
                one();
                one = nullptr;  // what it owned goes before the next begins
                if (gone()) break;
            }
            batch.clear();
            guard.lock();
        }
        done = true;
        finished.notify_all();
    }

    bool gone() {
        std::scoped_lock guard{mutex};
        return abandoned;
    }
};

notifier_thread::notifier_thread() : mailbox_(std::make_shared<mailbox>()) {}

notifier_thread::~notifier_thread() {
    stop(std::chrono::nanoseconds::zero());
}

void notifier_thread::post(spi::task what) {
    std::scoped_lock guard{mailbox_->mutex};
    if (mailbox_->stopping) return;
    if (!thread_.joinable()) {
        try {
            thread_ = std::thread([box = mailbox_] {
                ::pthread_setname_np(::pthread_self(), "mortise-notify");
                box->run();
            });
        } catch (const std::system_error& e) {
            throw error(errc::exhausted, std::string("cannot start a thread: ") + e.what());
        }
    }
    mailbox_->tasks.push_back(std::move(what));
    if (mailbox_->tasks.size() == 1) mailbox_->arrived.notify_one();
}

void notifier_thread::stop(std::chrono::nanoseconds patience) noexcept {
    std::unique_lock guard{mailbox_->mutex};
    mailbox_->stopping = true;
    mailbox_->arrived.notify_one();
    if (!thread_.joinable()) return;
    const bool inside = thread_.get_id() == std::this_thread::get_id();
    if (!inside && mailbox_->finished.wait_for(guard, patience, [&] { return mailbox_->done; })) {
        guard.unlock();
        thread_.join();
        return;
    }
    mailbox_->abandoned = true;
    thread_.detach();
}

}  // namespace mortise::inline v0::core
