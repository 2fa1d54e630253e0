#include "stores/redis/lock_listing.hpp"

#include "base/listed_locks.hpp"
#include "base/words.hpp"
#include "stores/redis/names.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <mutex>
#include <utility>

namespace mortise::inline v0::stores::redis {
namespace {

using connections = std::vector<std::shared_ptr<connection>>;

std::uint64_t mark_of(const connections& all) {
    std::uint64_t mark = 0;
    for (const auto& one : all) mark = mark * 31 + std::hash<const void*>{}(one.get());
    return mark;
}

// "MARK MASTER CURSOR": of these masters, which one, and where its scan goes on.
struct place {
    std::uint64_t mark = 0;
    std::size_t master = 0;
    std::string cursor{"0"};

    static place read(std::string_view text) {
        place at;
        if (text.empty()) return at;
        base::words in{text};
        at.mark = in.number<std::uint64_t>();
        at.master = in.number<std::size_t>();
        at.cursor = in.rest();
        return at;
    }
    std::string text() const { return std::to_string(mark) + " " + std::to_string(master) + " " + cursor; }
};

// One page of a scan, and who holds each of its names: so that what else is asked over this connection waits for a thousand
// answers at most.
class page : public std::enable_shared_from_this<page> {
public:
    page(std::string prefix, place from, spi::reply<spi::listing> done)
        : prefix_(std::move(prefix)), at_(std::move(from)), done_(std::move(done)) {}

    void begin(const std::shared_ptr<router>& by) {
        by->when_known([self = shared_from_this(), by = by.get()](const reply& answer) {
            if (answer.failure()) return self->fail(answer);
            self->scan(by->masters());
        });
    }

private:
    void scan(const connections& masters) {
        if (at_.mark != 0 && at_.mark != mark_of(masters)) {
            some_.failed = errc::unreachable;
            some_.detail = "the masters of the cluster changed while their locks were listed; list them again";
        }
        at_.mark = mark_of(masters);
        if (some_.failed || at_.master >= masters.size()) return close_one();
        const bool last_master = at_.master + 1 == masters.size();
        const std::shared_ptr<connection>& server = masters[at_.master];
        std::string bytes;
        append(bytes, {"SCAN", at_.cursor, "MATCH", pattern_of(prefix_), "COUNT", "1000", "TYPE", "hash"});
        server->send(bytes, [self = shared_from_this(), server, last_master](const reply& answer) {
            if (answer.is != reply::kind::list || answer.items.size() != 2) return self->fail(answer);
            place& at = self->at_;
            at.cursor = answer.items[0].text;
            const bool whole = at.cursor == "0";
            if (whole) ++at.master;
            if (!whole || !last_master) self->some_.next = at.text();
            for (const reply& key : answer.items[1].items) self->show(server, key.text);
            self->close_one();
        });
    }
    void show(const std::shared_ptr<connection>& server, std::string_view key) {
        auto name = name_of(prefix_, key);
        if (!name) return;
        {
            std::scoped_lock guard{mutex_};
            ++open_;
        }
        run(server, show_call(key), [self = shared_from_this(), of = std::move(*name)](const reply& answer) {
            if (answer.is != reply::kind::list) return self->fail(answer);
            auto holds = read_shown(answer, of);
            {
                std::scoped_lock guard{self->mutex_};
                std::ranges::move(holds, std::back_inserter(self->some_.holds));
            }
            self->close_one();
        });
    }

    void fail(const reply& answer) {
        const error_reply why = read_error(answer);
        {
            std::scoped_lock guard{mutex_};
            some_.failed = why.code;
            some_.detail = why.advice();
        }
        close_one();
    }
    // One of the requests under way is done; the last one completes.
    void close_one() {
        {
            std::scoped_lock guard{mutex_};
            if (--open_ > 0) return;
        }
        if (some_.failed) some_.holds.clear();
        done_(std::move(some_));
    }

    const std::string prefix_;
    place at_;
    std::mutex mutex_;
    spi::listing some_;
    std::size_t open_ = 1;
    spi::reply<spi::listing> done_;
};

// Page after page. A scan may come to a name twice.
class whole_list : public std::enable_shared_from_this<whole_list> {
public:
    whole_list(std::string prefix, std::shared_ptr<router> servers, spi::reply<spi::listing> done)
        : prefix_(std::move(prefix)), servers_(std::move(servers)), done_(std::move(done)) {}

    void go_on() {
        list_some_locks(prefix_, servers_, all_.next, [self = shared_from_this()](spi::listing some) {
            if (some.failed) return self->done_(std::move(some));
            std::ranges::move(some.holds, std::back_inserter(self->all_.holds));
            self->all_.next = std::move(some.next);
            if (!self->all_.next.empty()) return self->go_on();
            base::sort_listed(self->all_.holds);
            self->done_(std::move(self->all_));
        });
    }

private:
    const std::string prefix_;
    const std::shared_ptr<router> servers_;
    spi::listing all_;
    spi::reply<spi::listing> done_;
};

}  // namespace

void list_some_locks(const std::string& prefix, const std::shared_ptr<router>& servers, std::string_view from,
                     spi::reply<spi::listing> done) {
    std::make_shared<page>(prefix, place::read(from), std::move(done))->begin(servers);
}

void list_locks(const std::string& prefix, const std::shared_ptr<router>& servers, spi::reply<spi::listing> done) {
    std::make_shared<whole_list>(prefix, servers, std::move(done))->go_on();
}

}  // namespace mortise::inline v0::stores::redis
