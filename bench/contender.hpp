// A kind of lock under measure.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace bench {

// One thread's way to a lock that others share.
class turnstile {
public:
    virtual ~turnstile() = default;
    virtual void lock() = 0;
    virtual void unlock() = 0;
};

// Called once by each thread.
using maker = std::function<std::unique_ptr<turnstile>()>;

struct contender {
    std::string name;
    // Called once by each process, after it started, with its number from 0 on. What the maker owns ends with it.
    std::function<maker(int process)> open;
};

}  // namespace bench
