// The blocking calls of the C client.
#pragma once

#include "stores/zookeeper/settings.hpp"

#include <mortise/config.hpp>

#include <memory>
#include <string>

namespace mortise::inline v0::stores::zookeeper {

// A session of its own, and a thread that sends a request a second (README.md: servers that oversleep). All verbs block, and
// throw errc::unreachable or errc::denied.
class zookeeper_client {
public:
    explicit zookeeper_client(const settings& how);
    ~zookeeper_client();

    bool make(const std::string& path);                                   // and what is above it; false: it was there
    std::string enter(const std::string& path, const std::string& data);  // ephemeral, in line
    bool remove(const std::string& path);                                 // false: it was not there
    bool exists(const std::string& path);                                 // and is told of its end
    bool both(const std::string& created, const std::string& removed);    // in one step; false: not so
    void await_news();                                                    // of anything, once each

private:
    struct handle;
    std::unique_ptr<handle> inside_;
};

}  // namespace mortise::inline v0::stores::zookeeper
