#include "stores/host/diagnostics.hpp"

#include "base/text.hpp"
#include "stores/host/ledger_check.hpp"
#include "stores/host/named_state.hpp"
#include "stores/host/reaper.hpp"
#include "stores/host/store_directory.hpp"

#include <mortise/boot_clock.hpp>
#include <mortise/error.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include <linux/magic.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

namespace mortise::inline v0::stores::host {
namespace {

using enum finding::grade;

constexpr std::uint64_t little_room = 16u << 20;

finding location_of(const store_directory& where) {
    if (!where.shared) return {good, "in " + where.directory + ", for this user's processes on this machine", {}};
    return {good, "in " + where.directory + ", for whoever may write that directory", {}};
}

std::optional<finding> free_space_of(const store_directory& where) {
    struct statvfs fs {};
    if (::statvfs(where.directory.c_str(), &fs) != 0) return std::nullopt;
    const std::uint64_t free = static_cast<std::uint64_t>(fs.f_bavail) * fs.f_frsize;
    if (free >= little_room) return finding{good, std::to_string(free >> 20) + " MiB free on its file system", {}};
    return finding{free == 0 ? problem : warning, std::to_string(free >> 10) + " KiB free on its file system",
                   "make room: new names and waiters need blocks of 512 bytes"};
}

std::optional<finding> file_system_of(const store_directory& where) {
    struct statfs fs {};
    if (::statfs(where.directory.c_str(), &fs) != 0 || fs.f_type != TMPFS_MAGIC) return std::nullopt;
    return finding{note, "on a file system in memory: detached claims end with the machine, as do all others", {}};
}

finding slots_of(const ledger& records) {
    const std::uint32_t taken = records.slots().taken();
    const std::string text =
        std::to_string(taken) + " of " + std::to_string(process_slots::count) + " process slots taken";
    if (taken < process_slots::count - process_slots::count / 10) return {good, text, {}};
    return {warning, text,
            "use another directory (host:/path) for some of the processes; until then claims wait for a slot"};
}

// Also whether the ledger's lock can be taken at all: a stopped process may own it.
std::vector<finding> contents(ledger& records) {
    std::vector<finding> found;
    const auto begun = boot_clock::now();
    ledger_access in{records};
    const auto got = boot_clock::now();
    std::size_t names = 0, holds = 0, waiting = 0, dead = 0;
    in.each([&](block_number n) {
        ++names;
        const std::string name{in.name(n).text()};
        const named_state state{in, name};
        waiting += state.waiting();
        for (block_number c = state.first_holder(); c != 0; c = state.after(c)) {
            ++holds;
            const base::kept_claim held = state.at(c);
            if (!held.detached && !has_owner(records, state, c)) ++dead;
        }
    });
    found.push_back({good, "answers within " + base::readable(got - begun), {}});
    found.push_back({good,
                     std::to_string(names) + " names known, " + std::to_string(holds) + " held, " +
                         std::to_string(waiting) + " waiting",
                     {}});
    if (dead > 0)
        found.push_back({note, std::to_string(dead) + " held by processes that are gone",
                         "none: the next claim on each of them is granted"});
    if (const std::string wrong = find_damage(in); !wrong.empty())
        found.push_back(
            {problem, "the file is damaged: " + wrong,
             "stop all who use it, remove the file 'locks' in " + records.directory() + ", start them again"});
    return found;
}

}  // namespace

std::vector<finding> diagnose(const store_directory& where, ledger* records) {
    std::vector<finding> found{location_of(where)};
    if (records == nullptr) {
        found.push_back({good, "nothing is there yet: the first claim makes it", {}});
        return found;
    }
    if (auto more = file_system_of(where)) found.push_back(*std::move(more));
    if (auto more = free_space_of(where)) found.push_back(*std::move(more));
    found.push_back(slots_of(*records));
    for (auto& one : contents(*records)) found.push_back(std::move(one));
    return found;
}

}  // namespace mortise::inline v0::stores::host
