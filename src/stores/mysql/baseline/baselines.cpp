#include "stores/mysql/baseline/baselines.hpp"

#include "base/text.hpp"
#include "stores/mysql/baseline/blocking_client.hpp"
#include "stores/mysql/row_dialect.hpp"
#include "stores/mysql/settings.hpp"
#include "stores/mysql/statements.hpp"
#include "stores/sql/row_line.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/error.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>

namespace mortise::inline v0::stores::mysql {
namespace {

// The statements of strategy=get_lock: the server's own lock, with a token.
class get_lock_end final : public baseline_end {
public:
    get_lock_end(const settings& how, const std::string& place) : name_("baseline " + place), line_(how) {
        const bound_statements says{strategy::get_lock};
        for (const sql::statement& one : says.schema) line_.ask(one.text);
        session_ = line_.ask(says.who.text);
        take_ = line_.prepare(says.take.text);
        free_ = line_.prepare(says.free.text);
    }
    void lock() override {
        while (line_.run(take_, {name_, "bench", "0", "", session_, name_, "60"}) == 0) {
        }
    }
    void unlock() override { line_.run(free_, {name_}); }

private:
    const std::string name_;
    blocking_client line_;
    std::string session_;
    std::size_t take_ = 0;
    std::size_t free_ = 0;
};

// Those of strategy=for_update: the token is made on another connection, and then the first one is asked whether it is there.
class for_update_end final : public baseline_end {
public:
    for_update_end(const settings& how, const std::string& place)
        : name_("baseline " + place), line_(how), shared_(how) {
        const bound_statements says{strategy::for_update};
        for (const sql::statement& one : says.schema) shared_.ask(one.text);
        session_ = line_.ask(says.who.text);
        for (const sql::statement& one : says.greets) line_.ask(one.text);
        make(shared_.prepare(says.make_row.text));
        take_ = line_.prepare(says.take.text);
        stamp_ = shared_.prepare(says.stamp.text);
        who_ = line_.prepare(says.who.text);
        free_ = line_.prepare(says.free.text);
    }
    void lock() override {
        line_.call(take_, {name_});
        shared_.run(stamp_, {name_, session_, "bench", "0", ""});
        line_.call(who_, {});
    }
    void unlock() override { line_.run(free_, {}); }

private:
    // That somebody has locked the row says that it is there.
    void make(std::size_t row) {
        try {
            shared_.run(row, {name_});
        } catch (const error&) {
        }
    }

    const std::string name_;
    blocking_client line_;
    blocking_client shared_;
    std::string session_;
    std::size_t take_ = 0;
    std::size_t stamp_ = 0;
    std::size_t who_ = 0;
    std::size_t free_ = 0;
};

// The statements of strategy=row; whoever waits does so as our clients do.
class row_end final : public baseline_end {
public:
    row_end(const settings& how, const std::string& place)
        : says_(row_dialect()),
          name_("baseline " + place),
          session_(std::to_string(claim_id::random().bits[0] >> 2 | 1)),
          line_(how),
          waiting_(how) {
        if (line_.ask("SHOW PROCEDURE STATUS WHERE db = DATABASE() AND name = 'mortise_sweep'").empty())
            for (const sql::statement& one : says_.schema) line_.ask(one.text);
        line_.ask("SET @mortise_session = " + session_ + ", SESSION time_zone = '+00:00'");
        line_.ask(says_.greeting.at(2).text);
        enter_ = line_.prepare(says_.enter.text);
        leave_ = line_.prepare(says_.leave.text);
        await_ = waiting_.prepare(await_grants().text);
    }
    void lock() override {
        constexpr std::size_t of_ids =
            3;  // in a line; the first comes first, and then the last ones, the very last before others
        id_ = sql::bytes_of(claim_id::random());
        const auto ids = line_.call(enter_,
                                    {name_, id_, session_, "1", "1", std::nullopt, "0", "30000000", "30000000",
                                     "30000000", "bench", "0", "", "64"},
                                    of_ids);
        if (ids.at(0) == id_) return;
        // Others may have come behind it by now.
        const auto mine = std::find(ids.begin() + 1, ids.end(), id_);
        const std::string before = mine != ids.end() && mine + 1 != ids.end() ? mine[1] : ids.front();
        const auto granted = [&] {
            const auto told = waiting_.call(await_, {session_, id_, before, "1"});
            return std::ranges::any_of(told, [](const std::string& one) { return one.size() > 1; });
        };
        while (!granted()) {
        }
    }
    void unlock() override { line_.call(leave_, {name_, id_ + std::string(8, '\0'), session_}); }

private:
    const sql::row_dialect says_;
    const std::string name_;
    const std::string session_;
    std::string id_;
    blocking_client line_;
    blocking_client waiting_;
    std::size_t enter_ = 0;
    std::size_t leave_ = 0;
    std::size_t await_ = 0;
};

class trip_end final : public baseline_end {
public:
    explicit trip_end(const settings& how) : line_(how), trip_(line_.prepare("DO 1")) {}
    void lock() override { line_.run(trip_, {}); }
    void unlock() override { line_.run(trip_, {}); }

private:
    blocking_client line_;
    std::size_t trip_;
};

// A change that is on disk when it is answered, as far as the server is set up for that.
class commit_end final : public baseline_end {
public:
    commit_end(const settings& how, const std::string& place) : place_(place), line_(how) {
        line_.ask("CREATE TABLE IF NOT EXISTS mortise_commits(place VARBINARY(100) PRIMARY KEY, n BIGINT NOT NULL)");
        line_.ask("INSERT IGNORE INTO mortise_commits VALUES('" + place + "', 0)");
        commit_ = line_.prepare("UPDATE mortise_commits SET n = n + 1 WHERE place = ?");
    }
    void lock() override { line_.run(commit_, {place_}); }
    void unlock() override {}

