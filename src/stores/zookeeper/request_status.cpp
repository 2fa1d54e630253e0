#include "stores/zookeeper/request_status.hpp"

#define THREADED
#include <zookeeper/zookeeper.h>

namespace mortise::inline v0::stores::zookeeper {

request_status request_status::of(int code) {
    using enum request_status::kind;
    switch (code) {
        case ZOK:
            return {ok, code};
        case ZNONODE:
            return {no_node, code};
        case ZNODEEXISTS:
            return {exists, code};
        case ZNOTEMPTY:
            return {not_empty, code};
        case ZBADVERSION:
            return {changed, code};
        case ZNOAUTH:
        case ZAUTHFAILED:
        case ZINVALIDACL:
        case ZSESSIONCLOSEDREQUIRESASLAUTH:
            return {denied, code};
        case ZCONNECTIONLOSS:
        case ZOPERATIONTIMEOUT:
        case ZSESSIONMOVED:
        case ZNOTREADONLY:
        case ZTHROTTLEDOP:
        case ZCLOSING:
        case ZSYSTEMERROR:
        case ZRUNTIMEINCONSISTENCY:  // replies were lost on the way, or are not ZooKeeper's; the C client reconnects
        case ZMARSHALLINGERROR:
            return {unsure, code};
        case ZSESSIONEXPIRED:
        case ZINVALIDSTATE:
            return {expired, code};
        default:
            return {refused, code};
    }
}

std::string request_status::text() const {
    return zerror(code);
}

request_status request_status::session_expired() {
    return of(ZSESSIONEXPIRED);
}

}  // namespace mortise::inline v0::stores::zookeeper
