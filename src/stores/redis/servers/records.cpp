#include "stores/redis/servers/records.hpp"

#include "stores/redis/messages.hpp"
#include "stores/redis/names.hpp"
#include "stores/redis/record_layout.hpp"
#include "stores/redis/scripts.hpp"

#include <charconv>
#include <sstream>
#include <stdexcept>

namespace mortise::inline v0::stores::redis::servers {
namespace {

// Follows state.lua, which knows how to read a name. ARGV: how long a client that waits is taken to be alive, in microseconds.
constexpr std::string_view show_all = R"lua(
local function hex(id) return (string.gsub(id, '.', function(c) return string.format('%02x', string.byte(c)) end)) end
local wrong = load()
if wrong then return wrong end
local all = {}
for _, one in ipairs(s.held > 0 and holders() or {}) do
  if one[2].ends > now then all[#all + 1] = 'h' .. hex(one[1]) end
end
for number = s.front, s.back - 1 do
  local record = get('q' .. int(number))
  local w = record and read_waiter(record)
  if w and alive(w, number, tonumber(ARGV[1])) then all[#all + 1] = 'q' .. hex(w.id) end
end
return all
)lua";

std::uint64_t read_half(std::string_view hex) {
    std::uint64_t half = 0;
    const auto [stop, failed] = std::from_chars(hex.data(), hex.data() + hex.size(), half, 16);
    if (failed != std::errc{} || stop != hex.data() + 16) throw std::runtime_error("not an id: " + std::string(hex));
    return half;
}

std::vector<std::string> split_in_lines(const std::string& text) {
    std::istringstream in{text};
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
}

}  // namespace

std::vector<spi::stored_claim> records_of(const std::vector<server*>& keepers, const std::string& prefix) {
    const std::string script = "#!lua flags=no-writes\n" + spliced(lua::state) + std::string(show_all);
    const std::string life = std::to_string(std::chrono::microseconds{waiter_life}.count());
    std::vector<spi::stored_claim> all;
    for (server* const one : keepers) {
        if (one == nullptr) throw std::runtime_error("nobody is the master");
        std::string cursor = "0";
        do {
            const auto page =
                split_in_lines(one->command({"scan", cursor, "match", pattern_of(prefix), "count", "1000"}));
            cursor = page.at(0);
            for (std::size_t i = 1; i < page.size(); ++i) {
                const std::string name = name_of(prefix, page[i]).value_or(page[i]);
                for (const std::string& line : split_in_lines(one->command({"eval", script, "1", page[i], life})))
                    all.push_back({name,
                                   {{read_half(std::string_view(line).substr(1, 16)), read_half(line.substr(17))}},
                                   line.at(0) == 'h',
                                   page[i] + " at " + one->address()});
            }
        } while (cursor != "0");
    }
    return all;
}

}  // namespace mortise::inline v0::stores::redis::servers
