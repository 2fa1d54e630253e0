// Bytes as the scripts pack them (see record_layout.hpp).
#pragma once

#include "stores/redis/record_layout.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mortise::inline v0::stores::redis {

// An argument of a script: an id, the fields of a layout, or nothing.
class packed_record {
public:
    packed_record() = default;
    explicit packed_record(const claim_id& id) {
        static_assert(layouts::id.size() == sizeof id.bits);
        for (const std::uint64_t half : id.bits) append(half, sizeof half);
    }

    // A number for each field.
    template <const record_layout& Layout, class... Numbers>
    static packed_record of(Numbers... numbers) {
        static_assert(sizeof...(Numbers) == Layout.fields.size() && Layout.size() <= most);
        packed_record made;
        auto field = Layout.fields.begin();
        (made.append(*field++, static_cast<std::int64_t>(numbers)), ...);
        return made;
    }

    std::string_view bytes() const noexcept { return {bytes_.data(), size_}; }

private:
    static constexpr std::size_t most = 24;

    void append(const packed_field& as, std::int64_t number) {
        const bool real = as.code == "d";
        append(real ? std::bit_cast<std::uint64_t>(static_cast<double>(number)) : static_cast<std::uint64_t>(number),
               as.size());
    }
    void append(std::uint64_t bits, std::size_t size) {
        for (std::size_t left = size; left-- > 0;) bytes_.at(size_++) = static_cast<char>(bits >> 8 * left);
    }

    std::array<char, most> bytes_{};
    std::size_t size_ = 0;
};

// Takes an answer or a message apart, from its beginning. What is missing, or is no whole number, makes it bad.
class packed_reader {
public:
    explicit packed_reader(std::string_view bytes) : left_(bytes) {}

    // The fields of a layout, all of them doubles. Zeros once it is bad.
    template <const record_layout& Layout>
    auto take() {
        static_assert(std::ranges::all_of(Layout.fields, [](const packed_field& one) { return one.code == "d"; }));
        std::array<std::int64_t, Layout.fields.size()> numbers{};
        for (std::int64_t& one : numbers) one = number();
        return numbers;
    }
    claim_id take_id() {
        claim_id id;
        for (std::uint64_t& half : id.bits) half = bits();
        return id;
    }
    std::string_view rest() const { return left_; }

    void require(bool condition) { bad_ = bad_ || !condition; }
    bool bad() const { return bad_; }

private:
    std::int64_t number() {
        constexpr double most = 9007199254740992.0;  // 2^53
        const double n = std::bit_cast<double>(bits());
        require(n >= -most && n <= most);
        return bad_ ? 0 : static_cast<std::int64_t>(n);
    }
    std::uint64_t bits() {
        require(left_.size() >= 8);
        if (bad_) return 0;
        std::uint64_t read = 0;
        for (const char byte : left_.substr(0, 8)) read = read << 8U | static_cast<unsigned char>(byte);
        left_.remove_prefix(8);
        return read;
    }

    std::string_view left_;
    bool bad_ = false;
};

}  // namespace mortise::inline v0::stores::redis