    static void clear(const settings& how, const std::string& place) {
        blocking_client{how}.ask("DELETE FROM mortise_commits WHERE place = '" + place + "'");
    }

private:
    const std::string place_;
    blocking_client line_;
    std::size_t commit_ = 0;
};

// Two sides that hand a turn over by named locks. The turn n is free to be taken when lock n is, which whoever has turn n - 1
// holds; so each side holds the lock that follows its next turn before it gives its turn away.
class turn_end final : public baseline_end {
public:
    turn_end(const settings& how, const std::string& place, unsigned side)
        : place_("mortise:turn:" + how.database.substr(0, 8) + place.substr(0, 30)), turn_(side), line_(how) {
        line_.ask(
            "CREATE TABLE IF NOT EXISTS mortise_baseline(place VARBINARY(100), side INT, PRIMARY KEY(place, side))");
        line_.ask("DO GET_LOCK(" + lock(turn_ + 1) + ", 10)");
        line_.ask("INSERT IGNORE INTO mortise_baseline VALUES('" + place + "', " + std::to_string(side) + ")");
        others_ = "SELECT COUNT(*) FROM mortise_baseline WHERE place = '" + place +
                  "' AND side = " + std::to_string(1 - side);
    }
    void lock() override {
        if (turn_ == 0) return;
        await_other();
        line_.ask("DO GET_LOCK(" + lock(turn_) + ", 60), RELEASE_LOCK(" + lock(turn_) + ")");
    }
    void unlock() override {
        await_other();
        line_.ask("DO GET_LOCK(" + lock(turn_ + 3) + ", 60), RELEASE_LOCK(" + lock(turn_ + 1) + ")");
        turn_ += 2;
    }

    static void clear(const settings& how, const std::string& place) {
        blocking_client{how}.ask("DELETE FROM mortise_baseline WHERE place = '" + place + "'");
    }

private:
    std::string lock(std::uint64_t turn) const { return "'" + place_ + ":" + std::to_string(turn) + "'"; }
    // It holds its first lock from when it is opened.
    void await_other() {
        while (!met_ && !(met_ = line_.ask(others_) == "1")) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }

    const std::string place_;
    std::uint64_t turn_;
    bool met_ = false;
    std::string others_;
    blocking_client line_;
};

store_usage usage_of(const settings& how) {
    blocking_client line{how};
    store_usage used;
    used.commands = base::number_in<std::uint64_t>(
        line.ask("SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'QUESTIONS'"), 0,
        UINT64_MAX);
    return used;
}

}  // namespace

baselines make_baselines(const base::url& address) {
    const settings how = settings::of(address);
    baselines found;
    const auto nothing = [](const std::string&) {};
    // The same statements, from a bare client.
    const auto opened = [&]<class End>(std::type_identity<End>) {
        return [how](const std::string& place, unsigned) -> std::unique_ptr<baseline_end> {
            check_baseline_place(place);
            return std::make_unique<End>(how, place);
        };
    };
    const auto cleared = [&]<class End>(std::type_identity<End>) {
        return [how](const std::string& place) {
            try {
                End::clear(how, place);
            } catch (const std::exception&) {  // it can be removed by hand
            }
        };
    };
    switch (how.by) {
        case strategy::row:
            found.all.push_back({"a commit", baseline::kind::commit, opened(std::type_identity<commit_end>{}),
                                 cleared(std::type_identity<commit_end>{})});
            found.all.push_back(
                {"enter and leave alone", baseline::kind::lock, opened(std::type_identity<row_end>{}), nothing});
            break;
        case strategy::get_lock:
            found.all.push_back(
                {"GET_LOCK and a token", baseline::kind::lock, opened(std::type_identity<get_lock_end>{}), nothing});
            break;
        case strategy::for_update:
            found.all.push_back({"FOR UPDATE and a token", baseline::kind::lock,
                                 opened(std::type_identity<for_update_end>{}), nothing});
            break;
    }
    found.all.push_back({"a statement", baseline::kind::trip,
                         [how](const std::string& place, unsigned) -> std::unique_ptr<baseline_end> {
                             check_baseline_place(place);
                             return std::make_unique<trip_end>(how);
                         },
                         nothing});
    found.all.push_back({"GET_LOCK ping-pong", baseline::kind::ping_pong,
                         [how](const std::string& place, unsigned side) -> std::unique_ptr<baseline_end> {
                             check_baseline_place(place);
                             return std::make_unique<turn_end>(how, place, side);
                         },
                         cleared(std::type_identity<turn_end>{})});
    found.usage = [how] { return usage_of(how); };
    return found;
}

}  // namespace mortise::inline v0::stores::mysql
