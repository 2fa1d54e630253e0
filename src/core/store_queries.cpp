#include "core/store_queries.hpp"

#include "base/limits.hpp"
#include "base/listed_locks.hpp"
#include "base/process.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <future>
#include <iterator>
#include <memory>

namespace mortise::inline v0::core {

template <class Answer, class Ask>
std::optional<Answer> store_queries::ask_and_wait(Ask&& ask, std::error_code& ec) {
    ec = link_.ended();
    if (ec) return std::nullopt;
    const auto reply = std::make_shared<std::promise<Answer>>();
    auto answer = reply->get_future();
    ask([reply](Answer what) { reply->set_value(std::move(what)); });
    if (answer.wait_for(link_.options.patience) == std::future_status::ready) return answer.get();
    ec = errc::unreachable;
    return std::nullopt;
}

std::vector<held_lock> store_queries::list(std::error_code& ec, std::string* why) {
    std::vector<held_lock> all;
    list_in_parts([&](std::vector<held_lock> some) { std::ranges::move(some, std::back_inserter(all)); }, ec, why);
    if (ec) return {};
    base::sort_listed(all);
    return all;
}

// A store full of other things answers part after part without a lock: that is no answer either.
void store_queries::list_in_parts(const std::function<void(std::vector<held_lock>)>& part, std::error_code& ec,
                                  std::string* why) {
    if (std::string cannot = policy_.cannot_list(); !cannot.empty()) {
        ec = errc::unsupported;
        if (why != nullptr) *why = std::move(cannot);
        return;
    }
    std::string from;
    spi::time_point heard = link_.clock.now();
    do {
        auto some = ask_and_wait<spi::listing>([&](auto done) { link_.store.list_part(from, std::move(done)); }, ec);
        if (some && some->failed) ec = some->failed;
        if (some && why != nullptr) *why = std::move(some->detail);
        if (ec) return;
        from = std::move(some->next);
        if (!some->holds.empty()) {
            part(std::move(some->holds));
            heard = link_.clock.now();
        } else if (!from.empty() && link_.clock.now() - heard > link_.options.patience) {
            ec = errc::unreachable;
            return;
        }
    } while (!from.empty());
}

void store_queries::start_list(unique_function<void(std::vector<held_lock>, std::error_code)> done) {
    if (const auto ended = link_.ended()) return done({}, ended);
    if (!policy_.cannot_list().empty()) return done({}, errc::unsupported);
    const auto reply =
        std::make_shared<pending_reply<std::vector<held_lock>>>(std::vector<held_lock>{}, std::move(done));
    link_.store.list([weak = std::weak_ptr(replies_), reply](spi::listing all) {
        reply->answer(std::move(all.holds), all.failed);
        if (const auto replies = weak.lock()) replies->forget(reply);
    });
    replies_->wait_for(reply, link_.options.patience);
}

bool store_queries::renew(std::string_view name, const claim_id& id, spi::duration lease,
                          std::error_code& ec) noexcept {
    try {
        base::check({.name = std::string(name), .options = {.lease = lease}});
        const spi::renewal due{name, id, lease};
        const auto answers = ask_and_wait<std::vector<spi::renewal_answer>>(
            [&](auto done) {
                link_.store.renew({&due, 1}, std::move(done));
            },
            ec);
        if (!answers) return false;
        if (answers->front() == spi::renewal_answer::renewed) return true;
        ec = answers->front() == spi::renewal_answer::lost ? errc::lost : errc::unreachable;
    } catch (const std::system_error& e) {
        ec = e.code();
    } catch (const std::exception&) {
        ec = errc::exhausted;
    }
    return false;
}

bool store_queries::break_lock(std::string_view name, token held, std::string_view why, std::error_code& ec) {
    base::check({.name = std::string(name), .options = {.label = std::string(why)}});
    const std::string note = "by " + host_ + " pid " + std::to_string(base::process_id()) + " (" + policy_.label() +
                             ")" + (why.empty() ? "" : ": " + std::string(why));
    const auto answer = ask_and_wait<spi::break_answer>(
        [&](auto done) {
            link_.store.break_hold({name, held.counter(), note}, std::move(done));
        },
        ec);
    if (answer == spi::break_answer::unknown) ec = errc::unreachable;
    if (answer == spi::break_answer::unsupported) ec = errc::unsupported;
    return answer == spi::break_answer::broken;
}

std::vector<finding> store_queries::check(std::error_code& ec) {
    return ask_and_wait<std::vector<finding>>([&](auto done) { link_.store.check(std::move(done)); }, ec)
        .value_or(std::vector<finding>{});
}

}  // namespace mortise::inline v0::core
