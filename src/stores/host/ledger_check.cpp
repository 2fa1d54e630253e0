#include "stores/host/ledger_check.hpp"

#include <cstdint>
#include <vector>

namespace mortise::inline v0::stores::host {

std::string find_damage(ledger_access& in) {
    const ledger_file& file = in.file();
    const file_header& h = file.header();
    std::vector<bool> met(file.block_count() + 1);
    std::string wrong;
    if (!in.sound()) return "something leads astray";
    const auto meet = [&](block_number n, std::uint32_t kind, const char* where) {
        if (file.block_at(n) == nullptr) {
            wrong = std::string(where) + " leads outside";
        } else if (met[n]) {
            wrong = std::string(where) + " leads to a block that is already in use";
        } else if (file.block_at(n)->kind != kind) {
            wrong = std::string(where) + " leads to a block of another kind";
        } else {
            met[n] = true;
        }
        return wrong.empty();
    };
    std::uint32_t used = 0;
    const auto walk = [&](block_number of, const claim_list& list, const char* where) {
        std::uint32_t count = 0;
        block_number last = 0;
        for (block_number n = list.first; n != 0; last = n, n = in.claim(n).next, ++count) {
            if (!meet(n, block_head::claim, where)) return false;
            if (in.claim(n).of != of || in.claim(n).previous != last) wrong = std::string(where) + " is linked wrongly";
        }
        if (count != list.count || last != list.last) wrong = std::string(where) + " has a wrong end";
        used += count;
        return wrong.empty();
    };
    for (std::uint32_t bucket = 0; bucket < format::bucket_count; ++bucket)
        for (block_number n = file.buckets()[bucket]; n != 0; n = in.name(n).next) {
            if (!meet(n, block_head::name, "a bucket")) return wrong;
            ++used;
            if (!walk(n, in.name(n).holders, "a list of holders") || !walk(n, in.name(n).queue, "a queue"))
                return wrong;
            std::uint64_t weight = 0;
            for (block_number c = in.name(n).holders.first; c != 0; c = in.claim(c).next) weight += in.claim(c).weight;
            if (weight != in.name(n).used) return "the weight of the holders is wrong";
        }
    std::uint32_t free = 0;
    for (block_number n = h.free_first; n != 0; n = file.block_at(n)->next, ++free)
        if (!meet(n, block_head::free, "the free list")) return wrong;
    if (free != h.free_blocks)
        return "the free list has " + std::to_string(free) + " blocks, not " + std::to_string(h.free_blocks);
    if (used + free != h.total_blocks) return std::to_string(h.total_blocks - used - free) + " blocks are lost";
    return {};
}

std::string find_damage(ledger& in) {
    ledger_access access{in};
    return find_damage(access);
}

}  // namespace mortise::inline v0::stores::host
