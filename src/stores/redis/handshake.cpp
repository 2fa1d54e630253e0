#include "stores/redis/handshake.hpp"

#include "base/text.hpp"
#include "stores/redis/server_info.hpp"

#include <charconv>

namespace mortise::inline v0::stores::redis {
namespace {

constexpr int least_version = 7;

int major_version(std::string_view text) {
    int n = 0;
    std::from_chars(text.data(), text.data() + text.size(), n);
    return n;
}

}  // namespace

handshake::handshake(const settings& config, const connection_plan& plan) : settings_(config), plan_(plan) {
    const bool secret = !plan_.password.empty();
    command hello{bytes_, static_cast<std::size_t>(secret ? 7 : 4)};
    hello << "HELLO"
          << "3";
    if (secret) hello << "AUTH" << (plan_.user.empty() ? "default" : std::string_view{plan_.user}) << plan_.password;
    hello << "SETNAME"
          << "mortise";
    due_.push_back(step::hello);
    if (plan_.database != 0) {
        append(bytes_, {"SELECT", std::to_string(plan_.database)});
        due_.push_back(step::database);
    }
    if (!plan_.inbox.empty()) {
        append(bytes_, {"SUBSCRIBE", plan_.inbox});
        due_.push_back(step::inbox);
    }
    if (!plan_.greets) return;
    asked_ = rights_of_scripts(settings_);
    if (plan_.durable) asked_.push_back(right_to_wait(settings_));
    bytes_ += rights_call(asked_).by_source();
    due_.push_back(step::rights);
    if (settings_.strict) {
        append(bytes_, {"INFO", "memory", "persistence"});
        due_.push_back(step::setup);
    }
    if (settings_.protocol == settings::layout::setnx) {
        append(bytes_, {"CONFIG", "GET", "notify-keyspace-events"});
        due_.push_back(step::notices);
    }
}

std::optional<trouble> handshake::take(const reply& answer) {
    const step about = due_.front();
    due_.pop_front();
    if (about == step::notices) {  // a right that is not needed: without, waiters poll
        notifies_ = tells_of_deletions(answer.at("notify-keyspace-events").text);
        return std::nullopt;
    }
    if (answer.error()) return refused(about, std::string(answer.text));
    if (about == step::hello && plan_.greets) return known(answer);
    if (about == step::rights) return allowed(answer);
    if (about == step::setup) flaw_ = broken_promise(server_info::of(answer.text));
    return std::nullopt;
}

std::optional<trouble> handshake::refused(step about, const std::string& text) const {
    const auto begins = [&](std::string_view with) { return text.starts_with(with); };
    if (begins("WRONGPASS"))
        return trouble{errc::denied, "wrong user or password; see the address, or the file that password_file names",
                       true};
    if (begins("NOAUTH"))
        return trouble{errc::denied, "a password is needed: redis://user:password@host, or password_file=FILE", true};
    if (begins("NOPERM"))
        return trouble{errc::denied, "a right is missing (" + text + ")", true,
                       plan_.greets ? trouble::remedy::rights : trouble::remedy::unknown};
    if (about == step::database && begins("ERR DB index"))
        return trouble{errc::unsupported,
                       "has no database " + std::to_string(plan_.database) +
                           "; take a lower one, or raise databases in its redis.conf",
                       true};
    if (begins("LOADING") || begins("MASTERDOWN") || begins("BUSY")) return trouble{errc::unreachable, text};
    if (about == step::hello && text.find("unknown command") != text.npos)
        return trouble{errc::unsupported, "is no Redis 7.0 or newer (" + text + ")", true};
    return trouble{errc::unsupported, text, true};
}

std::optional<trouble> handshake::known(const reply& answer) const {
    const std::string version{answer.at("version").text};
    if (version.empty())
        return trouble{errc::unreachable, "does not answer HELLO as Redis does; is the port right?", true};
    if (major_version(version) < least_version)
        return trouble{errc::unsupported, "is Redis " + version + ", and 7.0 or newer is needed", true};
    if (settings_.shape == settings::topology::cluster && answer.at("mode").text == "standalone")
        return trouble{errc::unsupported, "is no node of a cluster; write redis:// instead of redis+cluster://", true};
    if (plan_.masters_only && answer.at("role").text != "master")
        return trouble{errc::unreachable,
                       "is a replica, and locks are taken on the master; give the master's address, or its sentinels'",
                       false, trouble::remedy::told};
    return std::nullopt;
}

std::optional<trouble> handshake::allowed(const reply& answer) const {
    const auto denied = read_denied(answer, asked_.size());
    if (denied.empty()) return std::nullopt;
    const std::string user = base::quoted(plan_.user.empty() ? "default" : plan_.user);
    return trouble{errc::denied, "the user " + user + " lacks " + shown(settings_, asked_, denied), true,
                   trouble::remedy::rights};
}

}  // namespace mortise::inline v0::stores::redis
