#include "stores/sql/database.hpp"

#include <chrono>
#include <random>
#include <utility>

namespace mortise::inline v0::stores::sql {
namespace {

using kind = outcome::kind;

constexpr int most_conflicts = 10;

constexpr const char* not_ours =
    "; a table or routine with a name of ours is not ours: choose another schema or database";

spi::duration pause_after(int conflicts) {
    static thread_local std::minstd_rand random{std::random_device{}()};
    return std::chrono::microseconds{std::uniform_int_distribution<int>{200, 2000 * conflicts}(random)};
}

}  // namespace

struct database::call {
    const statement* what;
    values bound;
    then done;
    int conflicts = 0;
    bool schema_tried = false;
};

database::database(std::shared_ptr<connection> line, const std::vector<statement>& schema, std::string remedy,
                   spi::clock& clock)
    : line_(std::move(line)), schema_(schema), remedy_(std::move(remedy)), clock_(clock) {}

void database::run(const statement& what, values bound, then done) {
    send(std::make_shared<call>(call{&what, std::move(bound), std::move(done)}));
}

void database::send(const std::shared_ptr<call>& one) {
    line_->run(*one->what, one->bound, [weak = weak_from_this(), one](result answer) {
        const auto self = weak.lock();
        if (!self) return;
        if (answer.how.is == kind::conflict && ++one->conflicts <= most_conflicts) {
            self->clock_.at(self->clock_.now() + pause_after(one->conflicts), [weak, one] {
                if (const auto again = weak.lock()) again->send(one);
            });
            return;
        }
        if (answer.how.is == kind::no_schema && !std::exchange(one->schema_tried, true)) return self->make_schema(one);
        if (answer.how.is == kind::foreign) answer.how.detail += not_ours;
        one->done(std::move(answer));
    });
}

// One makes it, for all who miss it.
void database::make_schema(const std::shared_ptr<call>& for_whom) {
    {
        const std::scoped_lock guard{mutex_};
        waiting_.push_back(for_whom);
        if (waiting_.size() > 1) return;
    }
    make_part(0);
}

void database::make_part(std::size_t part) {
    if (part == schema_.size()) return schema_made({});
    line_->run(
        schema_[part], {},
        [weak = weak_from_this(), part](const result& answer) {
            const auto self = weak.lock();
            if (!self) return;
            if (answer.how.ok() || answer.how.is == kind::exists) return self->make_part(part + 1);
            self->schema_made(answer.how);
        },
        std::chrono::seconds{10});
}

void database::schema_made(const outcome& how) {
    std::vector<std::shared_ptr<call>> all;
    {
        const std::scoped_lock guard{mutex_};
        all.swap(waiting_);
    }
    for (const auto& one : all) {
        if (how.ok()) {
            send(one);
            continue;
        }
        outcome why = how;
        if (why.is == kind::unsure) why.is = kind::unsent;  // of the schema, not of what was asked
        if (why.is == kind::foreign) why.detail += not_ours;
        if (why.is == kind::denied) why.detail += "; " + remedy_;
        one->done({.how = std::move(why)});
    }
}

}  // namespace mortise::inline v0::stores::sql
