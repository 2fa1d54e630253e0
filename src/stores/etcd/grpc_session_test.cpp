// gRPC over HTTP/2 between our side and one made of nghttp2's other half: bytes are carried by hand.
#include "stores/etcd/grpc_session.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include <gmock/gmock.h>
#include <nghttp2/nghttp2.h>

namespace mortise::inline v0::stores::etcd {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

nghttp2_nv pair_of(const std::string& name, const std::string& value) {
    const auto bytes = [](const std::string& s) {
        return reinterpret_cast<std::uint8_t*>(const_cast<char*>(s.data()));
    };
    return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

using headers = std::vector<std::pair<std::string, std::string>>;

std::string framed(std::string_view message) {
    std::string all(5, '\0');
    for (int i = 0; i < 4; ++i) all[4 - static_cast<std::size_t>(i)] = static_cast<char>(message.size() >> (8 * i));
    return all.append(message);
}

class other_side {
public:
    other_side() {
        nghttp2_session_callbacks* calls = nullptr;
        nghttp2_session_callbacks_new(&calls);
        nghttp2_session_callbacks_set_on_header_callback(calls, [](nghttp2_session*, const nghttp2_frame* frame,
                                                                   const std::uint8_t* name, std::size_t size,
                                                                   const std::uint8_t* value, std::size_t length,
                                                                   std::uint8_t, void* me) {
            auto& self = *static_cast<other_side*>(me);
            self.last_ = frame->hd.stream_id;
            self.asked_[{reinterpret_cast<const char*>(name), size}] = {reinterpret_cast<const char*>(value), length};
            return 0;
        });
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
            calls,
            [](nghttp2_session*, std::uint8_t, std::int32_t, const std::uint8_t* bytes, std::size_t size, void* me) {
                static_cast<other_side*>(me)->heard_.append(reinterpret_cast<const char*>(bytes), size);
                return 0;
            });
        nghttp2_session_callbacks_set_on_frame_recv_callback(
            calls, [](nghttp2_session*, const nghttp2_frame* frame, void* me) {
                auto& self = *static_cast<other_side*>(me);
                if (frame->hd.type == NGHTTP2_RST_STREAM) ++self.resets_;
                if (frame->hd.type == NGHTTP2_PING) ++self.pings_;
                if (frame->hd.type == NGHTTP2_DATA && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
                    self.all_said_ = true;
                return 0;
            });
        nghttp2_session_server_new(&session_, calls, this);
        nghttp2_session_callbacks_del(calls);
        nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
    }
    ~other_side() { nghttp2_session_del(session_); }
    other_side(const other_side&) = delete;
    other_side& operator=(const other_side&) = delete;

    // Headers, some bytes, and trailers if there are any.
    void answer(grpc_session::number to, const std::string& body, const headers& trailers,
                const headers& first = {{":status", "200"}, {"content-type", "application/grpc"}}) {
        body_ = body;
        trailers_ = trailers;
        std::vector<nghttp2_nv> fields;
        for (const auto& [name, value] : first) fields.push_back(pair_of(name, value));
        nghttp2_data_provider from{
            .source = {.ptr = this},
            .read_callback = [](nghttp2_session* session, std::int32_t stream, std::uint8_t* into, std::size_t room,
                                std::uint32_t* flags, nghttp2_data_source* source, void*) -> ssize_t {
                auto& self = *static_cast<other_side*>(source->ptr);
                const std::size_t n = std::min(room, self.body_.size());
                std::copy_n(self.body_.data(), n, into);
                self.body_.erase(0, n);
                if (!self.body_.empty()) return static_cast<ssize_t>(n);
                if (self.stays_open_) return n == 0 ? ssize_t{NGHTTP2_ERR_DEFERRED} : static_cast<ssize_t>(n);
                *flags |= NGHTTP2_DATA_FLAG_EOF;
                if (self.trailers_.empty()) return static_cast<ssize_t>(n);
                *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
                std::vector<nghttp2_nv> last;
                for (const auto& [name, value] : self.trailers_) last.push_back(pair_of(name, value));
                nghttp2_submit_trailer(session, stream, last.data(), last.size());
                return static_cast<ssize_t>(n);
            }};
        nghttp2_submit_response(session_, to, fields.data(), fields.size(), &from);
    }
    void answer_in_headers(grpc_session::number to, const headers& all) {
        std::vector<nghttp2_nv> fields;
        for (const auto& [name, value] : all) fields.push_back(pair_of(name, value));
        nghttp2_submit_response(session_, to, fields.data(), fields.size(), nullptr);
    }
    void reset(grpc_session::number which, std::uint32_t why) {
        nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, which, why);
    }
    void say_goodbye(grpc_session::number last) {
        nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, nullptr, 0);
    }

