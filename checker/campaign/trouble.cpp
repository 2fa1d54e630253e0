#include "checker/campaign/trouble.hpp"

#include "checker/campaign/judging.hpp"

#include <optional>
#include <thread>

#include <signal.h>

namespace mortise::checker {
namespace {

using testing::tcp_proxy;
using testing::way;
using network = std::vector<std::unique_ptr<tcp_proxy>>;

// Which one it struck, and what it saw there.
struct victim {
    std::size_t which = 0;
    bool struck = false;
    std::size_t seen = 0;
};

std::size_t traffic_of(tcp_proxy& one) {
    return one.bytes_seen(way::to_server) + one.bytes_seen(way::to_client);
}

// A fault of one proxy, for as long as it lasts. It bit if something was sent meanwhile.
trouble on_the_way(std::string name, network& all, const std::function<void(tcp_proxy&, std::minstd_rand&)>& begin,
                   const std::function<void(tcp_proxy&)>& end) {
    const auto at = std::make_shared<victim>();
    return {.name = std::move(name),
            .strike =
                [=, &all](std::minstd_rand& dice) {
                    at->which = dice() % all.size();
                    tcp_proxy& one = *all[at->which];
                    at->seen = traffic_of(one);
                    begin(one, dice);
                    return true;
                },
            .heal =
                [=, &all] {
                    tcp_proxy& one = *all[at->which];
                    const bool bit = traffic_of(one) > at->seen;
                    end(one);
                    return bit;
                }};
}

// What a stream lost cannot be made good: its connection ends.
trouble swallowed(std::string name, network& all, way which) {
    return on_the_way(
        std::move(name), all, [which](tcp_proxy& one, std::minstd_rand&) { one.swallow(which); },
        [which](tcp_proxy& one) {
            one.swallow(which, false);
            one.cut();
        });
}

trouble delayed(network& all) {
    return on_the_way(
        "network delayed", all,
        [](tcp_proxy& one, std::minstd_rand& dice) {
            one.delay(way::to_server, std::chrono::milliseconds{dice() % 400});
            one.delay(way::to_client, std::chrono::milliseconds{dice() % 400});
        },
        [](tcp_proxy& one) {
            one.delay(way::to_server, {});
            one.delay(way::to_client, {});
        });
}

trouble frozen(network& all) {
    const auto at = std::make_shared<victim>();
    return {.name = "network frozen",
            .strike =
                [=, &all](std::minstd_rand& dice) {
                    at->which = dice() % all.size();
                    all[at->which]->freeze();
                    return true;
                },
            .heal =
                [=, &all] {
                    const bool bit = all[at->which]->connections() > 0;
                    all[at->which]->thaw();
                    return bit;
                },
            .longest = 2.5};
}

// Now, or after some bytes: in the middle of a request or of a reply. It bit if a connection ended and was made anew.
trouble cut(std::string name, network& all, bool at_a_byte) {
    const auto at = std::make_shared<victim>();
    return {.name = std::move(name),
            .strike =
                [=, &all](std::minstd_rand& dice) {
                    at->which = dice() % all.size();
                    tcp_proxy& one = *all[at->which];
                    at->seen = one.connected();
                    if (at_a_byte)
                        one.cut_after(dice() % 2 == 0 ? way::to_server : way::to_client, dice() % 300);
                    else
                        one.cut();
                    return true;
                },
            .heal = [=, &all] { return all[at->which]->connected() > at->seen; },
            .longest = 1.0};
}

trouble killed(crew& workers) {
    const auto at = std::make_shared<victim>();
    return {.name = "process killed",
            .strike =
                [=, &workers](std::minstd_rand& dice) {
                    at->which = dice() % workers.size();
                    return at->struck = workers.kill(at->which);
                },
            .heal =
                [=, &workers] {
                    workers.replace(at->which);
                    return at->struck;
                },
            .longest = 0.2};
}

trouble stopped(crew& workers, const std::function<pid_t()>& amid) {
    const auto at = std::make_shared<victim>();
    return {.name = "process stopped",
            .strike =
                [=, &workers](std::minstd_rand& dice) {
                    std::optional<std::size_t> rather = workers.find(amid());
                    for (int tries = 0; !rather && tries < 50; ++tries) {
                        std::this_thread::sleep_for(std::chrono::milliseconds{1});
                        rather = workers.find(amid());
                    }
                    at->which = rather.value_or(dice() % workers.size());
                    return workers.stop(at->which);
                },
            .heal =
                [=, &workers] {
                    const bool stood = workers.stands(at->which);
                    workers.go_on(at->which);
                    return stood;
                },
            .longest = 2.5};
}

// Any of its threads: the one that works, or one of the client's own.
trouble thread_stopped(crew& workers) {
    const auto at = std::make_shared<victim>();
    return {.name = "thread stopped",
            .strike =
                [=, &workers](std::minstd_rand& dice) {
                    at->which = dice() % workers.size();
                    return workers.stop_thread(at->which, dice());
                },
            .heal = [&workers] { return workers.let_thread_go_on(); },
            .longest = 2.5};
}

trouble forks(crew& workers) {
    return {.name = std::string(fork_trouble),
            .strike =
                [&workers](std::minstd_rand& dice) {
                    workers.tell(dice() % workers.size(), SIGUSR1);
                    return true;
                },
            .heal = [] { return true; },  // counted by the workers
            .longest = 0.2};
}

// Its connections are cut. It bit if none was made anew until there were descriptors again.
trouble without_descriptors(crew& workers, network& all) {
    const auto at = std::make_shared<victim>();
    return {.name = "no descriptors left",
            .strike =
                [=, &workers, &all](std::minstd_rand& dice) {
                    at->which = dice() % workers.size();
                    at->struck = workers.limit_descriptors(at->which, true);
                    at->seen = all[at->which]->connected();
                    all[at->which]->cut();
                    return at->struck;
                },
            .heal =
                [=, &workers, &all] {
                    const bool none = all[at->which]->connected() == at->seen;
                    return workers.limit_descriptors(at->which, false) && at->struck && none;
                },
            .longest = 1.5};
}

}  // namespace

std::vector<trouble> troubles_of(crew& workers, const std::function<pid_t()>& amid) {
    std::vector<trouble> all{killed(workers), stopped(workers, amid), forks(workers)};
    if (workers.can_stop_threads()) all.push_back(thread_stopped(workers));
    return all;
}

std::vector<trouble> troubles_of(crew& workers, network& all) {
    return {without_descriptors(workers, all)};
}

std::vector<trouble> troubles_of(network& all) {
    return {cut("connections cut", all, false),
            cut("connection cut at a byte", all, true),
            swallowed("replies lost", all, way::to_client),
            swallowed("requests lost", all, way::to_server),
            delayed(all),
            frozen(all)};
}

std::vector<trouble> troubles_of(testing::movable_clock& clock) {
    return {{.name = "wall clock jumps",
             .strike =
                 [&clock](std::minstd_rand& dice) {
                     const int by = 11 + static_cast<int>(dice() % 277);
                     clock.set(std::chrono::seconds{dice() % 2 == 0 ? by : -by});
                     return true;
                 },
             .heal =
                 [&clock] {
                     clock.set(std::chrono::seconds{0});
                     return true;  // counted by the workers, who saw it or did not
                 },
             .longest = 1.0}};
}

std::vector<trouble> troubles_of(std::vector<spi::server_fault> faults) {
    std::vector<trouble> all;
    for (spi::server_fault& one : faults)
        all.push_back({.name = one.name,
                       .forgets = one.forgets,
                       .forgets_releases = one.forgets_releases,
                       .strike = [strike = std::move(one.strike)](std::minstd_rand&) { return strike(); },
                       .heal = std::move(one.heal)});
    return all;
}

}  // namespace mortise::checker
