// The resource: a value that many processes write. Requests come as lines: "seal TOKEN" and "write TOKEN WORD".
#include <mortise/fenced.hpp>

#include <cstdint>
#include <iostream>
#include <string>

int main() {
    mortise::fenced::register_of<std::string> entry;

    std::string verb;
    std::string word;
    std::uint64_t number = 0;
    while (std::cin >> verb >> number) {
        const mortise::token token{number};
        const bool accepted = verb == "seal" ? entry.seal(token) : std::cin >> word && entry.write(token, word);
        std::cout << "journal: " << (verb == "seal" ? "seal" : "write of " + word) << " with token " << token
                  << (accepted ? " accepted" : " refused") << std::endl;
    }
}
