#include "compare/database_claims.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>
#include <mortise/sql/optimistic.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <mariadb/mysql.h>
#include <time.h>
#include <unistd.h>

namespace mortise::compare {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// A connection of a program that knows nothing of us.
class plain_session {
public:
    plain_session(std::uint16_t port, const std::string& database) : line_(mysql_init(nullptr), &mysql_close) {
        const unsigned tcp = MYSQL_PROTOCOL_TCP;
        mysql_optionsv(line_.get(), MYSQL_OPT_PROTOCOL, &tcp);
        if (mysql_real_connect(line_.get(), "127.0.0.1", "mortise", "secret", database.c_str(), port, nullptr, 0) ==
            nullptr)
            throw std::runtime_error(mysql_error(line_.get()));
    }
    MYSQL* get() const { return line_.get(); }

    std::string ask(const std::string& statement) {
        if (mysql_query(line_.get(), statement.c_str()) != 0) throw std::runtime_error(mysql_error(line_.get()));
        const std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> rows{mysql_store_result(line_.get()),
                                                                    &mysql_free_result};
        const MYSQL_ROW row = rows ? mysql_fetch_row(rows.get()) : nullptr;
        return row != nullptr && row[0] != nullptr ? row[0] : "";
    }

    // Reads, thinks, writes; wrong if somebody else does so meanwhile.
    void raise() {
        const std::string n = ask("SELECT n FROM counter");
        ask("UPDATE counter SET n = " + std::to_string(std::stoll(n) + 1));
    }

private:
    std::unique_ptr<MYSQL, void (*)(MYSQL*)> line_;
};

nanoseconds own_processor_time() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return std::chrono::seconds{now.tv_sec} + nanoseconds{now.tv_nsec};
}

