// The `mortise` command. verbs.hpp says where a verb is added.
#include "dispatch.hpp"

#include <vector>

int main(int count, char** given) {
    return command::dispatch(std::vector<std::string>(given + (count > 0 ? 1 : 0), given + count));
}
