#include "lab/draw/points.hpp"

#include <map>

namespace lab {

text point_named(const std::string& name) {
    static const std::map<std::string, std::string> chinese{
        {"a hit: sleeps and asks again", "命中：睡眠后再查"},
        {"a miss", "未命中"},
        {"a third of the lease is over", "租期过了三分之一"},
        {"all wait", "全都在等待"},
        {"at work", "正在工作"},
        {"before the DELETE", "在 DELETE 之前"},
        {"before the release", "在释放之前"},
        {"begins", "开始"},
        {"between GET and DEL", "在 GET 和 DEL 之间"},
        {"between GET and GETSET", "在 GET 和 GETSET 之间"},
        {"between SETNX and EXPIRE", "在 SETNX 和 EXPIRE 之间"},
        {"between SETNX and GET", "在 SETNX 和 GET 之间"},
        {"has lost it", "已经失去锁"},
        {"inside", "在锁内"},
        {"inside twice", "第二次进入锁内"},
        {"method A goes on", "方法 A 继续执行"},
        {"method B tries again", "方法 B 重试"},
        {"no connection", "没有连接"},
        {"rolled back", "已回滚"},
        {"row looked for", "已查找行"},
        {"sleeps until its next turn", "睡眠，等下一次执行"},
        {"stock read", "已读库存"},
        {"tries again later", "稍后重试"},
        {"version read", "已读版本号"},
        {"waits", "等待"},
        {"waits for itself", "自己等自己"},
        {"waits for the message", "等待消息"},
    };
    const auto found = chinese.find(name);
    return found == chinese.end() ? text{name} : text{name, found->second};
}

}  // namespace lab
