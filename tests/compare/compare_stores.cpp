// compare_stores MORTISE PAGE: starts a server of each kind, lets `mortise bench --compare` measure them on loopback and with
// 0.5 ms added to each trip, and writes the tables into the page and a chart beside it. `make compare` runs it.
#include "compare/compared_stores.hpp"
#include "compare/database_claims.hpp"
#include "compare/page.hpp"

#include <mortise/client.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace mortise::compare {
namespace {

using namespace std::chrono_literals;

std::string output_of(const std::string& command) {
    FILE* const pipe = ::popen(command.c_str(), "re");
    if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
    std::string text;
    std::array<char, 4096> room{};
    while (const std::size_t got = std::fread(room.data(), 1, room.size(), pipe)) text.append(room.data(), got);
    if (::pclose(pipe) != 0) std::cerr << "some figures are missing\n" << std::flush;
    return text;
}

struct measurement {
    std::vector<titled> rows{};
    figures taken{};

    std::string table() const { return table_of(rows, taken); }
};

measurement measure(const std::string& mortise, const std::vector<compared_stores::store>& stores,
                    const std::string& options) {
    std::string command = mortise + " bench --json " + options + " --compare";
    measurement made;
    for (const compared_stores::store& each : stores) {
        command += " '" + each.url + "'";
        made.rows.push_back({each.title, client{each.url}.store()});
    }
    made.taken = figures_in(output_of(command));
    return made;
}

void write(const std::string& file, const std::string& text) {
    std::ofstream out{file};
    out << text;
    if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

// A reader should know whether others used the machine.
std::string circumstances() {
    std::array<double, 3> load{};
    if (::getloadavg(load.data(), 3) != 3) return {};
    std::array<char, 160> text{};
    std::snprintf(text.data(), text.size(),
                  "\n%u processors; load average %.0f over the last five minutes (this alone makes about 2).\n",
                  std::thread::hardware_concurrency(), load[1]);
    return text.data();
}

void run(const std::string& mortise, const std::string& page, const std::string& options) {
    std::ifstream in{page};
    const std::string before{std::istreambuf_iterator<char>{in}, {}};
    static_cast<void>(with_results(before, ""));  // now rather than in five minutes

    std::cout << "starting the servers" << std::endl;
    compared_stores all;
    std::cout << "measuring on loopback" << std::endl;
    const measurement near = measure(mortise, all.all(), options);
    std::cout << "measuring with 0.5 ms a trip" << std::endl;
    const measurement far = measure(mortise, all.all(500us), options);
    std::cout << "measuring Redlock with 20 ms a trip" << std::endl;
    const measurement farther = measure(mortise, all.one_and_five(20ms), options);
    std::cout << "measuring what is said of databases" << std::endl;
    const std::string results = circumstances() + "\n### With 0.5 ms added to each trip\n\n" + far.table() +
                                "\n### On loopback\n\n" + near.table() +
                                "\n### Redlock with 20 ms added to each trip\n\n" + farther.table() +
                                "\n### Versions under conflict, on MariaDB\n\n" + table_of(conflicts(all, 1500ms)) +
                                "\n### Connections, on MariaDB\n\n" + table_of(connections(all)) + "\n";
    std::cout << results;
    write(page, with_results(before, results));
    write(page.substr(0, page.rfind('.')) + ".svg", chart_of("With 0.5 ms a trip", far.rows, far.taken));
}

}  // namespace
}  // namespace mortise::compare

int main(int count, char** words) {
    if (count < 3 || count > 4) {
        std::cerr << "usage: compare_stores MORTISE PAGE [OPTION OF BENCH]\n";
        return 64;
    }
    ::setenv("MORTISE_SERVERS_WRITE_TO", "/var/tmp", 0);  // their files belong on a disk here
    try {
        mortise::compare::run(words[1], words[2], count == 4 ? words[3] : "");
    } catch (const std::exception& e) {
        std::cerr << "compare_stores: " << e.what() << "\n";
        return 1;
    }
    return 0;
}
