#include "stores/mysql/baseline/baselines.hpp"

#include "base/text.hpp"
#include "stores/mysql/baseline/blocking_client.hpp"
#include "stores/mysql/settings.hpp"
#include "stores/mysql/statements.hpp"

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <thread>

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

class trip_end final : public baseline_end {
public:
    explicit trip_end(const settings& how) : line_(how), trip_(line_.prepare("DO 1")) {}
    void lock() override { line_.run(trip_, {}); }
    void unlock() override { line_.run(trip_, {}); }

private:
    blocking_client line_;
    std::size_t trip_;
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
    found.all.push_back({"GET_LOCK and a token", baseline::kind::lock,
                         [how](const std::string& place, unsigned) -> std::unique_ptr<baseline_end> {
                             check_baseline_place(place);
                             return std::make_unique<get_lock_end>(how, place);
                         },
                         nothing});
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
                         [how](const std::string& place) {
                             try {
                                 turn_end::clear(how, place);
                             } catch (const std::exception&) {  // it can be removed by hand
                             }
                         }});
    found.usage = [how] { return usage_of(how); };
    return found;
}

}  // namespace mortise::inline v0::stores::mysql
