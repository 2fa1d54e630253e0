// How a request to the servers ended.
#pragma once

#include <mortise/config.hpp>

#include <string>

namespace mortise::inline v0::stores::zookeeper {

struct request_status {
    enum class kind {
        ok,
        no_node,
        exists,     // the node is there already
        not_empty,  // the node has children
        changed,    // the node has another version
        denied,     // wrong credentials, or a node with somebody else's ACL
        unsure,     // the connection was lost before the reply: the request may have been executed
        expired,    // the session has expired, and its nodes are gone
        refused,    // anything else
    };
    kind is = kind::ok;
    int code = 0;  // as the C client has it

    bool ok() const { return is == kind::ok; }
    bool ok_or(kind k) const { return is == kind::ok || is == k; }
    std::string text() const;

    static request_status of(int code);
    static request_status session_expired();
    friend bool operator==(const request_status& status, kind k) { return status.is == k; }
};

}  // namespace mortise::inline v0::stores::zookeeper
