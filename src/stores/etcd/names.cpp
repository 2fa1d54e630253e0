#include "stores/etcd/names.hpp"

#include "base/percent.hpp"

#include <charconv>

namespace mortise::inline v0::stores::etcd {
namespace {

constexpr std::size_t longest_rest = 40;  // of a key, after its folder

std::optional<std::uint64_t> read_hex(std::string_view text) {
    std::uint64_t n = 0;
    const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), n, 16);
    if (failed != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
    return n;
}

std::string hex_of(std::int64_t lease) {
    char room[16];
    const auto made = std::to_chars(room, room + sizeof room, lease, 16);
    return {room, made.ptr};
}

constexpr auto is_escaped = [](char c) { return c == '/' || c == '%'; };

}  // namespace

std::string key_layout::folder_of(std::string_view name) const {
    if (!native_) return std::string(name) + "/";
    std::string folder;
    folder.reserve(prefix_.size() + name.size() + 2);
    folder.append(prefix_) += '/';
    base::append_percent_encoded(folder, name, is_escaped);
    folder += '/';
    return folder;
}

std::string key_layout::key_in(std::string_view folder, const claim_id& id) const {
    return std::string(folder) + (native_ ? id.hex() : hex_of(lease_of(id)));
}

std::string key_layout::key_in(std::string_view folder, std::string_view client, unsigned n) {
    std::string key;
    key.reserve(folder.size() + longest_rest);
    key.append(folder).append(client) += '.';
    return key += std::to_string(n);
}

std::optional<std::uint64_t> key_layout::lease_in(std::string_view rest) {
    return read_hex(rest);
}

std::optional<std::string> key_layout::name_in(std::string_view key) const {
    if (!native_ || !key.starts_with(everything())) return std::nullopt;
    key.remove_prefix(prefix_.size() + 1);
    const std::size_t slash = key.rfind('/');
    return slash == std::string_view::npos ? std::nullopt
                                           : base::percent_decoded_exactly(key.substr(0, slash), is_escaped);
}

std::string end_of(std::string_view folder) {
    std::string end{folder};
    ++end.back();  // a slash, so never 0xff
    return end;
}

std::int64_t lease_of(const claim_id& id) noexcept {
    return static_cast<std::int64_t>(id.bits[0] >> 1) | 1;  // positive, and never 0, which means none
}

}  // namespace mortise::inline v0::stores::etcd