nanoseconds processor_time_of(int process) {
    std::ifstream in{"/proc/" + std::to_string(process) + "/stat"};
    std::string text;
    std::getline(in, text);
    std::istringstream fields{text.substr(text.rfind(')') + 1)};
    constexpr int before_times = 11;
    std::string ignored;
    for (int i = 0; i < before_times; ++i) fields >> ignored;
    std::int64_t user = 0;
    std::int64_t system = 0;
    fields >> user >> system;
    return nanoseconds{(user + system) * (1'000'000'000 / ::sysconf(_SC_CLK_TCK))};
}

// Makes one change, and says how many attempts it took.
using change = std::function<unsigned(plain_session&)>;

conflict_result conflict(compared_stores& all, const std::string& database, int writers, std::string title,
                         const change& one, std::chrono::milliseconds time) {
    all.mariadb(
        "DROP TABLE IF EXISTS counter; CREATE TABLE counter(n BIGINT) ENGINE=InnoDB; INSERT INTO counter VALUES(0)",
        database);
    std::atomic<bool> over{false};
    std::atomic<std::uint64_t> changes{0};
    std::atomic<std::uint64_t> attempts{0};
    std::mutex guard;
    std::string failed;
    const nanoseconds client = own_processor_time();
    const nanoseconds server = processor_time_of(all.mariadb_process());
    const auto begun = std::chrono::steady_clock::now();
    {
        std::vector<std::jthread> crowd;
        for (int i = 0; i < writers; ++i)
            crowd.emplace_back([&] {
                try {
                    plain_session mine{all.mariadb_port(), database};
                    while (!over) {
                        attempts += one(mine);
                        ++changes;
                    }
                } catch (const std::exception& e) {
                    const std::scoped_lock alone{guard};
                    failed = e.what();
                }
                mysql_thread_end();
            });
        std::this_thread::sleep_for(time);
        over = true;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    if (!failed.empty()) throw std::runtime_error(title + ": " + failed);
    const std::string counted = all.mariadb("SELECT n FROM counter", database);
    if (counted != std::to_string(changes))
        throw std::runtime_error(title + ": " + std::to_string(changes) + " changes, but the row says " + counted);
    const auto n = static_cast<std::int64_t>(std::max<std::uint64_t>(changes, 1));
    return {.writers = std::to_string(writers) + (writers == 1 ? " writer, " : " writers, ") + title,
            .changes = static_cast<double>(changes) / took.count(),
            .attempts = static_cast<double>(attempts) / static_cast<double>(n),
            .client = (own_processor_time() - client) / n,
            .server = (processor_time_of(all.mariadb_process()) - server) / n};
}

int connections_now(const compared_stores& all) {
    return std::stoi(all.mariadb(
        "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'THREADS_CONNECTED'", ""));
}

// Those that one client keeps waiting, and what became of them.
struct queue {
    std::atomic<int> refused{0};
    std::atomic<int> answered{0};
    std::mutex guard{};
    std::string refusal{};
};

std::shared_ptr<queue> let_wait(client& waiting, int claims) {
    auto all = std::make_shared<queue>();
    for (int i = 0; i < claims; ++i)
        waiting.start({.name = "n", .options = {.wait = 20s, .hand_over = hand_over::off}}, [all](attempt got) {
            if (got.reason() == errc::exhausted) {
                const std::scoped_lock alone{all->guard};
                all->refusal = got.refusal().detail;
                all->refusal.erase(0, all->refusal.rfind("): ") + 3);  // whose lock
                ++all->refused;
            }
            ++all->answered;
        });
    return all;
}

std::string text(const char* format, double value) {
    std::array<char, 64> room{};
    std::snprintf(room.data(), room.size(), format, value);
    return room.data();
}

std::string microseconds(nanoseconds time) {
    return text("%.0f µs", static_cast<double>(time.count()) / 1e3);
}

}  // namespace

std::vector<conflict_result> conflicts(compared_stores& all, std::chrono::milliseconds each) {
    const std::string database = all.fresh_database();
    const auto by_version = [](std::chrono::milliseconds longest_pause) -> change {
        return [=](plain_session& mine) {
            return sql::change_if_unchanged(mine.get(), "counter", [&](MYSQL*, std::uint64_t) { mine.raise(); },
                                            {.attempts = 1'000'000, .longest_pause = longest_pause})
                .attempts;
        };
    };
    std::vector<conflict_result> found;
    for (const int writers : {1, 8}) {
        found.push_back(conflict(all, database, writers, "`version`, retried at once", by_version(0ms), each));
        found.push_back(conflict(all, database, writers, "`version`, retried after a pause", by_version(20ms), each));
        for (const char* strategy : {"row", "get_lock"}) {
            client locks{all.mariadb_url(database, std::string("&strategy=") + strategy)};
            const change under_a_lock = [&](plain_session& mine) {
                const hold held = locks.acquire("counter");
                mine.raise();
                return 1U;
            };
            found.push_back(
                conflict(all, database, writers, "a lock, `" + std::string(strategy) + "`", under_a_lock, each));
        }
    }
    return found;
}

std::vector<connection_result> connections(compared_stores& all) {
    constexpr int claims = 40;
    std::vector<connection_result> found;
    for (const std::string strategy : {"row", "get_lock", "for_update"}) {
        const std::string database = all.fresh_database();
        const std::string by = "&strategy=" + strategy;
        connection_result one{.strategy = strategy};
        client holding{all.mariadb_url(database, by)};
        const hold held = holding.acquire("n");
        const int before = connections_now(all);
        {
            client waiting{all.mariadb_url(database, by + (strategy == "row" ? "" : "&connections=100"))};
            const auto queued = let_wait(waiting, claims);
            std::this_thread::sleep_for(1s);
            one.connections = connections_now(all) - before;
        }
        client waiting{all.mariadb_url(database, by)};
        const auto queued = let_wait(waiting, claims);
        std::this_thread::sleep_for(1s);
        one.refused = queued->refused;
        const std::scoped_lock alone{queued->guard};
        one.refusal = queued->refusal;
        found.push_back(one);
    }
    return found;
}

std::string table_of(const std::vector<conflict_result>& all) {
    std::string made =
        "| one counter in a row | changes a second | attempts a change | client's processor, a change | server's "
        "processor, a change |\n|---|---|---|---|---|\n";
    for (const conflict_result& each : all)
        made += "| " + each.writers + " | " + text("%.0f", each.changes) + " | " + text("%.1f", each.attempts) + " | " +
                microseconds(each.client) + " | " + microseconds(each.server) + " |\n";
    return made;
}

std::string table_of(const std::vector<connection_result>& all) {
    std::string made =
        "| strategy | connections of 40 waiters | refused, with 32 connections a client | the refusal |\n"
        "|---|---|---|---|\n";
    for (const connection_result& each : all)
        made += "| `" + each.strategy + "` | " + std::to_string(each.connections) + " | " +
                std::to_string(each.refused) + " | " + each.refusal + " |\n";
    return made;
}

}  // namespace mortise::compare
