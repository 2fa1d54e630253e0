// A resource that compares tokens on writes only takes a late write between the new holder's read and write.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/schedules.hpp"
#include "lab/story.hpp"

#include <mortise/fenced.hpp>

#include <string>

using namespace std::chrono_literals;

namespace lab::fencing_of_writes_only {

// The token is the holder's; the stock remembers the largest that has written.
void sell_fenced_on_write(actor& me, mortise::token mine) {
    const auto left = me.redis()({"HGET", "fenced ticket", "left"});
    me.at("stock read");
    me.redis()({"EVAL",
                "-- write\n if (redis.call('HGET', KEYS[1], 'fence') or '') > ARGV[1] then return 0 end "
                "redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'left', ARGV[2]) return 1",
                "1", "fenced ticket", mortise::fenced::padded(mine), std::to_string(std::stoi(*left) - 1)}) == "1"
        ? me.sold()
        : me.note({"the stock rejects an old token", "库存拒绝了旧令牌"});
}

void naive(actor& me) {
    mortise::mutex tickets{me.locks(), "ticket", {.lease = 10s}};
    tickets.lock();
    me.holds(tickets.hold());
    sell_fenced_on_write(me, tickets.hold().token());
    me.lets_go();
    tickets.unlock();
}

void mended(actor& me) {
    sell_fenced(me);
}

void play(director& stage) {
    player& a = stage.enter("A");
    player& b = stage.enter("B");
    a.run_to("stock read");
    a.stop();
    stage.pass(11s);
    b.run_to("stock read");
    a.resume();
    a.run();
    b.run();
}

story told() {
    return {
        .name = "fencing-of-writes-only",
        .row = "X12",
        .documents = "–",
        .title = {"Fencing of writes only", "只在写入时检查令牌"},
        .mistake = {"The stock compares tokens when it is written, not when it is read.",
                    "库存只在写入时比较令牌，读取时不比较。"},
        .told = {"B has read and not yet written; A's late write, with the older token, is taken, and then B "
                 "overwrites it unseen.",
                 "B 已读未写；A 带着旧令牌的迟到写入被接受，随后 B 在不知情中覆盖了它。"},
        .mend = {"Seal, read, write: the new holder raises the token before it reads.",
                 "先封印，再读，再写：新持有者读之前先抬高令牌。"},
        .keys = {"fenced ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::lost_update},
    };
}

}  // namespace lab::fencing_of_writes_only
