// A stream, whatever it goes over.
#pragma once

#include "stores/etcd/rpc_result.hpp"

#include <mortise/config.hpp>
#include <mortise/unique_function.hpp>

#include <string>

namespace mortise::inline v0::stores::etcd {

// A stream to one member, which goes on until either side ends it. From any thread.
class stream {
public:
    // Never two at a time.
    struct listener {
        unique_function<void(const std::string& message)> heard;
        unique_function<void(const rpc_result&)> ended;  // once, and the last; not after stop()
    };
    virtual ~stream() = default;
    virtual void say(std::string message) = 0;
    // Whether something is waited for: if not, what comes may be heard some milliseconds later.
    virtual void expect(bool whether) = 0;
    virtual void stop() = 0;
};

}  // namespace mortise::inline v0::stores::etcd
