// C9, on a store that has consensus: the leader dies, and the hold is still there. Time passes by itself here.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stage/raw_etcd.hpp"
#include "lab/stage/servers.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::the_leader_dies {
namespace {

const std::string prefix = "/lock/ticket/";

// The oldest key below the prefix has the lock.
bool first(actor& me) {
    return etcdctl(me, "get --prefix --sort-by=CREATE --order=ASCEND --keys-only --limit=1 " + prefix) ==
           prefix + me.name();
}

}  // namespace

// As the document has it: a lease, a key of one's own with it, and who is first in order of revisions has the lock.
void naive(actor& me) {
    const std::string granted = etcdctl(me, "lease grant 600");  // "lease 694d77aa9e38260f granted with TTL(600s)"
    const std::string lease = granted.substr(6, granted.find(' ', 6) - 6);
    etcdctl(me, "put --lease=" + lease + " " + prefix + me.name() + " ''");
    while (!first(me)) me.at("waits");
    me.holds();
    me.at("inside");
    if (!first(me)) return me.at("has lost it");
    me.lets_go();
    etcdctl(me, "lease revoke " + lease);
}

void mended(actor& me) {
    mortise::mutex tickets{me.locks(), "ticket", {.lease = 60s}};
    tickets.lock();
    me.holds(tickets.hold());
    me.at("inside");
    if (!tickets.hold().valid()) return me.at("has lost it");
    me.lets_go();
    tickets.unlock();
}

void play(director& stage) {
    player& a = stage.enter("A");
    a.run_to("inside");
    stage.tell({"the leader is killed, and another is elected", "领导者被杀死，选出了新的领导者"});
    stage.servers().replace_leader();
    player& b = stage.enter("B");
    b.run_to({"inside", "waits"});
    if (a.run_to("has lost it")) stage.sees(mishap::gives_up);
    b.await("inside");
}

story told() {
    return {
        .name = "the-leader-dies",
        .row = "C9",
        .documents = "S0, S1",
        .title = {"The leader dies", "领导者宕机"},
        .mistake = {"None here: a grant is on a majority of the members before anybody hears of it.",
                    "这里没有错误：多数成员都存下之后才算加锁成功。"},
        .told = {"The leader dies with A's lock; the one that is elected has it too, and B waits until A lets go.",
                 "领导者宕机，新选出的领导者也有 A 的锁，B 一直等到 A 释放。"},
        .mend = {"Nothing to mend.", "不需要修正。"},
        .needs = needs::three_etcd,
        .stock = 0,
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {},
    };
}

}  // namespace lab::the_leader_dies
