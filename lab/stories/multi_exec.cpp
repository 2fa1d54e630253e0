// R2: a transaction has no if: EXPIRE runs also when SETNX lost.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::multi_exec {

bool try_lock(actor& me) {
    me.redis()({"MULTI"});
    me.redis()({"SETNX", "lock:ticket", me.name()});
    me.redis()({"EXPIRE", "lock:ticket", "10"});
    return me.redis()({"EXEC"})->starts_with("1");
}

void naive(actor& me) {
    while (!try_lock(me)) {
        me.refused();
        me.at("tries again later");
    }
    me.holds();
    me.at("inside");
    me.lets_go();
    me.redis()({"DEL", "lock:ticket"});
}

void mended(actor& me) {
    sell_under_our_mutex(me);
}

void play(director& stage) {
    player& a = stage.enter("A");
    player& b = stage.enter("B");
    a.run_to("inside");
    a.crash();
    for (int turn = 0; turn < 3; ++turn) {
        if (turn == 0 || stage.which() == form::naive) b.run_to({"tries again later", "inside"});
        stage.pass(9s);
    }
    b.await({"tries again later", "inside"});
    if (stage.which() == form::mended) b.run();
}

story told() {
    return {
        .name = "multi-exec",
        .row = "R2",
        .documents = "S4",
        .title = {"MULTI does not help", "MULTI 也不行"},
        .mistake = {"EXPIRE in a transaction also runs when SETNX has lost.",
                    "事务里没有 if：SETNX 没抢到锁，EXPIRE 也会执行。"},
        .told = {"A dies; every try of B prolongs A's key, so it never expires while anybody wants it.",
                 "A 已死；B 每次尝试都给 A 的键续期，只要有人想要，它就永不过期。"},
        .mend = {"A refused claim changes nothing.", "被拒绝的请求什么也不改变。"},
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::stuck},
    };
}

}  // namespace lab::multi_exec
