// The least that a lock on Redis can cost, beside GET_LOCK of MariaDB: four processes, one name, and how often it went from one to
// another in a second. None of these locks has leases, tokens, or claims that may be repeated; they bound what any lock can reach that
// hands over by scripts (docs/decisions/0024-what-a-hand-over-on-redis-costs.md).
//
//     least_lock REDIS-PORT MARIADB-SOCKET SECONDS ROUNDS
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <hiredis/hiredis.h>
#include <mysql.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

constexpr int processes = 4;

struct board {
    std::atomic<int> last{-1};
    std::atomic<long> switches{0};
    std::atomic<bool> over{false};

    void inside(int me) {
        if (last.exchange(me) != me) ++switches;
    }
};

class redis {
public:
    using reply = std::unique_ptr<redisReply, void (*)(void*)>;

    explicit redis(int port) : at_(redisConnect("127.0.0.1", port), redisFree) {
        if (!at_ || at_->err != 0) throw std::runtime_error("no Redis answers");
    }
    void send(const std::vector<std::string>& words) {
        std::vector<const char*> text;
        std::vector<std::size_t> size;
        for (const std::string& word : words) text.push_back(word.data()), size.push_back(word.size());
        redisAppendCommandArgv(at_.get(), static_cast<int>(words.size()), text.data(), size.data());
    }
    reply hear() {
        void* said = nullptr;
        if (redisGetReply(at_.get(), &said) != REDIS_OK) throw std::runtime_error(at_->errstr);
        return {static_cast<redisReply*>(said), freeReplyObject};
    }
    reply ask(const std::vector<std::string>& words) {
        send(words);
        return hear();
    }
    std::string load(const char* script) { return ask({"SCRIPT", "LOAD", script})->str; }

private:
    const std::unique_ptr<redisContext, void (*)(redisContext*)> at_;
};

constexpr const char* claim = R"(
if redis.call('SETNX', KEYS[1], ARGV[1]) == 1 then return 1 end
redis.call('RPUSH', KEYS[2], ARGV[1]) return 0)";
constexpr const char* release = R"(
local next = redis.call('LPOP', KEYS[2])
if next then redis.call('SET', KEYS[1], next) redis.call('PUBLISH', 'c' .. next, '1') else redis.call('DEL', KEYS[1]) end)";
constexpr const char* release_and_claim = R"(
local next = redis.call('LPOP', KEYS[2])
if not next then return 1 end
redis.call('SET', KEYS[1], next) redis.call('RPUSH', KEYS[2], ARGV[1]) redis.call('PUBLISH', 'c' .. next, '1') return 0)";
constexpr const char* claim_to_list = R"(
if redis.call('SETNX', KEYS[1], ARGV[1]) == 1 then redis.call('RPUSH', 'g' .. ARGV[1], 1) else redis.call('RPUSH', KEYS[2], ARGV[1]) end)";
constexpr const char* release_to_list = R"(
local next = redis.call('LPOP', KEYS[2])
if next then redis.call('SET', KEYS[1], next) redis.call('RPUSH', 'g' .. next, 1) else redis.call('DEL', KEYS[1]) end)";

void two_scripts(board& all, int me, int port) {
    redis asks{port};
    redis hears{port};
    hears.ask({"SUBSCRIBE", "c" + std::to_string(me)});
    const std::string claims = asks.load(claim);
    const std::string releases = asks.load(release);
    while (!all.over) {
        if (asks.ask({"EVALSHA", claims, "2", "lock", "line", std::to_string(me)})->integer == 0) hears.hear();
        all.inside(me);
        asks.ask({"EVALSHA", releases, "2", "lock", "line"});
    }
}

// Its unlock would have to know of the next lock.
void one_script(board& all, int me, int port) {
    redis asks{port};
    redis hears{port};
    hears.ask({"SUBSCRIBE", "c" + std::to_string(me)});
    const std::string both = asks.load(release_and_claim);
    bool mine = asks.ask({"EVALSHA", asks.load(claim), "2", "lock", "line", std::to_string(me)})->integer == 1;
    while (!all.over) {
        if (!mine) hears.hear();
        all.inside(me);
        mine = asks.ask({"EVALSHA", both, "2", "lock", "line", std::to_string(me)})->integer == 1;
    }
}

// The grant is the answer to BLPOP, which is sent with the claim.
void blocking_command(board& all, int me, int port) {
    redis asks{port};
    const std::string claims = asks.load(claim_to_list);
    const std::string releases = asks.load(release_to_list);
    while (!all.over) {
        asks.send({"EVALSHA", claims, "2", "lock", "line", std::to_string(me)});
        asks.send({"BLPOP", "g" + std::to_string(me), "0"});
        asks.hear();
        asks.hear();
        all.inside(me);
        asks.ask({"EVALSHA", releases, "2", "lock", "line"});
    }
}

void get_lock(board& all, int me, const char* socket) {
    const std::unique_ptr<MYSQL, void (*)(MYSQL*)> at{mysql_init(nullptr), mysql_close};
    if (mysql_real_connect(at.get(), nullptr, "root", "", nullptr, 0, socket, 0) == nullptr)
        throw std::runtime_error(mysql_error(at.get()));
    const auto ask = [&](const char* statement) {
        mysql_query(at.get(), statement);
        mysql_free_result(mysql_store_result(at.get()));
    };
    while (!all.over) {
        ask("SELECT GET_LOCK('least', 10)");
        all.inside(me);
        ask("SELECT RELEASE_LOCK('least')");
    }
}

double switches_a_second(const std::function<void(board&, int)>& contend, std::chrono::duration<double> time) {
    void* const shared = ::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    board& all = *new (shared) board;
    std::vector<pid_t> children;
    for (int me = 0; me < processes; ++me) {
        const pid_t child = ::fork();
        if (child == 0) {
            try {
                contend(all, me);
            } catch (const std::exception& e) {
                std::fprintf(stderr, "%s\n", e.what());
            }
            ::_exit(0);
        }
        children.push_back(child);
    }
    std::this_thread::sleep_for(200ms);  // until all have connected
    const long before = all.switches;
    std::this_thread::sleep_for(time);
    const long after = all.switches;
    for (const pid_t child : children) {
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    }
    ::munmap(shared, sizeof(board));
    return static_cast<double>(after - before) / time.count();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) return std::fputs("least_lock REDIS-PORT MARIADB-SOCKET SECONDS ROUNDS\n", stderr), 2;
    const int port = std::atoi(argv[1]);
    const std::chrono::duration<double> time{std::atof(argv[3])};
    const std::map<const char*, std::function<void(board&, int)>> contenders{
        {"Redis, two scripts and a push", [&](board& all, int me) { two_scripts(all, me, port); }},
        {"Redis, release and next claim in one script", [&](board& all, int me) { one_script(all, me, port); }},
        {"Redis, the grant by a blocking command", [&](board& all, int me) { blocking_command(all, me, port); }},
        {"MariaDB, GET_LOCK", [&](board& all, int me) { get_lock(all, me, argv[2]); }}};
    for (int round = 0; round < std::atoi(argv[4]); ++round) {
        for (const auto& [name, contend] : contenders) {
            redis{port}.ask({"FLUSHALL"});
            std::printf("  %-48s %8.0f\n", name, switches_a_second(contend, time));
            std::fflush(stdout);
        }
    }
}
