#include "stores/mysql/servers/server.hpp"

#include "support/data_directory.hpp"
#include "support/loopback.hpp"
#include "support/waiting.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <unistd.h>

namespace mortise::inline v0::stores::mysql::servers {
namespace {

constexpr std::chrono::seconds plenty_of_time{60};
constexpr const char* usual_place = "/usr/sbin/mariadbd";  // which is not in everybody's PATH

// The server refuses to run as root unless it is told to.
std::string who_we_are() {
    return ::geteuid() == 0 ? " --user=root" : "";
}

std::string text_of(const std::string& file) {
    std::ifstream in{file};
    return {std::istreambuf_iterator<char>{in}, {}};
}

}  // namespace

server::server(std::vector<std::string> more, std::vector<std::string> run_by)
    : more_(std::move(more)), run_by_(std::move(run_by)) {
    install();
    testing::with_free_ports([&] {
        process_.reset();
        port_ = testing::free_port();
        process_ = std::make_unique<testing::server_process>(home_, arguments(), home_ / "log");
        await_ready();
    });
    run("CREATE USER mortise@'127.0.0.1' IDENTIFIED BY 'secret';"
        "GRANT ALL ON `t%`.* TO mortise@'127.0.0.1'");
}

server::~server() = default;

void server::install() {
    const std::string recipe = "mariadb-install-db --no-defaults" + who_we_are() +
                               " --auth-root-authentication-method=normal --skip-test-db --skip-name-resolve"
                               " --innodb-log-file-size=8M --innodb-buffer-pool-size=8M";
    testing::fill_data_directory(home_ / "data", recipe, [&] {
        const std::string command = recipe + " --datadir=" + (home_ / "data") + " --tmpdir=" + home_.directory() +
                                    " >" + (home_ / "install.log") + " 2>&1";
        if (std::system(command.c_str()) != 0)
            throw std::runtime_error("mariadb-install-db failed: " + text_of(home_ / "install.log"));
    });
}

// Small, and without waiting for disks: what is committed outlives the process, and no test lets the machine crash. A server that
// starts removes the temporary tables that it finds, also another's: so each has its own place for them.
std::vector<std::string> server::arguments() const {
    std::vector<std::string> all{::access(usual_place, X_OK) == 0 ? usual_place : "mariadbd",
                                 "--no-defaults",
                                 "--datadir=" + (home_ / "data"),
                                 "--port=" + std::to_string(port_),
                                 "--bind-address=127.0.0.1",
                                 "--socket=" + (home_ / "socket"),
                                 "--pid-file=" + (home_ / "pid"),
                                 "--tmpdir=" + home_.directory(),
                                 "--skip-name-resolve",
                                 "--innodb-buffer-pool-size=16M",
                                 "--innodb-log-file-size=8M",
                                 "--innodb-flush-method=nosync",
                                 "--performance-schema=off",
                                 "--max-connections=500",
                                 "--thread-stack=192K"};
    if (::geteuid() == 0) all.emplace_back("--user=root");
    all.insert(all.begin(), run_by_.begin(), run_by_.end());
    all.insert(all.end(), more_.begin(), more_.end());
    return all;
}

void server::await_ready() {
    const auto answers = [&] {
        try {
            return run("SELECT 1") == "1";
        } catch (const std::runtime_error&) {
            return false;
        }
    };
    const bool came = testing::eventually([&] { return !running() || answers(); }, plenty_of_time);
    if (came && running()) return;
    const std::string said = process_->last_words();
    if (said.find("Address already in use") != std::string::npos) throw testing::port_taken(said);
    throw std::runtime_error((came ? "mariadbd has ended: " : "mariadbd does not get ready: ") + said);
}

std::string server::run(const std::string& statements, const std::string& database) const {
    const std::string file = home_ / ("statements." + std::to_string(::getpid()));
    std::ofstream{file} << statements;
    const std::string line =
        "timeout 30 mariadb --no-defaults --batch --skip-column-names --user=root --socket=" + (home_ / "socket") +
        " " + database + " <" + file + " 2>&1";
    FILE* const pipe = ::popen(line.c_str(), "re");
    if (pipe == nullptr) throw std::runtime_error("cannot run mariadb");
    std::string said;
    std::array<char, 4096> room{};
    while (const std::size_t got = std::fread(room.data(), 1, room.size(), pipe)) said.append(room.data(), got);
    if (::pclose(pipe) != 0) throw std::runtime_error(statements + ": " + said);
    if (said.ends_with('\n')) said.pop_back();
    return said;
}

std::string server::url_of(const std::string& database, const std::string& user) const {
    return "mysql://" + user + "@" + address() + "/" + database;
}

std::string server::fresh_url() {
    const std::string name = "t" + std::to_string(++databases_);
    run("CREATE DATABASE " + name);
    return url_of(name);
}

void server::stop() {
    run("SHUTDOWN");
    if (!testing::eventually([&] { return !running(); }, plenty_of_time))
        throw std::runtime_error("mariadbd does not shut down");
}

void server::restart() {
    std::filesystem::remove(home_ / "log");  // an old complaint is not a new one
    process_->start();
    await_ready();
}

}  // namespace mortise::inline v0::stores::mysql::servers
