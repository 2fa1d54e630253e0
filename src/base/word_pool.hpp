// The words of grants in the memory of this process.
#pragma once

#include "base/immortal.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <deque>
#include <mutex>
#include <vector>

namespace mortise::inline v0::base {

// A client may look at its word at any time, also after its grant has ended. So a word is never freed: it goes to another grant.
class word_pool {
public:
    static spi::grant_word* take() {
        word_pool& mine = here();
        std::scoped_lock guard{mine.mutex_};
        if (mine.spare_.empty()) {
            mine.all_.emplace_back();
            mine.spare_.reserve(mine.all_.size());  // so that give() cannot fail
            mine.spare_.push_back(&mine.all_.back());
        }
        spi::grant_word* const word = mine.spare_.back();
        mine.spare_.pop_back();
        return word;
    }
    static void give(spi::grant_word* word) noexcept {
        word_pool& mine = here();
        std::scoped_lock guard{mine.mutex_};
        mine.spare_.push_back(word);
    }

private:
    static word_pool& here() {
        static constinit one_per_process<word_pool> pool;
        return pool();
    }

    std::mutex mutex_;
    std::deque<spi::grant_word> all_;
    std::vector<spi::grant_word*> spare_;
};

}  // namespace mortise::inline v0::base
