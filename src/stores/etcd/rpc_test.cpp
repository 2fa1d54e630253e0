// What is said to etcd, byte by byte, and what is read from it.
#include "stores/etcd/rpc.hpp"

#include "stores/etcd/wire.hpp"

#include <algorithm>
#include <memory>
#include <random>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::etcd {
namespace {

using namespace std::string_literals;

TEST(etcd_rpc, requests_are_as_protocol_buffers_write_them) {
    EXPECT_EQ(encoded(rpc::put_request{"k", "v", 300}), "\x0a\x01k\x12\x01v\x18\xac\x02"s);
    EXPECT_EQ(encoded(rpc::put_request{}), "");
    EXPECT_EQ(encoded(rpc::delete_request{.key = "k", .prev_kv = true}), "\x0a\x01k\x18\x01"s);
    EXPECT_EQ(
        encoded(rpc::range_request{.key = "k", .limit = 2, .by_creation = rpc::descending, .max_create_revision = 5}),
        "\x0a\x01k\x18\x02\x28\x02\x30\x02\x68\x05"s);
    EXPECT_EQ(encoded(rpc::range_request{.key = "k", .of_this_member = true}), "\x0a\x01k\x38\x01"s);
    EXPECT_EQ(encoded(rpc::lease_id{-1}), "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s);
    EXPECT_EQ(encoded(rpc::watch_create{.key = "k", .watch_id = 2}), "\x0a\x07\x0a\x01k\x28\x00\x38\x02"s);
    EXPECT_EQ(encoded(rpc::watch_cancel{2}), "\x12\x02\x08\x02"s);
}

TEST(etcd_rpc, transactions_say_what_they_compare_also_with_nothing) {
    const rpc::txn_request all{.compares = {{.key = "k"}, {.key = "k", .target = rpc::compare::value}},
                               .success = {rpc::put_request{.key = "k"}},
                               .failure = {rpc::range_request{.key = "k"}, rpc::delete_request{.key = "k"}}};
    EXPECT_EQ(encoded(all),
              "\x0a\x07\x10\x01\x1a\x01k\x28\x00"s
              "\x0a\x07\x10\x03\x1a\x01k\x3a\x00"s
              "\x12\x05\x12\x03\x0a\x01k"s
              "\x1a\x05\x0a\x03\x0a\x01k"s
              "\x1a\x05\x1a\x03\x0a\x01k"s);
}

TEST(etcd_rpc, what_is_inside_of_a_message_may_be_long) {
    const std::string key(200, 'k');
    EXPECT_EQ(encoded(rpc::txn_request{.success = {rpc::put_request{.key = key}}}),
              "\x12\xce\x01"s
              "\x12\xcb\x01"s
              "\x0a\xc8\x01"s +
                  key);
}

std::string answer_of_a_transaction() {
    const std::string header = wire_writer{}.number(1, 9).number(3, 77).take();
    const std::string kv =
        wire_writer{}.bytes(1, "k").number(2, 5).number(3, 6).number(4, 1).bytes(5, "v").number(6, -3).take();
    const std::string range = wire_writer{}.message(1, header).message(2, kv).message(2, kv).number(4, 2).take();
    const std::string gone = wire_writer{}.number(2, 1).message(3, kv).take();
    return wire_writer{}
        .message(1, header)
        .number(2, 1)
        .message(3, wire_writer{}.message(1, range).take())
        .message(3, wire_writer{}.message(2, {}).take())
        .message(3, wire_writer{}.message(3, gone).take())
        .take();
}

TEST(etcd_rpc, answers_are_read) {
    rpc::txn_response reply;
    ASSERT_TRUE(decode(answer_of_a_transaction(), reply));
    EXPECT_TRUE(reply.succeeded);
    EXPECT_EQ(reply.revision, 77);
    ASSERT_EQ(reply.responses.size(), 3u);
    const auto& range = std::get<rpc::range_response>(reply.responses[0]);
    ASSERT_EQ(range.kvs.size(), 2u);
    EXPECT_EQ(range.kvs[1].key, "k");
    EXPECT_EQ(range.kvs[1].create_revision, 5);
    EXPECT_EQ(range.kvs[1].mod_revision, 6);
    EXPECT_EQ(range.kvs[1].value, "v");
    EXPECT_EQ(range.kvs[1].lease, -3);
    EXPECT_TRUE(std::holds_alternative<rpc::put_response>(reply.responses[1]));
    EXPECT_EQ(std::get<rpc::delete_response>(reply.responses[2]).deleted, 1);
}

TEST(etcd_rpc, what_is_cut_short_is_refused_or_shorter_but_never_read_beyond) {
    const std::string whole = answer_of_a_transaction();
    for (std::size_t n = 0; n < whole.size(); ++n) {
        const auto part = std::make_unique<char[]>(n);  // so that a sanitizer sees the end
        std::copy_n(whole.data(), n, part.get());
        rpc::txn_response reply;
        const bool good = decode({part.get(), n}, reply);
        EXPECT_FALSE(good && reply.responses.size() == 3) << n;
    }
}

TEST(etcd_rpc, hostile_bytes_are_refused_or_read_but_never_hurt) {
    std::mt19937 any{11};
    const std::string whole = answer_of_a_transaction();
    for (int round = 0; round < 20'000; ++round) {
        std::string bent = whole;
        for (unsigned i = 0; i < 1 + any() % 5; ++i) bent[any() % bent.size()] = static_cast<char>(any());
        rpc::txn_response txn;
        rpc::watch_response watch;
        rpc::status_response status;
        rpc::lease_response lease;
        static_cast<void>(decode(bent, txn));
        static_cast<void>(decode(bent, watch));
        static_cast<void>(decode(bent, status));
        static_cast<void>(decode(bent, lease));
        ASSERT_LE(txn.responses.size(), whole.size());
    }
}

TEST(etcd_rpc, numbers_and_lengths_have_limits) {
    const auto good = [](const std::string& bytes) {
        wire_reader in{bytes};
        while (in.next()) {
        }
        return in.good();
    };
    EXPECT_TRUE(good("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s));
    EXPECT_FALSE(good("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s)) << "a number of eleven bytes";
    EXPECT_FALSE(good("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s)) << "a length beyond everything";
    EXPECT_FALSE(good("\x0a\x05four"s));
    EXPECT_FALSE(good("\x00\x01"s)) << "a field without a number";
    EXPECT_FALSE(good("\x0b"s)) << "a group";
    EXPECT_TRUE(good("\x09"s + "12345678" + "\x0d" + "1234")) << "kinds that are not ours are skipped";
}

}  // namespace
}  // namespace mortise::inline v0::stores::etcd
