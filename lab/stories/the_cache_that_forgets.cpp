// S0's getCache, as printed: no lock, a hit asks again, and what was rebuilt is deleted.
#include "examples/patterns/redis_storage.hpp"
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

#include <mortise/patterns/single_flight.hpp>

#include <optional>
#include <string>

using namespace std::chrono_literals;

namespace lab::the_cache_that_forgets {

std::optional<std::string> get_cache(actor& me, const std::string& key) {
    auto value = me.redis()({"GET", key});
    if (!value) {
        me.at("a miss");
        me.worked({"asks the database", "查询数据库"});
        value = "poizon";
        me.redis()({"SET", key, *value, "EX", "60", "XX"});  // setIfPresent
        me.redis()({"DEL", key});
    } else {
        me.at("a hit: sleeps and asks again");
        get_cache(me, key);
    }
    return value;
}

void naive(actor& me) {
    if (me.name() == "C") me.redis()({"SET", "page", "poizon"});  // somebody else has filled it
    get_cache(me, "page");
    me.note({"has the page", "拿到了页面"});
}

void mended(actor& me) {
    if (me.name() == "C") me.locks();
    redis_storage cache{me.where().redis[0].host, me.where().redis[0].port, "page:"};
    mortise::single_flight pages{me.locks(), cache, "pages"};
    pages.get("page", [&]() -> std::optional<std::string> {
        me.at("a miss");
        me.worked({"asks the database", "查询数据库"});
        return "poizon";
    });
    me.note({"has the page", "拿到了页面"});
}

void play(director& stage) {
    player& a = stage.enter("A");
    player& b = stage.enter("B");
    a.run_to("a miss");
    b.run_to("a miss");
    a.run();
    b.await({});
    player& c = stage.enter("C");
    int hits = 0;
    while (hits < 3 && c.run_to("a hit: sleeps and asks again")) ++hits;
    if (hits == 3) stage.sees(mishap::hangs);
}

story told() {
    return {
        .name = "the-cache-that-forgets",
        .row = "X10",
        .documents = "S0",
        .title = {"The cache that forgets", "健忘的缓存"},
        .mistake = {"It takes no lock, a hit sleeps and asks again, and the rebuilt value is deleted.",
                    "没有加锁；命中时睡眠后递归；重建的值又被删除。"},
        .told = {"Every miss asks the database; a hit never returns.", "每次未命中都查询数据库；命中则永远不返回。"},
        .mend = {"single_flight: one rebuilds, the others wait and read what it stored.",
                 "single_flight：一个重建，其他人等待并读取结果。"},
        .own_server_because = "its cache is an example's, which speaks to database 0 and without a password",
        .keys = {"page"},
        .stock = 0,
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::repeated, mishap::hangs},
    };
}

}  // namespace lab::the_cache_that_forgets
