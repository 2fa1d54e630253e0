#include "core/notifier_thread.hpp"

#include "base/quiet_thread.hpp"

#include <mortise/error.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>

namespace mortise::inline v0::core {

struct notifier_thread::mailbox {
    std::mutex mutex;
    std::condition_variable arrived;
    std::condition_variable finished;
    std::deque<spi::task> tasks;
    bool stopping = false;
    bool done = false;

    void run() {
        std::unique_lock guard{mutex};
        std::deque<spi::task> batch;
        while (true) {
            arrived.wait(guard, [&] { return stopping || !tasks.empty(); });
            if (tasks.empty()) break;
            batch.swap(tasks);
            guard.unlock();
            for (spi::task& one : batch) {
                one();
                one = nullptr;  // what it owned goes before the next begins
            }
            batch.clear();
            guard.lock();
        }
        done = true;
        finished.notify_all();
    }
};

notifier_thread::notifier_thread() : mailbox_(std::make_shared<mailbox>()) {}

notifier_thread::~notifier_thread() {
    stop(std::chrono::nanoseconds::zero());
}

void notifier_thread::post(spi::task what) {
    std::scoped_lock guard{mailbox_->mutex};
    if (mailbox_->stopping) throw error(errc::closed, "the client was closed");
    if (!thread_.joinable()) thread_ = base::quiet_thread("mortise-notify", [box = mailbox_] { box->run(); });
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
    thread_.detach();  // it runs what is left, for each completion is promised one call, and ends by itself
}

}  // namespace mortise::inline v0::core
