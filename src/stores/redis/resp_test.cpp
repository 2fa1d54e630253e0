// The reader of what servers say: whole, in pieces, and from servers that mean harm.
#include "stores/redis/resp.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::stores::redis {
namespace {

using outcome = reader::parse_status;
using kind = reply::kind;

void feed(reader& to, std::string_view bytes) {
    while (!bytes.empty()) {
        const std::span<char> space = to.space();
        const std::size_t n = std::min(space.size(), bytes.size());
        std::copy_n(bytes.data(), n, space.data());
        to.filled(n);
        bytes.remove_prefix(n);
    }
}

// One line for each reply, so that two streams can be compared.
std::string shown(const reply& one) {
    switch (one.is) {
        case kind::null:
            return "null";
        case kind::integer:
            return std::to_string(one.number);
        case kind::text:
            return "'" + std::string(one.text) + "'";
        case kind::error:
            return "error '" + std::string(one.text) + "'";
        default:
            break;
    }
    std::string all = one.is == kind::push ? "push(" : "(";
    for (const reply& item : one.items) all += shown(item) + " ";
    return all + ")";
}

// All replies of the stream, as they come while it is fed in these pieces; "broken" ends it.
std::vector<std::string> replies(const std::vector<std::string_view>& pieces) {
    reader input;
    reply said;
    std::vector<std::string> all;
    for (const std::string_view piece : pieces) {
        feed(input, piece);
        while (true) {
            const outcome how = input.next(said);
            if (how == outcome::more) break;
            if (how == outcome::broken) {
                all.emplace_back("broken");
                return all;
            }
            all.push_back(shown(said));
        }
    }
    return all;
}

std::vector<std::string> replies(std::string_view bytes) {
    return replies(std::vector{bytes});
}

outcome fate_of(const std::string& bytes) {
    reader input;
    reply said;
    feed(input, bytes);
    return input.next(said);
}

const std::string of_every_type =
    "+OK\r\n"
    "-ERR no such thing\r\n"
    ":-42\r\n"
    "$5\r\nhe\r\no\r\n"
    "$0\r\n\r\n"
    "$-1\r\n"
    "*-1\r\n"
    "_\r\n"
    "#t\r\n#f\r\n"
    ",3.25\r\n"
    "(12345678901234567890\r\n"
    "!9\r\nSYNTAX no\r\n"
    "=6\r\ntxt:hi\r\n"
    "*3\r\n:1\r\n*1\r\n+x\r\n$-1\r\n"
    "*0\r\n"
    "%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n"
    "~2\r\n:1\r\n:2\r\n"
    ">3\r\n+message\r\n$1\r\nc\r\n$2\r\nhi\r\n"
    "|1\r\n+ttl\r\n:3600\r\n+value\r\n"
    ":9223372036854775807\r\n";

const std::vector<std::string> read_as{"'OK'",
                                       "error 'ERR no such thing'",
                                       "-42",
                                       "'he\r\no'",
                                       "''",
                                       "null",
                                       "null",
                                       "null",
                                       "1",
                                       "0",
                                       "'3.25'",
                                       "'12345678901234567890'",
                                       "error 'SYNTAX no'",
                                       "'txt:hi'",
                                       "(1 ('x' ) null )",
                                       "()",
                                       "('a' 1 'b' (2 ) )",
                                       "(1 2 )",
                                       "push('message' 'c' 'hi' )",
                                       "'value'",
                                       "9223372036854775807"};

TEST(redis_reader, reads_every_type) {
    EXPECT_EQ(replies(of_every_type), read_as);
}

TEST(redis_reader, reads_the_same_however_the_stream_is_cut) {
    for (std::size_t cut = 0; cut <= of_every_type.size(); ++cut) {
        const std::string_view whole = of_every_type;
        ASSERT_EQ(replies({whole.substr(0, cut), whole.substr(cut)}), read_as) << "cut at " << cut;
    }
    std::vector<std::string_view> bytes;
    for (const char& c : of_every_type) bytes.emplace_back(&c, 1);
    EXPECT_EQ(replies(bytes), read_as);
}

TEST(redis_reader, asks_for_more_at_every_cut_of_a_value) {
    const std::string value = "*2\r\n%1\r\n+a\r\n$3\r\nxyz\r\n|1\r\n+t\r\n:1\r\n!5\r\nERR x\r\n";
    for (std::size_t cut = 0; cut < value.size(); ++cut)
        ASSERT_EQ(fate_of(value.substr(0, cut)), outcome::more) << "cut at " << cut;
    EXPECT_EQ(fate_of(value), outcome::value);
}

TEST(redis_reader, reads_long_streams_in_little_space) {
    std::string stream;
    for (int i = 0; i < 5000; ++i) stream += "$30\r\n" + std::string(30, static_cast<char>('a' + i % 26)) + "\r\n";
    reader input;
    reply said;
    std::size_t read = 0;
    for (std::string_view rest = stream; !rest.empty();) {
        const std::string_view piece = rest.substr(0, 1777);
        feed(input, piece);
        rest.remove_prefix(piece.size());
        while (input.next(said) == outcome::value) {
            ASSERT_EQ(said.text, std::string(30, static_cast<char>('a' + read % 26)));
            ++read;
        }
        ASSERT_LE(input.space().size(), std::size_t{64} * 1024) << "what was read makes room";
    }
    EXPECT_EQ(read, 5000u);
}

TEST(redis_reader, reads_texts_longer_than_its_buffer) {
    const std::string text(300'000, 'x');
    EXPECT_EQ(replies("$300000\r\n" + text + "\r\n+OK\r\n"), (std::vector<std::string>{"'" + text + "'", "'OK'"}));
}

TEST(redis_reader, finds_the_values_of_maps) {
    reader input;
    reply said;
    feed(input, "%2\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$4\r\nrole\r\n$6\r\nmaster\r\n");
    ASSERT_EQ(input.next(said), outcome::value);
    EXPECT_EQ(said.at("version").text, "7.0.15");
    EXPECT_EQ(said.at("role").text, "master");
    EXPECT_EQ(said.at("proto").is, kind::null);
}

struct hostile {
    const char* what;
    std::string bytes;
};

std::string nested(std::string_view head, std::size_t depth) {
    std::string bytes;
    for (std::size_t i = 0; i < depth; ++i) bytes += head;
    return bytes + ":1\r\n";
}

std::vector<hostile> hostile_streams() {
    return {
        {"no type", "hello\r\n"},
        {"a web server", "HTTP/1.1 400 Bad Request\r\n\r\n"},
        {"a tls alert", std::string("\x15\x03\x01\x00\x02\x02\x46", 7)},
        {"a bare line feed", "+OK\n"},
        {"no number", ":one\r\n"},
        {"an empty number", ":\r\n"},
        {"a number with a tail", ":1x\r\n"},
        {"a plus sign", ":+1\r\n"},
        {"too large a number", ":9223372036854775808\r\n"},
        {"a negative length", "$-2\r\n"},
        {"a length without digits", "$\r\n"},
        {"too long a text", "$16777217\r\n"},
        {"a length near the edge", "$9223372036854775807\r\n"},
        {"a length past the edge", "$99999999999999999999\r\n"},
        {"a text without its end", "$2\r\nabcd\r\n"},
        {"a negative count", "*-2\r\n"},
        {"too many elements", "*1048577\r\n"},
        {"a count near the edge", "*9223372036854775807\r\n"},
        {"a negative map", "%-5\r\n"},
        {"a null with text", "_x\r\n"},
        {"a third truth", "#x\r\n"},
        {"lists too deep", nested("*1\r\n", 40)},
        {"lists far too deep", nested("*1\r\n", 100'000)},
        {"attributes too deep", nested("|0\r\n", 40)},
        {"attributes far too deep", nested("|1\r\n+a\r\n:1\r\n", 100'000)},
        {"attributes of attributes", nested("|1\r\n", 40)},
        {"maps too deep", nested("%1\r\n+a\r\n", 40)},
        {"many elements in all", "*3\r\n*1048576\r\n" +
                                     [] {
                                         std::string all;
                                         for (int i = 0; i < 1 << 20; ++i) all += "_\r\n";
                                         return all;
                                     }()},
        {"an endless line", std::string("+") + std::string(80'000, 'x')},
    };
}

TEST(redis_reader, a_hostile_stream_is_broken_and_stays_so) {
    for (const hostile& one : hostile_streams()) {
        reader input;
        reply said;
        feed(input, one.bytes);
        EXPECT_EQ(input.next(said), outcome::broken) << one.what;
        feed(input, "+OK\r\n");
        EXPECT_EQ(input.next(said), outcome::broken) << one.what;
    }
}

TEST(redis_reader, reserves_nothing_for_a_count_alone) {
    reader input;
    reply said;
    feed(input, "*1048576\r\n:1\r\n");
    EXPECT_EQ(input.next(said), outcome::more);
    EXPECT_LT(said.items.capacity(), 16u);
}

TEST(redis_reader, random_bytes_end_in_an_answer) {
    std::mt19937 dice{7};
    static constexpr std::string_view letters = "+-:$*%~>|_#!=,(\r\n\r\n0123456789at\x15";
    std::size_t broken = 0, values = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::string bytes(dice() % 60, ' ');
        for (char& c : bytes) c = dice() % 8 == 0 ? static_cast<char>(dice()) : letters[dice() % letters.size()];
        const std::size_t cut = bytes.empty() ? 0 : dice() % bytes.size();
        const auto at_once = replies(bytes);
        const std::string_view whole = bytes;
        ASSERT_EQ(replies({whole.substr(0, cut), whole.substr(cut)}), at_once) << i;
        if (!at_once.empty() && at_once.back() == "broken") ++broken;
        values += at_once.size();
    }
    EXPECT_GT(broken, 5'000u);
    EXPECT_GT(values, broken);
}

// A stream with one wrong byte gives other replies, or none; never more than it has bytes for, and the reader survives.
TEST(redis_reader, survives_every_changed_byte) {
    for (std::size_t at = 0; at < of_every_type.size(); ++at) {
        for (const char wrong : {'\0', '\r', '\n', '-', '9', '*', '\xff'}) {
            std::string bytes = of_every_type;
            bytes[at] = wrong;
            ASSERT_LE(replies(bytes).size(), bytes.size() / 3) << at;
        }
    }
}

TEST(redis_command, is_written_as_lengths_and_bytes) {
    std::string out;
    append(out, {"SET", "", "a\r\nb"});
    command{out, 2} << "DEL" << std::int64_t{-7};
    EXPECT_EQ(out, "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$4\r\na\r\nb\r\n*2\r\n$3\r\nDEL\r\n$2\r\n-7\r\n");
}

}  // namespace
}  // namespace mortise::stores::redis
