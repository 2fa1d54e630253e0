#include "net/peer_name.hpp"

#include <arpa/inet.h>
#include <openssl/x509v3.h>

namespace mortise::inline v0::net {

peer_name name_to_check(const std::string& server_name, const std::string& host) {
    peer_name wanted{server_name.empty() ? host : server_name};
    in6_addr ignored{};
    wanted.address = ::inet_pton(AF_INET, wanted.text.c_str(), &ignored) == 1 ||
                     ::inet_pton(AF_INET6, wanted.text.c_str(), &ignored) == 1;
    return wanted;
}

bool demand(SSL* of, const peer_name& wanted) {
    X509_VERIFY_PARAM* const checks = SSL_get0_param(of);
    X509_VERIFY_PARAM_set_hostflags(checks, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (wanted.address) return X509_VERIFY_PARAM_set1_ip_asc(checks, wanted.text.c_str()) == 1;
    return X509_VERIFY_PARAM_set1_host(checks, wanted.text.c_str(), 0) == 1 &&
           SSL_ctrl(of, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                    const_cast<char*>(wanted.text.c_str())) == 1;
}

}  // namespace mortise::inline v0::net
