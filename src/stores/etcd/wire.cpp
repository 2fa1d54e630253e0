#include "stores/etcd/wire.hpp"

#include <array>

namespace mortise::inline v0::stores::etcd {
namespace {

enum kind : unsigned { is_varint = 0, is_fixed64 = 1, is_bytes = 2, is_fixed32 = 5 };

constexpr unsigned bits_of_kind = 3;
constexpr std::uint64_t most_fields = (std::uint64_t{1} << 29) - 1;

// Seven bits a byte, the lowest first.
class varint {
public:
    explicit varint(std::uint64_t n) {
        for (; n >= 0x80; n >>= 7) bytes_[size_++] = static_cast<char>(n | 0x80);
        bytes_[size_++] = static_cast<char>(n);
    }
    std::string_view text() const { return {bytes_.data(), size_}; }

private:
    std::array<char, 10> bytes_;
    std::size_t size_ = 0;
};

}  // namespace

wire_writer& wire_writer::number_even_zero(unsigned field, std::int64_t n) {
    text_ += varint{field << bits_of_kind | is_varint}.text();
    text_ += varint{static_cast<std::uint64_t>(n)}.text();
    return *this;
}

wire_writer& wire_writer::message(unsigned field, std::string_view written) {
    text_ += varint{field << bits_of_kind | is_bytes}.text();
    text_ += varint{written.size()}.text();
    text_ += written;
    return *this;
}

std::size_t wire_writer::open(unsigned field) {
    text_ += varint{field << bits_of_kind | is_bytes}.text();
    return text_.size();
}

// Its length stands before it, and is known only now.
void wire_writer::close(std::size_t begin) {
    text_.insert(begin, varint{text_.size() - begin}.text());
}

bool wire_reader::varint(std::uint64_t& n) {
    n = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (rest_.empty()) return false;
        const auto byte = static_cast<std::uint8_t>(rest_.front());
        rest_.remove_prefix(1);
        n |= std::uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

bool wire_reader::take(std::uint64_t size, std::string_view& part) {
    if (size > rest_.size()) return false;
    part = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
}

bool wire_reader::next() {
    if (!good_ || rest_.empty()) return false;
    field_ = 0;
    number_ = 0;
    bytes_ = {};
    std::uint64_t tag = 0;
    std::uint64_t size = 0;
    std::string_view skipped;
    good_ = varint(tag) && tag >> bits_of_kind != 0 && tag >> bits_of_kind <= most_fields;
    if (!good_) return false;
    field_ = static_cast<unsigned>(tag >> bits_of_kind);
    switch (tag & ((1u << bits_of_kind) - 1)) {
        case is_varint:
            good_ = varint(number_);
            break;
        case is_bytes:
            good_ = varint(size) && take(size, bytes_);
            break;
        case is_fixed64:
            good_ = take(8, skipped);
            break;
        case is_fixed32:
            good_ = take(4, skipped);
            break;
        default:
            good_ = false;
    }
    return good_;
}

}  // namespace mortise::inline v0::stores::etcd
