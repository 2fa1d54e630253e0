#include "stores/mysql/lock_waker.hpp"

#include "stores/mysql/row_dialect.hpp"
#include "stores/sql/row_line.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::inline v0::stores::mysql {
namespace {

// Then it asks again, if it is still to. A claim that is watched no longer keeps its connection for as long.
constexpr std::chrono::seconds asks_for{1};

std::int64_t number_at(const sql::result& answer, std::size_t column) {
    if (!answer.how.ok() || answer.rows.empty() || answer.rows.front().size() <= column) return 0;
    return sql::number_in(answer.rows.front()[column]);
}

}  // namespace

struct lock_waker::state : std::enable_shared_from_this<state> {
    struct wait {
        claim_id other{};
        bool served = false;
    };
    struct slot {
        std::shared_ptr<sql::connection> line{};
        bool busy = false;
    };

    state(std::function<std::shared_ptr<sql::connection>()> make, std::size_t connections, woken to_tell)
        : connect(std::move(make)), told(std::move(to_tell)), slots(connections) {}

    // Of those that are not served, as many as there are free connections. Not with the mutex held.
    void serve() {
        struct start {
            std::size_t at;
            claim_id mine;
            claim_id other;
            std::shared_ptr<sql::connection> line;
        };
        std::vector<start> all;
        {
            const std::scoped_lock guard{mutex};
            for (auto& [mine, one] : waits) {
                if (closed || one.served) continue;
                if (const auto it = in_vain.find(mine); it != in_vain.end() && it->second == one.other) continue;
                const auto free = std::ranges::find(slots, false, &slot::busy);
                if (free == slots.end()) break;
                if (!free->line) free->line = connect();
                free->busy = one.served = true;
                all.push_back({static_cast<std::size_t>(free - slots.begin()), mine, one.other, free->line});
            }
        }
        for (const start& one : all) {
            one.line->run(
                await, {sql::bytes_of(one.other), sql::bytes_of(one.mine), std::int64_t{asks_for.count()}},
                [weak = weak_from_this(), one](const sql::result& answer) {
                    if (const auto self = weak.lock()) self->answered(one.at, one.mine, one.other, answer);
                },
                asks_for);
        }
    }

    // If the lock was had, the other has left its line, or has lost its connection and is still there: then asking once more would
    // end at once.
    void answered(std::size_t at, const claim_id& mine, const claim_id& other, const sql::result& answer) {
        bool tell = false;
        const auto granted = static_cast<std::uint64_t>(number_at(answer, 1));
        {
            const std::scoped_lock guard{mutex};
            if (closed) return;
            slots[at].busy = false;
            if (const auto it = waits.find(mine); it != waits.end() && it->second.other == other) {
                it->second.served = false;
                tell = number_at(answer, 0) == 1 || granted != 0;
                if (tell) waits.erase(it);
                if (tell || !answer.how.ok()) in_vain[mine] = other;
            }
        }
        if (tell) told(mine, granted);
        serve();
    }

    const sql::statement await = await_row();
    const std::function<std::shared_ptr<sql::connection>()> connect;
    const woken told;
    mutable std::mutex mutex;
    bool closed = false;
    std::vector<slot> slots;
    std::unordered_map<claim_id, wait> waits;        // by who waits
    std::unordered_map<claim_id, claim_id> in_vain;  // whose lock it has had
};

lock_waker::lock_waker(std::function<std::shared_ptr<sql::connection>()> connect, std::size_t connections, woken told)
    : state_(std::make_shared<state>(std::move(connect), connections, std::move(told))) {}

lock_waker::~lock_waker() {
    close();
}

void lock_waker::watch(const claim_id& mine, const std::vector<claim_id>& others) {
    if (others.empty()) return;
    {
        const std::scoped_lock guard{state_->mutex};
        state::wait& one = state_->waits[mine];
        if (one.other != others.front()) one = {.other = others.front()};
    }
    state_->serve();
}

void lock_waker::unwatch(const claim_id& mine) {
    const std::scoped_lock guard{state_->mutex};
    state_->waits.erase(mine);
    state_->in_vain.erase(mine);
}

bool lock_waker::serves_all() const {
    const std::scoped_lock guard{state_->mutex};
    return std::ranges::all_of(state_->waits, [](const auto& one) { return one.second.served; });
}

void lock_waker::close() noexcept {
    std::vector<state::slot> all;
    {
        const std::scoped_lock guard{state_->mutex};
        state_->closed = true;
        all.swap(state_->slots);
    }
    for (const state::slot& one : all)
        if (one.line) one.line->close();
}

}  // namespace mortise::inline v0::stores::mysql
