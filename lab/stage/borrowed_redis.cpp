#include "lab/stage/borrowed_redis.hpp"

#include "lab/stage/first_answer.hpp"
#include "lab/stage/interruption.hpp"
#include "lab/story.hpp"
#include "tools/mortise/failure.hpp"
#include "tools/mortise/terminal.hpp"
#include "tools/mortise/text.hpp"

#include <charconv>
#include <random>
#include <stdexcept>
#include <string_view>

namespace lab {
namespace {

constexpr std::string_view of_the_lab = "mortise-lab-";

[[noreturn]] void bad_url(const std::string& why) {
    command::refuse("--store: " + why +
                    "; the stories play on one Redis, redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]");
}

template <class Number>
Number number_in(std::string_view digits, const char* what) {
    Number made{};
    const auto [ends, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), made);
    if (failed != std::errc{} || ends != digits.data() + digits.size()) bad_url(std::string("that is no ") + what);
    return made;
}

std::string random_prefix() {
    std::random_device dice;
    constexpr char digits[] = "0123456789abcdef";
    std::string made{of_the_lab};
    for (int i = 0; i < 16; ++i) made += digits[dice() % 16];
    return made + ":";
}

redis_address parsed(std::string_view url) {
    constexpr std::string_view scheme = "redis://";
    if (!url.starts_with(scheme)) bad_url("it does not begin with redis://");  // may be a secret: not shown
    url.remove_prefix(scheme.size());
    if (url.find_first_of("?,%[") != url.npos) bad_url("no options, several hosts or escaped characters");
    redis_address made{.prefix = random_prefix()};
    if (const std::size_t at = url.rfind('@'); at != url.npos) {
        const std::string_view who = url.substr(0, at);
        const std::size_t colon = who.find(':');
        if (colon == who.npos) bad_url("a user needs a password");
        made.user = who.substr(0, colon);
        made.password = who.substr(colon + 1);
        url.remove_prefix(at + 1);
    }
    if (const std::size_t slash = url.find('/'); slash != url.npos) {
        if (slash + 1 < url.size()) made.database = number_in<int>(url.substr(slash + 1), "number of a database");
        url = url.substr(0, slash);
    }
    if (const std::size_t colon = url.find(':'); colon != url.npos) {
        made.port = number_in<std::uint16_t>(url.substr(colon + 1), "port");
        url = url.substr(0, colon);
    }
    if (url.empty()) bad_url("there is no host");
    made.host = url;
    return made;
}

// The connection is not used for anything else: a server that is no Redis could leave us in the middle of its answer.
const redis_address& answering(const redis_address& where, std::chrono::nanoseconds patience) {
    const std::string name = where.host + ":" + std::to_string(where.port);
    const std::string answer = first_answer(where.host, where.port, "PING\r\n", patience);
    if (answer.empty())
        throw command::failure(command::exit_code::unavailable, "--store: " + name + " closes the connection");
    if (std::string_view("+-").find(answer[0]) == std::string_view::npos)
        throw command::failure(command::exit_code::unavailable, "--store: " + name + " is no Redis");
    return where;
}

// Whether an earlier run was killed before it could delete its keys.
bool all_are_of_the_lab(raw_redis& hand) {
    std::string cursor = "0";
    do {
        const auto page = hand.ask({"SCAN", cursor, "COUNT", "1000"});
        cursor = page.elements.at(0).text.value();
        for (const auto& key : page.elements.at(1).elements)
            if (!key.text.value().starts_with(of_the_lab)) return false;
    } while (cursor != "0");
    return true;
}

}  // namespace

borrowed_redis::borrowed_redis(const std::string& url, bool allow_non_empty, std::chrono::nanoseconds patience)
    : address_(parsed(url)), hand_(answering(address_, patience)) {
    const std::string keys = hand_.ask({"DBSIZE"}).text.value_or("0");
    if (keys == "0" || allow_non_empty) return;
    const std::string has = "--store: database " + std::to_string(address_.database) + " has " + keys + " keys";
    if (all_are_of_the_lab(hand_))
        command::refuse(
            has +
            ", all of an earlier run of the lab that was killed; delete those that begin with mortise-lab-, "
            "or say --allow-non-empty");
    command::refuse(has +
                    "; name an empty one, or say --allow-non-empty: the lab then uses only keys that begin with "
                    "mortise-lab-, and deletes them");
}

// By a connection of its own: the other may have been interrupted in the middle of an answer.
borrowed_redis::~borrowed_redis() {
    try {
        clear();
    } catch (const std::exception& failed) {
        command::complain("mortise lab: cannot delete the keys " + address_.prefix + "*: " + failed.what());
    }
}

void borrowed_redis::clear() {
    raw_redis hand{address_};
    std::string cursor = "0";
    do {
        const auto page = hand.ask({"SCAN", cursor, "MATCH", address_.prefix + "*", "COUNT", "1000"});
        cursor = page.elements.at(0).text.value();
        for (const auto& key : page.elements.at(1).elements) hand.ask({"DEL", key.text.value()});
    } while (cursor != "0");
}

std::string borrowed_redis::refusal(const story& next) {
    switch (next.needs) {
        case needs::redis_with_replica:
            return "it kills a server and promotes its replica";
        case needs::five_redis:
            return "it needs five servers, and sets the clocks of some";
        case needs::mariadb:
            return "it needs MariaDB";
        case needs::three_etcd:
            return "it needs etcd, and kills a server";
        case needs::one_redis:
            break;
    }
    return next.own_server_because;
}

std::chrono::microseconds borrowed_redis::now() {
    const auto time = hand_.ask({"TIME"});
    return std::chrono::seconds{std::stoll(time.elements.at(0).text.value())} +
           std::chrono::microseconds{std::stoll(time.elements.at(1).text.value())};
}

void borrowed_redis::wait(std::chrono::nanoseconds by, const std::function<void(std::chrono::nanoseconds)>& meanwhile) {
    const auto began = now();
    for (auto passed = now() - began; passed < by; passed = now() - began) {
        if (interrupted()) throw std::runtime_error("interrupted");
        meanwhile(passed);
        hand_.ask({"BLPOP", address_.prefix + "nothing", "1"});
    }
    meanwhile(by);
}

}  // namespace lab
