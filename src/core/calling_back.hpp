// How the user's completions are called: on the notifier thread.
#pragma once

#include "core/engine.hpp"

#include <mortise/config.hpp>
#include <mortise/error.hpp>
#include <mortise/unique_function.hpp>

#include <memory>
#include <tuple>
#include <utility>

namespace mortise::inline v0::core {

template <class... Results>
void check_completion(const unique_function<void(Results...)>& done) {
    if (!done) throw error(errc::invalid_option, "the completion is empty; give one that can be called");
}

// `done`, moved to the notifier thread of `home`; on the thread at hand where there is none (after fork, or when the machine
// has no thread to give). What it throws is swallowed. `home` must be alive when it is called.
template <class... Results>
unique_function<void(Results...)> on_notifier(engine& home, unique_function<void(Results...)> done) {
    return [&home, done = std::move(done)](Results... results) mutable {
        struct job {
            unique_function<void(Results...)> done;
            std::tuple<Results...> results;
            void run() noexcept {
                try {
                    std::apply(done, std::move(results));
                } catch (...) {
                }
            }
        };
        const auto call = std::make_shared<job>(job{std::move(done), {std::move(results)...}});
        if (home.forked() || !home.notify([call] { call->run(); })) call->run();  // here, rather than never
    };
}

}  // namespace mortise::inline v0::core
