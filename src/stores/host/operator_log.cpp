#include "stores/host/operator_log.hpp"

#include "base/descriptors.hpp"
#include "stores/host/store_directory.hpp"

#include <ctime>
#include <exception>
#include <string>

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace mortise::inline v0::stores::host {
namespace {

constexpr off_t longest_record = 1 << 20;

std::string time_of_day() {
    const std::time_t now = std::time(nullptr);
    std::tm split{};
    ::gmtime_r(&now, &split);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &split)};
}

}  // namespace

void log_operation(const store_directory& where, std::string_view line) noexcept {
    try {
        const base::standard_descriptors_taken out_of_the_way;
        const int directory = where.open_directory();
        const int file =
            ::openat(directory, "record", O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                     where.file_mode(directory));
        struct stat is {};
        if (file >= 0 && ::fstat(file, &is) == 0 && S_ISREG(is.st_mode)) {
            ::fchmod(file, where.file_mode(directory));  // whatever the umask is; fails for those who did not make it
            const std::string text = time_of_day() + ' ' + std::string(line) + '\n';
            rlimit most{};  // beyond it the kernel would send SIGXFSZ
            const bool fits = ::getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY ||
                              static_cast<rlim_t>(is.st_size) + text.size() <= most.rlim_cur;
            if (fits) static_cast<void>(!::write(file, text.data(), text.size()));
            if (is.st_size > longest_record) ::renameat(directory, "record", directory, "record.old");
        }
        if (file >= 0) ::close(file);
        ::close(directory);
    } catch (const std::exception&) {
    }
}

}  // namespace mortise::inline v0::stores::host
