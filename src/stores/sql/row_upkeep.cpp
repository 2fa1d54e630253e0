#include "stores/sql/row_upkeep.hpp"

#include "stores/sql/row_line.hpp"

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <unordered_set>
#include <utility>

namespace mortise::inline v0::stores::sql {
namespace {

using std::chrono::milliseconds;

// How often a client asks whether one of its claims should look, if the server wakes them: in case the one that is next has
// died. And if the server does not.
constexpr milliseconds beats_every{500};
constexpr milliseconds polls_every{150};

constexpr milliseconds sweeps_every{5000};

// Two thirds to four thirds of it.
spi::duration jittered(milliseconds about) {
    static thread_local std::minstd_rand random{std::random_device{}()};
    return milliseconds{std::uniform_int_distribution<int>{static_cast<int>(about.count()) * 2 / 3,
                                                           static_cast<int>(about.count()) * 4 / 3}(random)};
}

std::string record_of(const spi::renewal& one) {
    std::string record = bytes_of(one.id);
    const auto lease = static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::microseconds>(one.lease).count());
    for (int shift = 56; shift >= 0; shift -= 8) record.push_back(static_cast<char>(lease >> shift));
    return record;
}

}  // namespace

void row_upkeep::renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) {
    std::string records;
    std::vector<claim_id> ids;
    for (const spi::renewal& one : due) {
        records += record_of(one);
        ids.push_back(one.id);
    }
    parts_->rows->run(parts_->dialect.renew, {std::move(records)},
                      [ids = std::move(ids), done = std::move(done)](const result& answer) mutable {
                          using enum spi::renewal_answer;
                          const std::vector<claim_id> kept = ids_in(answer);
                          const std::unordered_set<claim_id> alive{kept.begin(), kept.end()};
                          std::vector<spi::renewal_answer> all;
                          for (const claim_id& id : ids)
                              all.push_back(!answer.how.ok() ? unknown : alive.contains(id) ? renewed : lost);
                          done(std::move(all));
                      });
}

void row_upkeep::begin() {
    if (begun_.exchange(true)) return;
    parts_->rows->line().keep_up();
    beat_later();
    sweep_later();
}

void row_upkeep::beat_later() {
    spi::clock& clock = parts_->context.clock;
    const milliseconds pause = claims_->are_told() ? beats_every : polls_every;
    clock.at(clock.now() + jittered(pause), [weak = weak_from_this()] {
        if (const auto self = weak.lock(); self && !self->closed_) self->beat();
    });
}

void row_upkeep::beat() {
    std::vector<claim_id> firsts = claims_->firsts();
    if (!waited_.exchange(!firsts.empty()) && firsts.empty()) return beat_later();
    std::string ids;
    for (const claim_id& id : firsts) ids += bytes_of(id);
    parts_->rows->run(parts_->dialect.beat, {parts_->session, std::move(ids), std::int64_t{row_parts::silence.count()}},
                      [weak = weak_from_this(), firsts = std::move(firsts),
                       sent = parts_->context.clock.now()](const result& answer) {
                          const auto self = weak.lock();
                          if (!self || self->closed_) return;
                          if (answer.how.ok()) self->claims_->beaten(firsts, ids_in(answer), sent);
                          self->beat_later();
                      });
}

void row_upkeep::sweep_later() {
    spi::clock& clock = parts_->context.clock;
    clock.at(clock.now() + jittered(sweeps_every), [weak = weak_from_this()] {
        if (const auto self = weak.lock(); self && !self->closed_) self->sweep();
    });
}

// Few at a time: whoever looks at a line removes what has expired there anyhow.
void row_upkeep::sweep() {
    parts_->rows->run(parts_->dialect.overdue, {parts_->session}, [weak = weak_from_this()](const result& answer) {
        const auto self = weak.lock();
        if (!self || self->closed_) return;
        for (const values& row : answer.rows)
            if (!row.empty())
                self->parts_->rows->run(self->parts_->dialect.sweep, {row.front(), self->parts_->session},
                                        [](const result&) {});
        if (answer.how.ok()) self->parts_->rows->run(self->parts_->dialect.sweep_marks, {}, [](const result&) {});
        self->sweep_later();
    });
}

}  // namespace mortise::inline v0::stores::sql
