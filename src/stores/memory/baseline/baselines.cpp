#include "stores/memory/baseline/baselines.hpp"

#include "base/immortal.hpp"

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

namespace mortise::inline v0::stores::memory {
namespace {

// The T of each place, shared by its ends and gone with the last.
template <class T>
class places {
public:
    std::shared_ptr<T> at(const std::string& place) {
        check_baseline_place(place);
        std::scoped_lock guard{mutex_};
        std::shared_ptr<T> found = known_[place].lock();
        if (!found) known_[place] = found = std::make_shared<T>();
        return found;
    }
    void clear(const std::string& place) {
        std::scoped_lock guard{mutex_};
        known_.erase(place);
    }

private:
    std::mutex mutex_;
    std::map<std::string, std::weak_ptr<T>> known_;
};

class mutex_end final : public baseline_end {
public:
    explicit mutex_end(std::shared_ptr<std::mutex> shared) : shared_(std::move(shared)) {}
    void lock() override { shared_->lock(); }
    void unlock() override { shared_->unlock(); }

private:
    std::shared_ptr<std::mutex> shared_;
};

struct turn {
    static constexpr unsigned anybodys = 2;

    std::mutex mutex;
    std::condition_variable passed;
    unsigned whose = 0;

    void wait_for(unsigned side) {
        std::unique_lock guard{mutex};
        passed.wait(guard, [&] { return whose == side || whose == anybodys; });
    }
    void give(unsigned to) {
        {
            std::scoped_lock guard{mutex};
            if (whose != anybodys) whose = to;
        }
        passed.notify_one();
    }
};

class turn_end final : public baseline_end {
public:
    turn_end(std::shared_ptr<turn> shared, unsigned side) : shared_(std::move(shared)), mine_(side) {}
    ~turn_end() override { shared_->give(turn::anybodys); }
    void lock() override { shared_->wait_for(mine_); }
    void unlock() override { shared_->give(1 - mine_); }

private:
    std::shared_ptr<turn> shared_;
    unsigned mine_;
};

template <class T>
places<T>& all_places() {
    static constinit base::one_per_process<places<T>> all;
    return all();
}

}  // namespace

baselines make_baselines(const base::url&) {
    using enum baseline::kind;
    return {.all = {{.name = "std::mutex",
                     .is = lock,
                     .open = [](const std::string& place, unsigned) -> std::unique_ptr<baseline_end> {
                         return std::make_unique<mutex_end>(all_places<std::mutex>().at(place));
                     },
                     .clear = [](const std::string& place) { all_places<std::mutex>().clear(place); }},
                    {.name = "condition variable ping-pong",
                     .is = ping_pong,
                     .open = [](const std::string& place, unsigned side) -> std::unique_ptr<baseline_end> {
                         return std::make_unique<turn_end>(all_places<turn>().at(place), side);
                     },
                     .clear = [](const std::string& place) { all_places<turn>().clear(place); }}},
            .usage = [] { return store_usage{}; }};
}

}  // namespace mortise::inline v0::stores::memory
