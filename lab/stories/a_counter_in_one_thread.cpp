// S4's Python, as printed: threading.local() is filled in the thread that imports the module only.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace lab::a_counter_in_one_thread {

thread_local std::map<std::string, int>* locks = nullptr;

void sell_from_this_thread(actor& me) {
    if (locks == nullptr) throw std::runtime_error("'_thread._local' object has no attribute 'redis'");
    if (me.redis()({"SET", "lock:ticket", "True", "NX", "EX", "5"}) != "OK") return me.refused();
    (*locks)["lock:ticket"] = 1;
    me.holds();
    me.sell();
    me.lets_go();
    me.redis()({"DEL", "lock:ticket"});
}

void naive(actor& me) {
    std::map<std::string, int> of_the_main_thread;
    locks = &of_the_main_thread;  // locks.redis = {}
    sell_from_this_thread(me);
    std::exception_ptr thrown;
    std::thread([&] {
        try {
            sell_from_this_thread(me);
        } catch (...) {
            thrown = std::current_exception();
        }
    }).join();
    if (thrown) std::rethrow_exception(thrown);
}

void mended(actor& me) {
    sell_under_our_mutex(me);
    std::thread([&] { sell_under_our_mutex(me); }).join();
}

void play(director& stage) {
    stage.enter("A").run();
    if (std::ranges::count(stage.so_far(), kind::sold, &event::kind) < 2) stage.sees(mishap::gives_up);
}

story told() {
    return {
        .name = "a-counter-in-one-thread",
        .row = "R8",
        .documents = "S4",
        .title = {"A counter in one thread", "只在一个线程里的计数器"},
        .mistake = {"The thread-local counter is made once, in the thread that imports the module.",
                    "线程本地的计数器只在导入模块的线程里创建。"},
        .told = {"The main thread sells; every other thread fails before it asks for the lock.",
                 "主线程能卖票；其他线程还没加锁就出错了。"},
        .mend = {"A lock is made for any thread.", "锁可以在任何线程里使用。"},
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .throws = true,
        .ends_in = {mishap::gives_up},
    };
}

}  // namespace lab::a_counter_in_one_thread
