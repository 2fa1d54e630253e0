#include "stores/redis/lock_listing.hpp"

#include "stores/redis/names.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

namespace mortise::inline v0::stores::redis {
namespace {

class lock_listing : public std::enable_shared_from_this<lock_listing> {
public:
    lock_listing(std::string prefix, spi::reply<spi::listing> done)
        : prefix_(std::move(prefix)), done_(std::move(done)) {}

    void begin(const std::shared_ptr<router>& servers) {
        servers->when_known([self = shared_from_this(), servers = servers.get()](const reply& answer) {
            if (answer.failure()) return self->fail(answer);
            const auto masters = servers->masters();
            self->open_ += masters.size();
            for (const auto& one : masters) self->scan(one, "0");
            self->close_one();
        });
    }

private:
    void scan(const std::shared_ptr<connection>& server, std::string_view cursor) {
        std::string bytes;
        append(bytes, {"SCAN", cursor, "MATCH", pattern_of(prefix_), "COUNT", "1000", "TYPE", "hash"});
        server->send(bytes, [self = shared_from_this(), server](const reply& answer) {
            if (answer.is != reply::kind::list || answer.items.size() != 2) return self->fail(answer);
            for (const reply& key : answer.items[1].items) self->show(server, key.text);
            if (answer.items[0].text == "0") return self->close_one();
            self->scan(server, answer.items[0].text);
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
                std::move(holds.begin(), holds.end(), std::back_inserter(self->all_.holds));
            }
            self->close_one();
        });
    }

    void fail(const reply& answer) {
        const error_reply why = read_error(answer);
        {
            std::scoped_lock guard{mutex_};
            all_.failed = why.code;
            all_.detail = why.advice();
        }
        close_one();
    }
    // One of the requests under way is done; the last one completes.
    void close_one() {
        spi::reply<spi::listing> done;
        {
            std::scoped_lock guard{mutex_};
            if (--open_ > 0) return;
            done = std::move(done_);
        }
        std::stable_sort(all_.holds.begin(), all_.holds.end(),
                         [](const auto& a, const auto& b) { return a.name < b.name; });
        if (all_.failed) all_.holds.clear();
        done(std::move(all_));
    }

    const std::string prefix_;
    std::mutex mutex_;
    spi::listing all_;
    std::size_t open_ = 1;
    spi::reply<spi::listing> done_;
};

}  // namespace

void list_locks(const std::string& prefix, const std::shared_ptr<router>& servers, spi::reply<spi::listing> done) {
    std::make_shared<lock_listing>(prefix, std::move(done))->begin(servers);
}

}  // namespace mortise::inline v0::stores::redis
