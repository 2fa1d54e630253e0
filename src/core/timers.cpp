#include "core/timers.hpp"

#include <algorithm>
#include <utility>

namespace mortise::inline v0::core {
namespace {

// Fewer cancelled ones than this are not worth the work.
constexpr std::size_t most_cancelled = 64;

}  // namespace

auto timers::add(time_point when, spi::task what) -> timer_id {
    if (free_.empty()) {
        tasks_.emplace_back();
        free_.reserve(tasks_.capacity());  // so that take() cannot fail
        free_.push_back(static_cast<std::uint32_t>(tasks_.size() - 1));
    }
    const std::uint32_t place = free_.back();
    const timer_id id = (last_ + 1) << place_bits | place;
    order_.push_back({when, id});
    std::push_heap(order_.begin(), order_.end(), later);
    ++last_;
    free_.pop_back();
    tasks_[place].id = id;
    tasks_[place].what = std::move(what);
    return id;
}

spi::task timers::cancel(timer_id id) noexcept {
    kept_task* const found = find(id);
    if (found == nullptr) return {};
    spi::task what = take(*found);
    const std::size_t open = tasks_.size() - free_.size();
    if (order_.size() > 2 * open + most_cancelled) {
        std::erase_if(order_, [this](const entry& one) { return find(one.id) == nullptr; });
        std::make_heap(order_.begin(), order_.end(), later);
    }
    return what;
}

spi::task timers::take_due(time_point now) noexcept {
    drop_cancelled();
    if (order_.empty() || order_.front().when > now) return {};
    kept_task& due = *find(order_.front().id);
    pop();
    return take(due);
}

auto timers::next() noexcept -> time_point {
    drop_cancelled();
    return order_.empty() ? time_point::max() : order_.front().when;
}

auto timers::find(timer_id id) noexcept -> kept_task* {
    const std::size_t place = id & ((timer_id{1} << place_bits) - 1);
    return place < tasks_.size() && id != 0 && tasks_[place].id == id ? &tasks_[place] : nullptr;
}

spi::task timers::take(kept_task& from) noexcept {
    from.id = 0;
    free_.push_back(static_cast<std::uint32_t>(&from - tasks_.data()));
    return std::move(from.what);
}

void timers::drop_cancelled() noexcept {
    while (!order_.empty() && find(order_.front().id) == nullptr) pop();
}

void timers::pop() noexcept {
    std::pop_heap(order_.begin(), order_.end(), later);
    order_.pop_back();
}

}  // namespace mortise::inline v0::core
