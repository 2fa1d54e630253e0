// The time on the stage.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace lab {

// A time that stands still until the director moves it. It lies in a file that servers and actors have mapped: a server
// sees it instead of the wall clock (checker/faults/wall_clock_shim.c, still=), and so do timers of ours (stage_clock). So leases
// expire when the story says so, however slow or busy the machine is.
class stage_time {
public:
    explicit stage_time(std::string file);  // makes the file
    ~stage_time();
    stage_time(const stage_time&) = delete;
    stage_time& operator=(const stage_time&) = delete;

    std::chrono::nanoseconds now() const;  // since 1970
    void set(std::chrono::nanoseconds since_1970);
    const std::string& file() const { return file_; }

private:
    const std::string file_;
    std::int64_t* page_ = nullptr;
};

}  // namespace lab
