#include "stores/sql/row_admin.hpp"

#include "base/told_span.hpp"
#include "stores/sql/answers.hpp"
#include "stores/sql/row_line.hpp"

#include <chrono>
#include <utility>

namespace mortise::inline v0::stores::sql {
namespace {

using grade = finding::grade;

spi::listed listed_in(const values& row) {
    const auto counter = static_cast<std::uint64_t>(number_in(row[1]));
    return {.name = std::string(bytes_in(row[0])),
            .holder = {.host = std::string(bytes_in(row[4])),
                       .pid = number_in(row[5]),
                       .label = std::string(bytes_in(row[6])),
                       .held_for = base::told_span<std::chrono::microseconds>(number_in(row[8])),
                       .token = token::of(counter, 0)},
            .capacity = static_cast<std::uint32_t>(number_in(row[2])),
            .weight = static_cast<std::uint32_t>(number_in(row[3])),
            .waiting = static_cast<std::size_t>(number_in(row[9])),
            .lease_left = base::told_span<std::chrono::microseconds>(number_in(row[7]))};
}

finding finding_of(const outcome& failed, const std::string& server) {
    using enum outcome::kind;
    std::string what = server + ": " + failed.detail;
    switch (failed.is) {
        case denied:
            return {grade::problem, std::move(what), "grant the rights that `mortise schema --store URL` ends with"};
        case read_only:
            return {grade::problem, std::move(what), "give the address of the primary"};
        case full:
            return {grade::problem, std::move(what), "free some space on the server's disk"};
        case no_schema:
            return {grade::problem, std::move(what),
                    "run what `mortise schema --store URL` prints, as an administrator"};
        case foreign:
            return {grade::problem, std::move(what),
                    "a table of that name is not ours, or of another version: choose another schema"};
        case exhausted:
            return {grade::problem, std::move(what), "raise the server's limit of connections"};
        default:
            return {grade::problem, std::move(what), {}};
    }
}

}  // namespace

void list_rows(const std::shared_ptr<const row_parts>& parts, spi::reply<spi::listing> done) {
    parts->rows->run(parts->dialect.list, {}, [done = std::move(done)](const result& answer) mutable {
        spi::listing all;
        if (!answer.how.ok()) {
            all.failed = code_of(answer.how);
            all.detail = answer.how.detail;
        }
        for (const values& row : answer.rows)
            if (row.size() == 10) all.holds.push_back(listed_in(row));
        done(std::move(all));
    });
}

void break_row(const std::shared_ptr<const row_parts>& parts, const spi::break_request& which,
               spi::reply<spi::break_answer> done) {
    parts->rows->run(parts->dialect.break_hold,
                     {std::string(which.name), static_cast<std::int64_t>(which.counter), parts->session},
                     [done = std::move(done)](const result& answer) mutable {
                         using enum spi::break_answer;
                         if (!answer.how.ok()) return done(unknown);
                         const bool was = !answer.rows.empty() && number_in(value_at(answer.rows.front(), 0)) != 0;
                         done(was ? broken : not_held);
                     });
}

void check_rows(const std::shared_ptr<const row_parts>& parts, std::string server,
                spi::reply<std::vector<finding>> done) {
    const std::string id = bytes_of(claim_id::random());
    const std::string name = std::string("\0doctor ", 8) + id;  // no name of a lock has a NUL
    const spi::time_point sent = parts->context.clock.now();
    parts->rows->run(
        parts->dialect.enter,
        {name, id, parts->session, std::int64_t{1}, std::int64_t{1}, value{}, std::int64_t{1}, std::int64_t{1000000},
         std::int64_t{1000000}, std::int64_t{1000000}, parts->context.host, std::int64_t{parts->context.pid},
         std::string{"doctor"}, near_rows},
        [parts, server = std::move(server), done = std::move(done), id, name, sent](const result& entered) mutable {
            if (!entered.how.ok()) return done({finding_of(entered.how, server)});
            const auto trip = std::chrono::duration_cast<std::chrono::microseconds>(parts->context.clock.now() - sent);
            parts->rows->run(parts->dialect.leave, {name, id + std::string(8, '\0'), parts->session},
                             [server = std::move(server), done = std::move(done), trip](const result& left) mutable {
                                 if (!left.how.ok()) return done({finding_of(left.how, server)});
                                 done({{grade::good,
                                        server + ": a claim was entered and removed; the first statement took " +
                                            std::to_string(trip.count()) + " us",
                                        {}}});
                             });
        });
}

}  // namespace mortise::inline v0::stores::sql
