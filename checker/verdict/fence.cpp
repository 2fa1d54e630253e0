#include "checker/verdict/fence.hpp"

#include <map>
#include <unordered_map>
#include <utility>

namespace mortise::checker {
namespace {

struct resource {
    std::uint64_t sealed = 0;
    std::uint64_t last_write = 0;
    std::int64_t last_write_at = 0;
};

// What the resource did, one after the other.
class replay {
public:
    explicit replay(judgement& found) : found_(found) {}

    void see(const record& one) {
        if (one.is != phase::ok) return;
        resource& at = resources_[one.lock];
        if (one.what == act::seal) seal(at, one);
        if (one.what == act::read) read(at, one);
        if (one.what == act::write) write(at, one);
    }
    std::size_t times(std::uint64_t write) const {
        const auto at = applied_.find(write);
        return at == applied_.end() ? 0 : at->second;
    }

private:
    void seal(resource& at, const record& one) {
        if (one.token < at.sealed)
            complain(one, "sealed with token " + std::to_string(one.token) + " below " + std::to_string(at.sealed));
        at.sealed = one.token;
    }
    void read(const resource& at, const record& one) {
        if (one.token != at.sealed) complain(one, "token " + std::to_string(one.token) + " read under another's seal");
        if (one.value != at.last_write)
            complain(one, "a read returned write " + std::to_string(one.value) + " and not " +
                              std::to_string(at.last_write));
    }
    void write(resource& at, const record& one) {
        if (one.token != at.sealed) complain(one, "token " + std::to_string(one.token) + " wrote under another's seal");
        if (one.prior() != at.last_write)
            complain(one, "update " + std::to_string(at.last_write) + " is lost: write " + std::to_string(one.value) +
                              " was made from " + std::to_string(one.prior()));
        if (++applied_[one.value] > 1) complain(one, "write " + std::to_string(one.value) + " was applied twice");
        at.last_write = one.value;
        at.last_write_at = one.at;
    }
    void complain(const record& one, std::string what) { found_.add({std::move(what), one.lock, one.at, one.at}); }

    judgement& found_;
    std::map<std::uint32_t, resource> resources_;
    std::unordered_map<std::uint64_t, std::size_t> applied_;
};

}  // namespace

judgement fenced_register(const std::vector<record>& applied, const std::vector<operation>& operations) {
    judgement found{.checker = "C3 fenced register", .checked = applied.size()};
    replay resource{found};
    for (const record& one : applied) resource.see(one);
    for (const operation& one : operations) {
        if (one.what != act::write) continue;
        const std::size_t times = resource.times(one.value);
        const std::string which = "write " + std::to_string(one.value) + " of process " + std::to_string(one.pid);
        if (one.is == phase::ok && times == 0)
            found.add({which + " was acknowledged and never applied", one.lock, one.invoked, one.ended});
        if (one.is == phase::fail && times != 0)
            found.add({which + " was refused and applied all the same", one.lock, one.invoked, one.ended});
    }
    return found;
}

lost_updates count_lost_updates(const std::vector<record>& applied) {
    lost_updates found;
    for (const record& one : applied) found.writes += one.what == act::write && one.is == phase::ok;
    found.lost = updates_without_seals(applied).count;
    return found;
}

judgement updates_without_seals(const std::vector<record>& applied) {
    judgement found{.checker = "C3 updates without seals", .checked = applied.size()};
    std::map<std::uint32_t, record> last;
    for (const record& one : applied) {
        if (one.what != act::write || one.is != phase::ok) continue;
        const record before = std::exchange(last[one.lock], one);
        if (one.prior() == before.value) continue;
        found.add({"update " + std::to_string(before.value) + " is lost: write " + std::to_string(one.value) +
                       " was made from " + std::to_string(one.prior()),
                   one.lock, before.at, one.at});
    }
    return found;
}

}  // namespace mortise::checker
