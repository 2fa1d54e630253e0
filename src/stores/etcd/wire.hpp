// Protocol buffers, as far as etcd's messages need them: numbers, and bytes with a length.
#pragma once

#include <mortise/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::inline v0::stores::etcd {

// Adds fields to a message. Zero and empty are what the reader assumes, so they are left out.
class wire_writer {
public:
    wire_writer() { text_.reserve(usual_size); }

    wire_writer& number(unsigned field, std::int64_t n) { return n == 0 ? *this : number_even_zero(field, n); }
    wire_writer& number_even_zero(unsigned field, std::int64_t n);
    wire_writer& bytes(unsigned field, std::string_view text) { return text.empty() ? *this : message(field, text); }
    wire_writer& message(unsigned field, std::string_view written);  // also an empty one
    // A message inside of this one: what `write` adds.
    template <class Write>
    wire_writer& inside(unsigned field, const Write& write) {
        const std::size_t begin = open(field);
        write(*this);
        close(begin);
        return *this;
    }

    std::string take() { return std::move(text_); }

private:
    static constexpr std::size_t usual_size = 400;  // a claim's

    std::size_t open(unsigned field);
    void close(std::size_t begin);

    std::string text_;
};

// Goes through the fields of a message:  while (in.next()) switch (in.field()) { ... }  return in.good();
// What it is not asked for it skips. It never looks beyond the text, which must outlive it.
class wire_reader {
public:
    explicit wire_reader(std::string_view text) : rest_(text) {}

    bool next();  // false: the end, or it is not good
    unsigned field() const noexcept { return field_; }
    // Of the field at hand; zero and empty if that is of another kind.
    std::int64_t number() const noexcept { return static_cast<std::int64_t>(number_); }
    std::string_view bytes() const noexcept { return bytes_; }

    bool good() const noexcept { return good_; }

private:
    bool varint(std::uint64_t& n);
    bool take(std::uint64_t size, std::string_view& part);

    std::string_view rest_;
    unsigned field_ = 0;
    std::uint64_t number_ = 0;
    std::string_view bytes_;
    bool good_ = true;
};

}  // namespace mortise::inline v0::stores::etcd
