#include "stores/redis/scripts.hpp"

#include "base/immortal.hpp"
#include "stores/redis/record_layout.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <memory>

namespace mortise::inline v0::stores::redis {
namespace {

// Without allow-oom Redis refuses a script while it is out of memory. Renewals and releases must go on.
constexpr std::string_view takes = "#!lua\n";
constexpr std::string_view keeps = "#!lua flags=allow-oom\n";
constexpr std::string_view looks = "#!lua flags=no-writes\n";

}  // namespace

script::script(std::string text, bool claims, unsigned which)
    : source(std::move(text)), sha(sha1_of(source)), takes(claims), number(which) {}

const scripts& scripts::all() {
    static constinit base::made_once<const scripts> made;
    return *made([] {
        unsigned next = 0;
        const auto make = [&next](std::string_view head, std::initializer_list<std::string_view> parts) {
            std::string text{head};
            for (const std::string_view part : parts) text += spliced(part);
            return script{std::move(text), head == takes, next++};
        };
        return std::unique_ptr<const scripts>(new scripts{
            .claim = make(takes, {lua::fast_claim, lua::state, lua::claim}),
            .release = make(keeps, {lua::fast_release, lua::state, lua::release}),
            .renew = make(keeps, {lua::renew}),
            .heartbeat = make(keeps, {lua::state, lua::heartbeat}),
            .break_hold = make(keeps, {lua::state, lua::break_hold}),
            .raise = make(keeps, {lua::state, lua::raise}),
            .recall = make(keeps, {lua::recall}),
            .show = make(looks, {lua::show}),
            .clock_ahead = make(looks, {lua::clock_ahead}),
            .rights = make(looks, {lua::rights}),
            .setnx_claim = make(takes, {lua::setnx_claim}),
            .setnx_release = make(keeps, {lua::setnx_release}),
            .setnx_renew = make(keeps, {lua::setnx_renew}),
            .redisson_claim = make(takes, {lua::redisson_state, lua::redisson_claim}),
            .redisson_write = make(takes, {lua::redisson_state, lua::redisson_write}),
            .redisson_read = make(takes, {lua::redisson_state, lua::redisson_read}),
            .redisson_release = make(keeps, {lua::redisson_state, lua::redisson_release}),
            .redisson_renew = make(keeps, {lua::redisson_state, lua::redisson_renew}),
            .redisson_fair_claim = make(takes, {lua::redisson_state, lua::redisson_line, lua::redisson_fair_claim}),
            .redisson_fair_release = make(keeps, {lua::redisson_line, lua::redisson_fair_release}),
        });
    });
}

// Only the name of a script, as Redis computes it; nothing relies on it for security.
std::string sha1_of(std::string_view text) {
    std::array<std::uint32_t, 5> h{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    std::string padded{text};
    padded += '\x80';
    padded.resize((padded.size() + 8 + 63) / 64 * 64 - 8);
    for (int shift = 56; shift >= 0; shift -= 8)
        padded += static_cast<char>(static_cast<std::uint64_t>(text.size()) * 8 >> shift);
    for (std::size_t block = 0; block < padded.size(); block += 64) {
        std::array<std::uint32_t, 80> w{};
        for (std::size_t i = 0; i < 64; ++i) w[i / 4] = w[i / 4] << 8 | static_cast<unsigned char>(padded[block + i]);
        for (std::size_t i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        auto [a, b, c, d, e] = h;
        for (std::size_t i = 0; i < 80; ++i) {
            const std::uint32_t f = i < 20   ? (b & c) | (~b & d)
                                    : i < 40 ? b ^ c ^ d
                                    : i < 60 ? (b & c) | (b & d) | (c & d)
                                             : b ^ c ^ d;
            const std::uint32_t k = i < 20 ? 0x5a827999 : i < 40 ? 0x6ed9eba1 : i < 60 ? 0x8f1bbcdc : 0xca62c1d6;
            const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[i];
            e = d;
            d = c;
            c = std::rotl(b, 30);
            b = a;
            a = next;
        }
        h[0] += a;
        h[1] += b;
        h[2] += c;
        h[3] += d;
        h[4] += e;
    }
    std::string hex;
    for (const std::uint32_t word : h)
        for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[word >> shift & 15];
    return hex;
}

}  // namespace mortise::inline v0::stores::redis
