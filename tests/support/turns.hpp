// One turn with a lock that a client may keep: its token.
#pragma once

#include <mortise/mutex.hpp>
#include <mortise/shared_mutex.hpp>

#include <mutex>
#include <shared_mutex>

#include <gtest/gtest.h>

namespace mortise::testing {

inline token once(mutex& m) {
    const std::scoped_lock guard{m};
    EXPECT_TRUE(m.hold().valid());
    return m.hold().token();
}

inline token once_reading(shared_mutex& m) {
    const std::shared_lock guard{m};
    EXPECT_TRUE(m.hold().valid());
    return m.hold().token();
}

}  // namespace mortise::testing
