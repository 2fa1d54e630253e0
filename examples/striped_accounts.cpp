// A lock for each of a million accounts, with sixteen names in the store.
#include <mortise/mortise.hpp>
#include <mortise/patterns/striped_mutex.hpp>

#include <iostream>
#include <map>
#include <mutex>
#include <string>

int main() {
    mortise::client locks{"memory:"};
    mortise::striped_mutex accounts{locks, "account", 16};
    std::map<std::string, int> balance{{"alice", 10}, {"bob", 0}};

    {
        const std::scoped_lock guard{accounts["alice"]};
        balance["alice"] += 5;
    }
    {
        mortise::multi_lock both{locks, accounts.names({"alice", "bob"})};
        const std::scoped_lock guard{both};
        balance["alice"] -= 7;
        balance["bob"] += 7;
    }
    std::cout << "alice " << balance["alice"] << ", bob " << balance["bob"] << ", locks " << accounts.stripes() << '\n';
}
