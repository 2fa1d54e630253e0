#include "lab/stage/message.hpp"

#include <array>

namespace lab {
namespace {

constexpr char between = '\x1f';

}  // namespace

std::string packed(const event& e) {
    std::string all(1, static_cast<char>(e.kind));
    for (const std::string& field : {e.what.en, e.what.zh, e.state, std::to_string(e.number)}) all += field + between;
    return all;
}

event unpacked(const std::string& all) {
    std::array<std::string, 4> fields;
    std::size_t from = 1;
    for (std::string& field : fields) {
        const std::size_t ends = all.find(between, from);
        field = all.substr(from, ends - from);
        from = ends + 1;
    }
    return {.kind = static_cast<kind>(all.at(0)),
            .what = {fields[0], fields[1]},
            .state = fields[2],
            .number = std::stoll(fields[3])};
}

}  // namespace lab
