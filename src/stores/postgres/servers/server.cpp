#include "stores/postgres/servers/server.hpp"

#include "support/data_directory.hpp"
#include "support/loopback.hpp"
#include "support/waiting.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mortise::inline v0::stores::postgres::servers {
namespace {

constexpr std::chrono::seconds plenty_of_time{60};

bool as_root() {
    return ::geteuid() == 0;
}

// Debian keeps the programs of each version apart, and out of the PATH.
std::string program(const std::string& name) {
    std::vector<std::pair<int, std::string>> found;
    std::error_code none;
    for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", none)) {
        const std::string path = version.path() / "bin" / name;
        if (::access(path.c_str(), X_OK) == 0) found.emplace_back(std::atoi(version.path().filename().c_str()), path);
    }
    return found.empty() ? name : std::max_element(found.begin(), found.end())->second;
}

std::vector<std::string> as_server_user(std::vector<std::string> command) {
    if (!as_root()) return command;
    std::vector<std::string> all{"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"};
    all.insert(all.end(), command.begin(), command.end());
    return all;
}

void run(const std::vector<std::string>& command, const std::string& log) {
    std::string line;
    for (const std::string& word : command) line += "'" + word + "' ";
    if (std::system((line + ">>'" + log + "' 2>&1 </dev/null").c_str()) == 0) return;
    std::ifstream said{log};
    throw std::runtime_error(line + ": " + std::string(std::istreambuf_iterator<char>{said}, {}));
}

}  // namespace

server::server(setup how) : setup_(std::move(how)) {
    initialise(setup_);
    testing::with_free_ports([&] {
        port_ = testing::free_port();
        std::vector<std::string> command{program("postgres"), "-D", directory(), "-p", std::to_string(port_), "-k", ""};
        // Memory that its processes share is in files of its directory: what it leaves in /dev/shm when it is killed stays there.
        std::vector<std::string> options{"listen_addresses=127.0.0.1",
                                         "shared_buffers=32MB",
                                         "max_connections=200",
                                         "wal_level=replica",
                                         "log_min_messages=warning",
                                         "autovacuum_naptime=5",
                                         "dynamic_shared_memory_type=mmap"};
        options.insert(options.end(), setup_.more.begin(), setup_.more.end());
        for (const std::string& option : options) {
            command.emplace_back("-c");
            command.push_back(option);
        }
        process_.reset();
        std::filesystem::remove(home_ / "log");
        process_ = std::make_unique<testing::server_process>(home_, as_server_user(command), home_ / "log");
        await_ready();
    });
}

// An immediate shutdown gives back its shared memory, of which a machine has a limited number of segments.
server::~server() {
    if (process_) process_->end(SIGQUIT);
}

void server::hand_over(const std::string& path) const {
    if (as_root()) {
        const passwd* const user = ::getpwnam("postgres");
        if (user == nullptr || ::chown(path.c_str(), user->pw_uid, user->pw_gid) != 0)
            throw std::runtime_error("cannot give " + path + " to the user postgres");
    }
    ::chmod(path.c_str(), std::filesystem::is_directory(path) ? 0700 : 0600);
}

void server::initialise(const setup& how) {
    const std::string log = home_ / "initdb.log";
    ::chmod(home_.directory().c_str(), 0711);
    if (how.replica_of != nullptr) {
        std::filesystem::create_directory(directory());
        hand_over(directory());
        const std::string from = "host=127.0.0.1 port=" + std::to_string(how.replica_of->port()) +
                                 " user=postgres password=secret sslmode=disable";
        return run(as_server_user({program("pg_basebackup"), "-D", directory(), "-d", from, "-R", "-X", "stream", "-c",
                                   "fast", "--no-sync"}),
                   log);
    }
    const std::string password = home_ / "password";
    std::ofstream{password} << "secret\n";
    hand_over(password);
    const std::vector<std::string> recipe{program("initdb"),
                                          "-U",
                                          "postgres",
                                          "--auth=scram-sha-256",
                                          "--no-sync",
                                          "-E",
                                          "UTF8",
                                          "--locale=C",
                                          "--no-instructions",
                                          "--wal-segsize=1"};
    std::string words;
    for (const std::string& word : recipe) words += word + " ";
    testing::fill_data_directory(directory(), words, [&] {
        std::filesystem::create_directory(directory());
        hand_over(directory());
        std::vector<std::string> command = recipe;
        command.insert(command.end(), {"-D", directory(), "--pwfile=" + password});
        run(as_server_user(command), log);
    });
    std::ofstream{directory() + "/pg_hba.conf"} << how.access << "host all all 127.0.0.1/32 scram-sha-256\n"
                                                << "host replication all 127.0.0.1/32 scram-sha-256\n";
}

void server::await_ready() {
    const auto ready = [&] {
        try {
            static_cast<void>(open_console());
            return true;
        } catch (const std::runtime_error&) {
            return false;  // it starts
        }
    };
    const bool came = testing::eventually([&] { return !running() || ready(); }, plenty_of_time);
    if (came && running()) return;
    const std::string said = process_->last_words();
    if (said.find("Address already in use") != std::string::npos) throw testing::port_taken(said);
    throw std::runtime_error(std::string("PostgreSQL ") + (came ? "has ended: " : "does not get ready: ") + said);
}

void server::stop() {
    ::kill(process_->pid(), SIGINT);  // fast shutdown
    if (!testing::eventually([&] { return !running(); }, plenty_of_time))
        throw std::runtime_error("PostgreSQL does not stop: " + process_->last_words());
}

// After a crash the memory of the old server is in use until the last of its processes has noticed.
void server::start() {
    const auto give_up = std::chrono::steady_clock::now() + plenty_of_time;
    while (true) {
        std::filesystem::remove(home_ / "log");
        process_->start();
        try {
            return await_ready();
        } catch (const std::runtime_error&) {
            if (std::chrono::steady_clock::now() > give_up) throw;
        }
    }
}

std::string server::url(const std::string& options, std::uint16_t port) const {
    return "postgres://postgres:secret@127.0.0.1:" + std::to_string(port) + "/postgres?" + options;
}

console server::open_console(const std::string& user, const std::string& password, const std::string& database) const {
    return console{"host=127.0.0.1 port=" + std::to_string(port_) + " user=" + user + " password=" + password +
                   " dbname=" + database};
}

}  // namespace mortise::inline v0::stores::postgres::servers
