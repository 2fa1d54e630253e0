// A store's address.
#pragma once

#include <mortise/config.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::base {

// scheme:rest                                                "memory:", "memory:shop", "host:/run/locks"
// scheme://[user[:password]@]host[:port][,host...][/path][?key=value[&key=value...]]
//
// Percent-escapes are decoded in every part. Parsing does not connect.
struct url {
    std::string scheme;
    std::string user;
    std::string password;
    std::vector<std::string> hosts;  // "name", "name:port" or "[v6]:port"
    std::string path;                // after an authority with its leading slash; without one, all after the scheme
    std::map<std::string, std::string, std::less<>> query;

    static url parse(std::string_view text);  // throws errc::bad_url; the message never shows the password

    // As given, with secrets masked.
    const std::string& masked() const noexcept { return masked_; }

private:
    std::string masked_;
};

}  // namespace mortise::inline v0::base
