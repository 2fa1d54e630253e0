#include "lab/outputs.hpp"

#include "tools/mortise/failure.hpp"
#include "tools/mortise/text.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include <unistd.h>

namespace lab {
namespace {

[[noreturn]] void cannot_write(const std::string& path, const std::string& why) {
    throw command::failure(command::exit_code::output, "cannot write " + command::in_quotes(path) + ": " + why);
}

void check_access(const std::string& what, int wanted, const std::string& for_path) {
    if (::access(what.c_str(), wanted) != 0) cannot_write(for_path, std::strerror(errno));
}

void check_file(const std::string& path) {
    std::error_code unknown;
    if (std::filesystem::exists(path, unknown)) return check_access(path, W_OK, path);
    const std::string parent = std::filesystem::path(path).parent_path();
    check_access(parent.empty() ? "." : parent, W_OK | X_OK, path);
}

void make_directory(const std::string& path) {
    std::error_code failed;
    std::filesystem::create_directories(path, failed);
    if (failed) cannot_write(path, failed.message());
    check_access(path, W_OK | X_OK, path);
}

}  // namespace

output_place::output_place(std::string_view option, std::string where, std::size_t stories) : where_(std::move(where)) {
    if (where_.empty()) command::refuse(std::string(option) + " needs a file, or a directory");
    std::error_code unknown;
    directory_ = where_.ends_with('/') || std::filesystem::is_directory(where_, unknown);
    if (!directory_ && stories > 1)
        command::refuse(std::string(option) + ": several stories need a directory; say " +
                        command::in_quotes(where_ + "/"));
    directory_ ? make_directory(where_) : check_file(where_);
}

std::string output_place::file_of(const std::string& name, const std::string& suffix, const std::string& ending) const {
    const std::filesystem::path here{where_};
    if (directory_) return here / (name + suffix + ending);
    if (suffix.empty()) return where_;
    return here.parent_path() / (here.stem().string() + suffix + here.extension().string());
}

void output_place::write(const std::string& name, const std::string& suffix, const std::string& ending,
                         const std::string& bytes) const {
    const std::string path = file_of(name, suffix, ending);
    errno = 0;
    std::ofstream out{path, std::ios::binary | std::ios::trunc};
    out << bytes;
    if (!out.flush()) cannot_write(path, errno == 0 ? "unknown error" : std::strerror(errno));
}

}  // namespace lab
