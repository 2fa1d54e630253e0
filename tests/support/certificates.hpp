// Certificates of a test: good ones and bad ones.
#pragma once

#include <string>

namespace mortise::testing {

// Made anew in a directory, with an authority of their own. All members are files.
struct certificates {
    struct pair {
        std::string certificate;
        std::string key;
    };

    std::string authority;
    std::string other_authority;  // that signed none of these
    pair server;                  // for localhost and 127.0.0.1
    pair expired;                 // for the same
    pair other_name;              // for another.example
    pair client;

    explicit certificates(const std::string& directory);
};

}  // namespace mortise::testing
