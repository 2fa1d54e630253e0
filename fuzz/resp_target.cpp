// Replies of a Redis server, or of somebody who pretends to be one. However the bytes are cut into pieces, the reader finds the
// same replies, and it stays within its limits.
#include "fuzz/target.hpp"
#include "stores/redis/resp.hpp"

#include <algorithm>
#include <string>

namespace mortise::fuzzing::resp {
namespace {

using stores::redis::reader;
using stores::redis::reply;

void describe(std::string& to, const reply& one, std::size_t depth = 0) {
    expect(depth <= reader::deepest, "a reply is deeper than the limit");
    to += static_cast<char>('a' + static_cast<int>(one.is));
    to += std::to_string(one.number) + ':' + std::to_string(one.text.size()) + ':';
    to += one.text;
    for (const reply& item : one.items) describe(to, item, depth + 1);
    to += ';';
}

// What it makes of these bytes, `piece` at a time.
std::string replies_in(std::string_view bytes, std::size_t piece) {
    reader from;
    std::string found;
    while (true) {
        reply one;
        switch (from.next(one)) {
            case reader::parse_status::value:
                describe(found, one);
                static_cast<void>(one.at("version"));
                break;
            case reader::parse_status::broken:
                return found + "broken";
            case reader::parse_status::more: {
                if (bytes.empty()) return found;
                const auto space = from.space();
                const std::size_t size = std::min({space.size(), piece, bytes.size()});
                expect(size > 0, "there is no room for more");
                std::copy_n(bytes.data(), size, space.data());
                from.filled(size);
                bytes.remove_prefix(size);
            }
        }
    }
}

}  // namespace

void run(std::string_view input) {
    if (input.empty()) return;
    const std::size_t piece = static_cast<unsigned char>(input.front()) % 64 + 1;
    input.remove_prefix(1);
    expect(replies_in(input, piece) == replies_in(input, input.size() + 1), "it depends on how the bytes arrive");
}

}  // namespace mortise::fuzzing::resp
