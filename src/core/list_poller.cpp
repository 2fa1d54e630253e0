#include "core/list_poller.hpp"

#include "base/limits.hpp"

#include <mortise/error.hpp>

#include <algorithm>

namespace mortise::inline v0 {
namespace core {
namespace {

bool same(const held_lock& a, const held_lock& b) {
    return a.name == b.name && a.holder.token == b.holder.token && a.holder.pid == b.holder.pid &&
           a.holder.host == b.holder.host && a.holder.label == b.holder.label && a.capacity == b.capacity &&
           a.weight == b.weight && a.waiting == b.waiting;
}

}  // namespace

list_poller::list_poller(std::shared_ptr<store_link> link, std::string_view name, client::change changed)
    : link_(std::move(link)), name_(name), changed_(std::move(changed)) {}

bool list_poller::begin() {
    if (!post_look()) return false;
    keep_time();
    return true;
}

bool list_poller::post_look() {
    if (posted_.exchange(true)) return true;
    return link_->notifications.post([self = shared_from_this()] {
        self->posted_ = false;
        self->look();
    });
}

void list_poller::keep_time() noexcept {
    try {
        link_->clock.at(link_->clock.now() + pace, [weak = weak_from_this()] {
            const auto self = weak.lock();
            if (self && !self->link_->shut.load() && self->post_look()) self->keep_time();
        });
    } catch (const std::exception&) {  // no timer to be had: the client has ended
    }
}

void list_poller::look() {
    if (!link_->usable()) return;
    {
        const std::scoped_lock guard{calling_};
        const spi::time_point now = link_->clock.now();
        if (stopped_ || (asked_ && now - *asked_ < link_->options.patience)) return;
        if (asked_ && failed_ != errc::unreachable) tell(errc::unreachable);
        if (stopped_) return;
        asked_ = now;
    }
    link_->store.list([weak = weak_from_this()](spi::listing all) {
        const auto self = weak.lock();
        if (self)
            self->link_->notifications.post([self, all = std::move(all)]() mutable { self->seen(std::move(all)); });
    });
}

void list_poller::seen(spi::listing all) {
    const std::scoped_lock guard{calling_};
    asked_.reset();
    if (stopped_) return;
    if (all.failed) {
        if (all.failed != failed_) tell(all.failed);
        return;
    }
    auto& locks = all.holds;
    if (!name_.empty()) std::erase_if(locks, [&](const held_lock& l) { return l.name != name_; });
    const bool known = told_ && !failed_ && std::equal(locks.begin(), locks.end(), last_.begin(), last_.end(), same);
    last_ = std::move(locks);
    if (!known) tell({});
}

void list_poller::tell(std::error_code failed) {
    told_ = true;
    failed_ = failed;
    try {
        changed_(last_, failed);
    } catch (...) {
    }
}

void list_poller::stop() noexcept {
    if (link_->forked()) return;  // the parent's
    const std::scoped_lock guard{calling_};
    stopped_ = true;
}

mortise::watch watch(std::shared_ptr<store_link> link, const claim_policy& policy, std::string_view name,
                     client::change changed) {
    if (!changed) throw error(errc::invalid_option, "watch: the callback is empty; give one that can be called");
    if (!name.empty()) base::check_name(name);
    if (link->forked()) throw error(errc::forked, "watch: " + make_error_code(errc::forked).message());
    if (const std::string cannot = policy.cannot_list(); !cannot.empty())
        throw error(errc::unsupported, "watch (" + policy.shown_as() + "): " + cannot);
    const auto begun = std::make_shared<list_poller>(std::move(link), name, std::move(changed));
    if (!begun->begin()) throw error(errc::exhausted, "watch: there is no thread to run the callback on");
    return mortise::watch{begun};
}

}  // namespace core

watch::watch() noexcept = default;
watch::watch(std::shared_ptr<core::list_poller> begun) noexcept : poller_(std::move(begun)) {}
watch::watch(watch&&) noexcept = default;
watch& watch::operator=(watch&& other) noexcept {
    if (this != &other) {
        if (poller_) poller_->stop();
        poller_ = std::move(other.poller_);
    }
    return *this;
}
watch::~watch() {
    if (poller_) poller_->stop();
}

}  // namespace mortise::inline v0