    nghttp2_session* session_ = nullptr;
    std::map<std::string, std::string> asked_;
    std::string heard_;
    std::int32_t last_ = 0;
    int resets_ = 0;
    int pings_ = 0;
    bool all_said_ = false;
    bool stays_open_ = false;

private:
    std::string body_;
    headers trailers_;
};

class grpc_sessions : public ::testing::Test {
protected:
    // To and fro until nobody has anything to say. `at_once`: how many bytes our side is given at a time.
    bool carry(std::size_t at_once = 100'000) {
        while (true) {
            std::string there;
            ours_.take_out(there);
            if (!there.empty() &&
                nghttp2_session_mem_recv(theirs_.session_, reinterpret_cast<const std::uint8_t*>(there.data()),
                                         there.size()) < 0)
                return false;
            const std::string back = said_by_them();
            if (there.empty() && back.empty()) return true;
            for (std::size_t at = 0; at < back.size(); at += at_once)
                if (!ours_.take_in(std::string_view{back}.substr(at, at_once), events_)) return false;
        }
    }
    std::string said_by_them() {
        std::string all;
        const std::uint8_t* bytes = nullptr;
        for (ssize_t n = 0; (n = nghttp2_session_mem_send(theirs_.session_, &bytes)) > 0;)
            all.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
        return all;
    }
    grpc_session::number ask(std::string_view request = "question") {
        const auto made = ours_.begin("/etcdserverpb.KV/Put", {}, 2s);
        ours_.say(made, request, true);
        EXPECT_TRUE(carry());
        return made;
    }

    grpc_session ours_{"host:2379", false};
    other_side theirs_;
    std::vector<grpc_session::event> events_;
};

TEST_F(grpc_sessions, ask_as_grpc_does) {
    const auto made = ours_.begin("/etcdserverpb.KV/Put", "secret", 2s);
    ours_.say(made, "question", true);
    ASSERT_TRUE(carry());
    EXPECT_EQ(theirs_.asked_[":method"], "POST");
    EXPECT_EQ(theirs_.asked_[":path"], "/etcdserverpb.KV/Put");
    EXPECT_EQ(theirs_.asked_[":authority"], "host:2379");
    EXPECT_EQ(theirs_.asked_["content-type"], "application/grpc");
    EXPECT_EQ(theirs_.asked_["te"], "trailers");
    EXPECT_EQ(theirs_.asked_["grpc-timeout"], "2000m");
    EXPECT_EQ(theirs_.asked_["token"], "secret");
    EXPECT_EQ(theirs_.heard_, framed("question"));
    EXPECT_TRUE(theirs_.all_said_);
}

