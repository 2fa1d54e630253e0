#include "patterns/stock_segment.hpp"

#include "patterns/requirements.hpp"

#include <mortise/error.hpp>

#include <limits>
#include <sstream>

namespace mortise::inline v0::patterns {
namespace {

constexpr const char* format = "stock1";

}  // namespace

stock_segment::transfer stock_segment::send(std::int64_t count, std::size_t to) {
    outgoing = {++sent, count, to};
    amount -= count;
    return *outgoing;
}

void stock_segment::receive(std::size_t from, const transfer& what) {
    if (has_received(from, what)) return;
    received[from] = what.number;
    amount += what.count;
}

void stock_segment::sent_well(const transfer& what) {
    if (outgoing == what) outgoing.reset();
}

std::string stock_segment::packed() const {
    std::ostringstream out;
    const transfer none;
    const transfer& going = outgoing ? *outgoing : none;
    out << format << ' ' << amount << ' ' << sent << ' ' << going.number << ' ' << going.count << ' ' << going.to;
    for (const std::uint64_t each : received) out << ' ' << each;
    return out.str();
}

stock_segment stock_segment::unpacked(std::string_view text, std::size_t segments) {
    std::istringstream in{std::string(text)};
    stock_segment one{segments};
    transfer going;
    std::string head;
    in >> head >> one.amount >> one.sent >> going.number >> going.count >> going.to;
    for (std::uint64_t& each : one.received) in >> each;
    std::string more;
    const bool sound = one.amount >= 0 && going.count >= 0 && (going.number == 0 || going.to < segments);
    if (!in || head != format || in >> more || !sound)
        throw error(errc::invalid_option, "the storage has " + shown(text) + ", which is no segment of a stock of " +
                                              std::to_string(segments) +
                                              " segments; all who share a stock must list the same segments");
    if (going.number != 0) one.outgoing = going;
    return one;
}

std::int64_t total_of(const std::vector<stock_segment>& all) {
    std::int64_t sum = 0;
    const auto add = [&](std::int64_t some) {
        if (__builtin_add_overflow(sum, some, &sum)) sum = std::numeric_limits<std::int64_t>::max();
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
        add(all[i].amount);
        const auto& going = all[i].outgoing;
        if (going && !all[going->to].has_received(i, *going)) add(going->count);
    }
    return sum;
}

}  // namespace mortise::inline v0::patterns
