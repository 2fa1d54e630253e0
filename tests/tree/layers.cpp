#include "tree/layers.hpp"

#include <algorithm>
#include <iterator>

namespace tree {
namespace {

bool starts_folder(std::string_view path, std::string_view folder) {
    return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// The side of a store that only tests see.
bool of_a_fixture(std::string_view file) {
    if (!file.starts_with("src/stores/")) return false;
    return file.find("/fixture.") != file.npos || file.find("/servers/") != file.npos;
}

// The side of a store that `mortise bench` and tests see.
bool of_a_baseline(std::string_view file) {
    return file.starts_with("src/stores/") && file.find("/baseline/") != file.npos;
}

const layer* layer_of(std::string_view file) {
    if (file.ends_with("_test.cpp") || of_a_fixture(file)) file = "tests";
    if (of_a_baseline(file)) file = baseline_of_a_store;
    const layer* best = nullptr;
    for (const layer& each : layers()) {
        if (starts_folder(file, each.folder) && (!best || each.folder.size() > best->folder.size())) best = &each;
    }
    return best;
}

// "src/stores/redis" of "src/stores/redis/pool.hpp"; nothing outside the stores.
std::string_view store_of(std::string_view path) {
    constexpr std::string_view stores = "src/stores/";
    if (!path.starts_with(stores)) return {};
    return path.substr(0, path.find('/', stores.size()));
}

struct target {
    std::string_view layer;
    std::string path{};  // of a header of ours, from the root of the repository
};

target in_angles(std::string_view header) {
    if (header.starts_with("mortise/spi/")) return {spi};
    if (header.starts_with("mortise/asio/") || header == "mortise/asio.hpp") return {asio};
    if (header.starts_with("mortise/")) return {public_headers};
    if (header.find_first_of("./") == header.npos) return {standard};
    constexpr std::string_view posix[] = {"dlfcn.h",   "errno.h",   "fcntl.h", "netdb.h",  "poll.h",
                                          "pthread.h", "pty.h",     "sched.h", "signal.h", "spawn.h",
                                          "stdlib.h",  "termios.h", "time.h",  "unistd.h"};
    if (std::find(std::begin(posix), std::end(posix), header) != std::end(posix)) return {system_header};
    for (std::string_view folder : {"sys/", "linux/", "netinet/", "arpa/"}) {
        if (header.starts_with(folder)) return {system_header};
    }
    return {library};
}

// A bare name is a neighbour; the others start at src/, at the root or at tests/.
target in_quotes(std::string_view file, std::string_view header) {
    if (header.find('/') == header.npos) {
        const layer* own = layer_of(file);
        return {own->folder, std::string(file.substr(0, file.rfind('/') + 1)) + std::string(header)};
    }
    const std::string below_src = "src/" + std::string(header);
    if (const layer* found = layer_of(below_src)) return {found->folder, below_src};
    if (const layer* found = layer_of(header)) return {found->folder, std::string(header)};
    for (std::string_view folder : {"support", "tree", "conformance", "storms", "asio", "compare"}) {
        if (starts_folder(header, folder)) return {"tests", "tests/" + std::string(header)};
    }
    return {};
}

struct named {
    bool quoted = false;
    std::string_view header{};  // empty if the line names none
};

// Nothing if the line is no include.
std::optional<named> header_named(std::string_view line) {
    auto skip_blanks = [&line] { line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size())); };
    skip_blanks();
    if (!line.starts_with('#')) return std::nullopt;
    line.remove_prefix(1);
    skip_blanks();
    if (!line.starts_with("include")) return std::nullopt;
    line.remove_prefix(std::string_view{"include"}.size());
    skip_blanks();
    if (!line.starts_with('<') && !line.starts_with('"')) return named{};
    const bool quoted = line.starts_with('"');
    return named{quoted, line.substr(1, line.find(quoted ? '"' : '>', 1) - 1)};
}

}  // namespace

std::string included(std::string_view file, std::string_view line) {
    const auto read = header_named(line);
    if (!read || !read->quoted || read->header.empty() || !layer_of(file)) return {};
    return in_quotes(file, read->header).path;
}

std::optional<std::string> objection(std::string_view file, std::string_view line) {
    const auto read = header_named(line);
    if (!read) return std::nullopt;
    const auto [quoted, header] = *read;

    const layer* from = layer_of(file);
    if (!from) return "its folder is not in the table of layers (tests/tree/layers.hpp)";
    if (header.empty()) return "an include must name its header";
    if (header.find("..") != header.npos) return "an include names its header from the root, not through ..";

    const target to = quoted ? in_quotes(file, header) : in_angles(header);
    if (to.layer.empty()) return "\"" + std::string(header) + "\" lies in no folder of the table of layers";
    const std::string_view own_store = store_of(file);
    const std::string_view other_store = store_of(to.path);
    const bool its_servers = from->folder == "tests" && to.path.find("/servers/") != to.path.npos;
    if (!own_store.empty() && !other_store.empty() && own_store != other_store && other_store != shared_by_databases &&
        !its_servers) {
        return "one store may not include another";
    }
    if (to.layer == from->folder || to.layer == standard) return std::nullopt;
    if (std::find(from->may_include.begin(), from->may_include.end(), to.layer) != from->may_include.end()) {
        return std::nullopt;
    }
    return std::string(from->folder) + " may not include " + std::string(to.layer);
}

}  // namespace tree
