#include "stores/host/open_ledgers.hpp"

#include "base/immortal.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include <sys/stat.h>
#include <unistd.h>

namespace mortise::inline v0::stores::host {
namespace {

// The descriptors of every ledger that this process opened, or inherited by fork.
std::array<std::atomic<int>, 256> known_descriptors;
std::atomic<std::size_t> known_descriptor_count{0};

void remember_descriptor(int fd) noexcept {
    known_descriptors[known_descriptor_count.fetch_add(1) % known_descriptors.size()] = fd + 1;
}

// Whether one is open by now that is not among them yet. Set under the registry's mutex, so whoever finds it set there is a
// child of a fork in the midst of that, and has inherited a descriptor that nobody noted.
std::atomic<int> descriptors_not_noted{0};

// Record locks belong to the process: a second opener in it would share our process slot, and closing its descriptor would
// free it.
bool opened_by_others(const struct stat& file) {
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", failed)) {
        const int fd = std::atoi(entry.path().filename().c_str());
        struct stat is {};
        // By its path: other threads may be opening and closing descriptors meanwhile, which is none of our business.
        if (::stat(entry.path().c_str(), &is) != 0 || is.st_dev != file.st_dev || is.st_ino != file.st_ino) continue;
        if (std::none_of(known_descriptors.begin(), known_descriptors.end(),
                         [&](const auto& known) { return known == fd + 1; }))
            return true;
    }
    return false;
}

std::shared_ptr<ledger> opened(const store_directory& where) {
    // Never emptied: see the header. A file that was deleted and made anew is another one. A child of fork has no process
    // slot, so it starts anew.
    struct registry {
        std::mutex mutex;
        std::map<std::pair<dev_t, ino_t>, std::shared_ptr<ledger>> opened;
    };
    static constinit base::one_per_process<registry> current;
    registry& mine = current();
    std::scoped_lock guard{mine.mutex};
    const int directory = where.open_directory();
    struct stat is {};
    const bool known = ::fstatat(directory, "locks", &is, 0) == 0;
    ::close(directory);
    if (known) {
        if (const auto it = mine.opened.find({is.st_dev, is.st_ino}); it != mine.opened.end()) return it->second;
        if (descriptors_not_noted == 0 && opened_by_others(is))
            throw error(errc::unreachable, "host store in " + where.directory +
                                               ": this process has 'locks' open already, by other means than this copy "
                                               "of the library; the kernel would not tell the two apart. Link the "
                                               "library once, as a shared one");
    }
    struct noting {
        noting() { ++descriptors_not_noted; }
        ~noting() { --descriptors_not_noted; }
    };
    std::shared_ptr<ledger> made;
    {
        const noting until_it_is_known;
        made = std::make_shared<ledger>(where);
        remember_descriptor(made->descriptor());
    }
    ::fstat(made->descriptor(), &is);
    return mine.opened.emplace(std::pair{is.st_dev, is.st_ino}, std::move(made)).first->second;
}

}  // namespace

std::shared_ptr<ledger> open_ledger(const store_directory& where, process_slots::urgency when) {
    auto found = opened(where);
    found->acquire_slot(when);
    return found;
}

std::shared_ptr<ledger> open_ledger_to_read(const store_directory& where) {
    return opened(where);
}

}  // namespace mortise::inline v0::stores::host
