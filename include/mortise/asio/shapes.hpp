// The arguments of completion handlers, made of the library's results and errors. Internal.
#pragma once

#include <mortise/attempt.hpp>
#include <mortise/config.hpp>
#include <mortise/error.hpp>
#include <mortise/hold.hpp>
#include <mortise/holder.hpp>
#include <mortise/multi_lock.hpp>

#include <exception>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace mortise::inline v0::asio_detail {

inline std::exception_ptr thrown(const refusal& why) {
    return std::make_exception_ptr(error(why.reason, why.describe()));
}

// The hold, or the refusal as an exception_ptr.
template <class Attempt, class Hold>
struct or_thrown {
    using results = std::tuple<std::exception_ptr, Hold>;

    static results of(Attempt got) {
        if (got) return {nullptr, *std::move(got)};
        return {thrown(got.refusal()), Hold{}};
    }
    static results of(const error& e) { return {std::make_exception_ptr(e), Hold{}}; }
};
using acquired = or_thrown<attempt, hold>;
using acquired_all = or_thrown<multi_attempt, multi_hold>;

struct tried {
    using results = std::tuple<attempt>;

    static results of(attempt got) { return {std::move(got)}; }
    static results of(const error& e) { return {refusal{.reason = e.code(), .detail = e.what()}}; }
};

struct tried_all {
    using results = std::tuple<multi_attempt>;

    static results of(multi_attempt got) { return {std::move(got)}; }
    static results of(const error& e) {
        return {multi_attempt{refusal{.reason = e.code(), .detail = e.what()}, std::string{}}};
    }
};

struct elected {
    using results = std::tuple<std::exception_ptr>;

    static results of(const std::optional<refusal>& no) { return {no ? thrown(*no) : nullptr}; }
    static results of(const error& e) { return {std::make_exception_ptr(e)}; }
};

struct released {
    using results = std::tuple<release_result>;

    static results of(release_result result, std::error_code) { return {result}; }
    static results of(const error&) { return {release_result::unknown}; }
};

struct listed {
    using results = std::tuple<std::exception_ptr, std::vector<held_lock>>;

    static results of(std::vector<held_lock> all, std::error_code why) {
        if (!why) return {nullptr, std::move(all)};
        return {std::make_exception_ptr(error(why, "list: " + why.message())), std::vector<held_lock>{}};
    }
    static results of(const error& e) { return {std::make_exception_ptr(e), std::vector<held_lock>{}}; }
};

}  // namespace mortise::inline v0::asio_detail
