// One lock comes free, and everybody who waits asks for it.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

#include <set>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace lab::a_herd_at_the_gate {

void naive(actor& me) {
    const auto take = [&] { return me.redis()({"SET", "lock:ticket", me.name(), "EX", "30", "NX"}) == "OK"; };
    if (!take()) {
        me.subscribe("unlocked");
        do {
            me.at("waits for the message");
            me.await_message();
        } while (!take());
    }
    me.holds();
    me.at("inside");
    me.lets_go();
    me.redis()({"DEL", "lock:ticket"});
    me.redis()({"PUBLISH", "unlocked", "lock:ticket"});  // to all who wait
}

void mended(actor& me) {
    sell_under_our_mutex(me);
}

void play(director& stage) {
    player& a = stage.enter("A");
    a.run_to("inside");
    std::vector<player*> waiting;
    for (const char* name : {"B", "C", "D", "E"}) {
        waiting.push_back(&stage.enter(name));
        waiting.back()->run_to({"inside", "waits for the message"});
    }
    a.run();
    const std::size_t freed = stage.so_far().size();
    waiting.front()->run_to("inside") || waiting.front()->await("inside");
    for (player* each : waiting)
        if (each != waiting.front()) each->run_to({"inside", "waits for the message"});
    std::set<std::string> asked;
    for (auto each = stage.so_far().begin() + static_cast<std::ptrdiff_t>(freed); each != stage.so_far().end(); ++each)
        if (each->kind == kind::command) asked.insert(each->actor);
    if (asked.size() > 1) stage.sees(mishap::herd);
}

story told() {
    return {
        .name = "a-herd-at-the-gate",
        .row = "X11",
        .documents = "–",
        .title = {"A herd at the gate", "惊群"},
        .mistake = {"The message that the lock is free goes to everybody who waits.",
                    "锁被释放的消息发给了所有等待者。"},
        .told = {"Four wait; one release makes four requests, of which three are for nothing. With a thousand it is a "
                 "thousand.",
                 "四个等待者：一次释放引来四次请求，三次白费；一千个就是一千次。"},
        .mend = {"The server keeps the line and tells the next one.", "服务器维护队列，只通知下一个。"},
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::herd},
    };
}

}  // namespace lab::a_herd_at_the_gate
