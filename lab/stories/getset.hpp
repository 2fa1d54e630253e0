// R7: the lock of which the value is the time when it expires, as S1 and S3 print it.
#pragma once

#include "lab/stage/actor.hpp"

#include <chrono>
#include <string>

namespace lab {

inline bool try_lock_by_getset(actor& me) {
    const auto expires = std::to_string((me.wall_clock() + std::chrono::seconds{10}).count());
    if (me.redis()({"SETNX", "lock:ticket", expires}) == "1") return true;
    me.at("between SETNX and GET");
    const auto current = me.redis()({"GET", "lock:ticket"});
    if (!current || std::stoll(*current) >= me.wall_clock().count()) return false;
    me.at("between GET and GETSET");
    return me.redis()({"GETSET", "lock:ticket", expires}) == current;
}

inline void sell_under_getset(actor& me) {
    if (!try_lock_by_getset(me)) return me.refused();
    me.holds();
    me.at("inside");
    me.sell();
    me.lets_go();
    me.redis()({"DEL", "lock:ticket"});
}

}  // namespace lab