TEST_F(grpc_sessions, hear_an_answer_in_pieces_of_any_size) {
    for (const std::size_t at_once : {1u, 2u, 7u, 100'000u}) {
        events_.clear();
        const auto made = ask();
        theirs_.answer(made, framed("answer"), {{"grpc-status", "0"}});
        ASSERT_TRUE(carry(at_once));
        ASSERT_EQ(events_.size(), 2u);
        EXPECT_EQ(events_[0].message, "answer");
        EXPECT_TRUE(events_[1].over);
        EXPECT_EQ(events_[1].end.code, ending::ok);
    }
}

TEST_F(grpc_sessions, large_messages_go_both_ways) {
    const std::string large(3'000'000, 'x');
    const auto made = ask(large);
    EXPECT_EQ(theirs_.heard_.size(), large.size() + 5);
    theirs_.answer(made, framed(large), {{"grpc-status", "0"}});
    ASSERT_TRUE(carry());
    ASSERT_EQ(events_.size(), 2u);
    EXPECT_EQ(events_[0].message, large);
}

TEST_F(grpc_sessions, a_refusal_has_a_code_and_a_text) {
    theirs_.answer_in_headers(ask(), {{":status", "200"},
                                      {"content-type", "application/grpc"},
                                      {"grpc-status", "5"},
                                      {"grpc-message", "etcdserver: requested lease not found %41%"}});
    ASSERT_TRUE(carry());
    ASSERT_EQ(events_.size(), 1u);
    EXPECT_EQ(events_[0].end.code, ending::not_found);
    EXPECT_EQ(events_[0].end.text, "etcdserver: requested lease not found A%");
    EXPECT_FALSE(events_[0].end.untouched);
}

TEST_F(grpc_sessions, what_is_no_grpc_is_told) {
    theirs_.answer(ask(), "<html>", {}, {{":status", "404"}});
    theirs_.answer(ask(), "", {}, {{":status", "200"}});
    ASSERT_TRUE(carry());
    ASSERT_EQ(events_.size(), 2u);
    EXPECT_EQ(events_[0].end.code, ending::unimplemented);
    EXPECT_THAT(events_[0].end.text, HasSubstr("404"));
    EXPECT_EQ(events_[1].end.code, ending::internal);
}

TEST_F(grpc_sessions, only_what_was_refused_as_a_whole_is_untouched) {
    const auto first = ask();
    const auto second = ask();
    theirs_.reset(first, NGHTTP2_REFUSED_STREAM);
    theirs_.reset(second, NGHTTP2_INTERNAL_ERROR);
    ASSERT_TRUE(carry());
    ASSERT_EQ(events_.size(), 2u);
    EXPECT_TRUE(events_[0].end.untouched);
    EXPECT_FALSE(events_[1].end.untouched);
}

TEST_F(grpc_sessions, a_goodbye_proves_what_was_not_touched) {
    const auto first = ask();
    const auto second = ask();
    theirs_.say_goodbye(first);
    carry();
    EXPECT_TRUE(ours_.going());
    ASSERT_EQ(events_.size(), 1u) << "the first may have been done";
    EXPECT_EQ(events_[0].stream, second);
    EXPECT_TRUE(events_[0].end.untouched);
}

TEST_F(grpc_sessions, streams_say_and_hear_until_one_side_ends_them) {
    const auto made = ours_.begin("/etcdserverpb.Watch/Watch", {}, std::nullopt);
    ours_.say(made, "one", false);
    ASSERT_TRUE(carry());
    EXPECT_FALSE(theirs_.asked_.contains("grpc-timeout"));
    ours_.say(made, "two", false);
    ASSERT_TRUE(carry());
    EXPECT_EQ(theirs_.heard_, framed("one") + framed("two"));
    EXPECT_FALSE(theirs_.all_said_);
    theirs_.stays_open_ = true;
    theirs_.answer(made, framed("a") + framed("") + framed("c"), {});
    ASSERT_TRUE(carry());
    ASSERT_EQ(events_.size(), 3u);
    EXPECT_EQ(events_[2].message, "c");
    ours_.cancel(made);
    ASSERT_TRUE(carry());
    EXPECT_EQ(theirs_.resets_, 1);
    EXPECT_EQ(events_.size(), 3u) << "nothing more is heard of it";
}

TEST_F(grpc_sessions, a_stream_that_the_other_side_ends_is_over_for_both) {
    const auto made = ours_.begin("/etcdserverpb.Watch/Watch", {}, std::nullopt);
    ours_.say(made, "one", false);
    ASSERT_TRUE(carry());
    theirs_.answer(made, {}, {{"grpc-status", "14"}, {"grpc-message", "etcdserver: no leader"}});
    ASSERT_TRUE(carry());
    ASSERT_EQ(events_.size(), 1u);
    EXPECT_EQ(events_[0].end.code, ending::unavailable);
    EXPECT_EQ(theirs_.resets_, 1);
}

TEST_F(grpc_sessions, what_is_too_long_or_compressed_is_refused_by_name) {
    theirs_.stays_open_ = true;
    theirs_.answer(ask(), std::string{"\0\x04\0\0\x01", 5}, {});
    ASSERT_TRUE(carry());
    ASSERT_EQ(events_.size(), 1u);
    EXPECT_EQ(events_[0].end.code, ending::resource_exhausted);
    EXPECT_THAT(events_[0].end.text, HasSubstr("64 MiB"));
    theirs_.answer(ask(), std::string{"\1\0\0\0\x01x", 6}, {});
    ASSERT_TRUE(carry());
    ASSERT_EQ(events_.size(), 2u);
    EXPECT_THAT(events_[1].end.text, HasSubstr("compressed"));
    EXPECT_EQ(theirs_.resets_, 2);
}

TEST_F(grpc_sessions, pings_are_sent_and_answered) {
    ours_.ping();
    nghttp2_submit_ping(theirs_.session_, NGHTTP2_FLAG_NONE, nullptr);
    ASSERT_TRUE(carry());
    EXPECT_EQ(theirs_.pings_, 2) << "ours, and our answer to theirs";
}

TEST_F(grpc_sessions, answers_to_pings_do_not_hurry_and_go_behind_a_request) {
    ASSERT_TRUE(ours_.take_in(said_by_them(), events_));
    EXPECT_TRUE(ours_.hurries()) << "it has settings to confirm";
    ASSERT_TRUE(carry());
    EXPECT_FALSE(ours_.hurries());
    EXPECT_FALSE(ours_.answers_pings());

    nghttp2_submit_ping(theirs_.session_, NGHTTP2_FLAG_NONE, nullptr);
    ASSERT_TRUE(ours_.take_in(said_by_them(), events_));
    EXPECT_FALSE(ours_.hurries());
    EXPECT_TRUE(ours_.answers_pings());

    ours_.say(ours_.begin("/etcdserverpb.KV/Put", {}, 2s), "question", true);
    std::string out;
    ours_.take_out(out);
    const std::string answer = std::string("\0\0\x08\x06\x01\0\0\0\0", 9) + std::string(8, '\0');
    EXPECT_GT(out.size(), answer.size());
    EXPECT_TRUE(out.ends_with(answer));
    EXPECT_FALSE(ours_.hurries());
    EXPECT_FALSE(ours_.answers_pings());
}

TEST_F(grpc_sessions, a_ping_that_comes_with_more_is_answered_with_it) {
    ASSERT_TRUE(carry());
    nghttp2_submit_settings(theirs_.session_, NGHTTP2_FLAG_NONE, nullptr, 0);
    nghttp2_submit_ping(theirs_.session_, NGHTTP2_FLAG_NONE, nullptr);
    ASSERT_TRUE(ours_.take_in(said_by_them(), events_));
    EXPECT_TRUE(ours_.hurries());
    EXPECT_FALSE(ours_.answers_pings());
    ASSERT_TRUE(carry());
    EXPECT_EQ(theirs_.pings_, 1);
}

TEST_F(grpc_sessions, another_protocol_is_called_broken) {
    std::vector<grpc_session::event> none;
    EXPECT_FALSE(ours_.take_in("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n", none) &&
                 ours_.take_in("client sent an HTTP request to a server of another kind", none));
    EXPECT_TRUE(none.empty());
}

// Whole conversations with some bytes bent: whatever happens, nothing is read or written that is not ours, and it ends.
TEST_F(grpc_sessions, hostile_bytes_never_hurt) {
    std::mt19937 any{7};
    for (int round = 0; round < 3000; ++round) {
        grpc_session mine{"host", false};
        other_side peer;
        std::vector<grpc_session::event> heard;
        std::string out;
        const auto made = mine.begin("/m", {}, 1s);
        mine.say(made, "question", true);
        mine.take_out(out);
        nghttp2_session_mem_recv(peer.session_, reinterpret_cast<const std::uint8_t*>(out.data()), out.size());
        peer.answer(made, framed("answer"), {{"grpc-status", "0"}});
        std::string back;
        const std::uint8_t* bytes = nullptr;
        for (ssize_t n = 0; (n = nghttp2_session_mem_send(peer.session_, &bytes)) > 0;)
            back.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
        for (unsigned i = 0; i < 1 + any() % 4; ++i) back[any() % back.size()] = static_cast<char>(any());
        if (any() % 4 == 0) back.insert(any() % back.size(), std::string(any() % 40, static_cast<char>(any())));
        for (std::size_t at = 0; at < back.size(); at += 50) {
            const bool well = mine.take_in(std::string_view{back}.substr(at, 50), heard);
            out.clear();
            mine.take_out(out);
            if (!well) break;
        }
        ASSERT_LE(heard.size(), 10u);
    }
}

TEST(grpc_timeouts, fit_their_header) {
    EXPECT_EQ(grpc_timeout(1ns), "1m");
    EXPECT_EQ(grpc_timeout(2s), "2000m");
    EXPECT_EQ(grpc_timeout(1h), "3600000m");
    EXPECT_EQ(grpc_timeout(1000h), "3600000S");
}

}  // namespace
}  // namespace mortise::inline v0::stores::etcd
