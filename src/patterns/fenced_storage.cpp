#include <mortise/patterns/fenced_storage.hpp>

namespace mortise::inline v0 {

fenced_storage::~fenced_storage() = default;

std::optional<fenced_storage::entry> memory_storage::read(std::string_view key) {
    const std::scoped_lock alone{mutex_};
    const auto found = all_.find(key);
    if (found == all_.end() || found->second.written_by == token{}) return std::nullopt;
    const record& one = found->second;
    const auto age = boot_clock::now() - one.written;
    if (age >= one.keep) return std::nullopt;
    return entry{one.bytes, age, one.sealed == one.written_by};
}

bool memory_storage::seal(std::string_view key, token mine) {
    const std::scoped_lock alone{mutex_};
    auto found = all_.find(key);
    if (found == all_.end()) found = all_.emplace(std::string(key), record{}).first;
    if (mine == token{} || mine < found->second.sealed) return false;
    found->second.sealed = mine;
    return true;
}

bool memory_storage::write(std::string_view key, token mine, std::string_view bytes, std::chrono::nanoseconds keep) {
    const std::scoped_lock alone{mutex_};
    const auto found = all_.find(key);
    if (found == all_.end() || mine == token{} || found->second.sealed != mine) return false;
    found->second = {mine, mine, std::string(bytes), boot_clock::now(), keep};
    return true;
}

void memory_storage::forget(std::string_view key) {
    const std::scoped_lock alone{mutex_};
    if (const auto found = all_.find(key); found != all_.end()) all_.erase(found);
}

}  // namespace mortise::inline v0
