// The verbs of those who look at locks from outside, and of those who interfere. See engine.hpp for the picture.
#include "base/limits.hpp"
#include "base/process.hpp"
#include "core/engine.hpp"

#include <mortise/error.hpp>

#include <future>

namespace mortise::inline v0::core {

template <class Answer, class Ask>
std::optional<Answer> engine::ask_and_wait(Ask&& ask, std::error_code& ec) {
    ec.clear();
    if (forked() || closed_.load()) {
        ec = forked() ? errc::forked : errc::closed;
        return std::nullopt;
    }
    const auto said = std::make_shared<std::promise<Answer>>();
    auto answer = said->get_future();
    ask([said](Answer what) { said->set_value(std::move(what)); });
    if (answer.wait_for(options_.patience) == std::future_status::ready) return answer.get();
    ec = errc::unreachable;
    return std::nullopt;
}

std::string engine::cannot_list() const {
    const mortise::promises& can = store_->promises();
    return can.lists ? std::string{} : "the " + can.store + " store does not promise lists of locks";
}

std::vector<held_lock> engine::list(std::error_code& ec, std::string* why) {
    if (std::string cannot = cannot_list(); !cannot.empty()) {
        ec = errc::unsupported;
        if (why != nullptr) *why = std::move(cannot);
        return {};
    }
    auto all = ask_and_wait<spi::listing>([&](auto done) { store_->list(std::move(done)); }, ec);
    if (!all) return {};
    if (all->failed) ec = all->failed;
    if (why != nullptr) *why = std::move(all->detail);
    return std::move(all->holds);
}

bool engine::renew(std::string_view name, const claim_id& id, spi::duration lease, std::error_code& ec) noexcept {
    try {
        base::check({.name = std::string(name), .options = {.lease = lease}});
        const spi::renewal due{name, id, lease};
        const auto said = ask_and_wait<std::vector<spi::renewal_answer>>(
            [&](auto done) {
                store_->renew({&due, 1}, std::move(done));
            },
            ec);
        if (!said) return false;
        if (said->front() == spi::renewal_answer::renewed) return true;
        ec = said->front() == spi::renewal_answer::lost ? errc::lost : errc::unreachable;
    } catch (const std::system_error& e) {
        ec = e.code();
    } catch (const std::exception&) {
        ec = errc::exhausted;
    }
    return false;
}

bool engine::break_lock(std::string_view name, token held, std::string_view why, std::error_code& ec) {
    base::check({.name = std::string(name), .options = {.label = std::string(why)}});
    const std::string note = "by " + host_ + " pid " + std::to_string(base::process_id()) + " (" + *label_ + ")" +
                             (why.empty() ? "" : ": " + std::string(why));
    const auto said = ask_and_wait<spi::break_answer>(
        [&](auto done) {
            store_->break_hold({name, held.counter(), note}, std::move(done));
        },
        ec);
    if (said == spi::break_answer::unknown) ec = errc::unreachable;
    return said == spi::break_answer::broken;
}

std::vector<finding> engine::check_store(std::error_code& ec) {
    return ask_and_wait<std::vector<finding>>([&](auto done) { store_->check(std::move(done)); }, ec)
        .value_or(std::vector<finding>{});
}

}  // namespace mortise::inline v0::core
