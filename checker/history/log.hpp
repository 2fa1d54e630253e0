// The log of one process: a mapped file of records that the kernel keeps when the process is killed.
#pragma once

#include "checker/history/record.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mortise::checker {

// Thread-safe; writing takes one atomic addition and a copy. A log that is full takes no more and says so: its run is void.
class history_log {
public:
    // Makes the file, sparse: only what is written takes space. Throws std::system_error.
    explicit history_log(const std::string& file, std::size_t records = std::size_t{1} << 22);
    ~history_log();
    history_log(const history_log&) = delete;
    history_log& operator=(const history_log&) = delete;

    std::uint64_t next_op() noexcept;

    // Adds pid, tid and, unless it is set, the time of now. Returns the time.
    std::int64_t write(record what) noexcept;

private:
    struct header;
    header* head_ = nullptr;
    record* first_ = nullptr;
    std::size_t length_ = 0;  // of the mapping
};

struct log_contents {
    std::vector<record> records{};  // complete ones, in the order in which they were begun
    std::size_t torn = 0;           // begun and not completed
    bool full = false;              // some are missing
};

// Throws std::system_error if the file cannot be read, std::runtime_error if it is no log.
log_contents read_log(const std::string& file);

}  // namespace mortise::checker
