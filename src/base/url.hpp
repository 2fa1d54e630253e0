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
// Percent-escapes are decoded in every part. Reading an address connects to nothing.
struct url {
    std::string scheme;
    std::string user;
    std::string password;
    std::vector<std::string> hosts;  // "name", "name:port" or "[v6]:port"
    std::string path;                // with its leading slash after an authority; the whole rest without one
    std::map<std::string, std::string, std::less<>> query;

    static url parse(std::string_view text);  // throws errc::bad_url, which never shows the password

    // As given, but for the password.
    const std::string& masked() const noexcept { return masked_; }

private:
    std::string masked_;
};

}  // namespace mortise::inline v0::base
