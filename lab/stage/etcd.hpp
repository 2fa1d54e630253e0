// The etcd of the stage: three members.
#pragma once

#include <memory>
#include <string>

namespace lab {

// It asks the kernel for the time, so time cannot be the stage's: it passes by itself.
class etcd {
public:
    virtual ~etcd() = default;

    virtual void clear() = 0;  // all members run, and have no key
    virtual std::string addresses() const = 0;
    virtual void replace_leader() = 0;  // it is killed, and another is elected
};

// Throws not_installed if this build has none.
std::unique_ptr<etcd> start_etcd();

}  // namespace lab
