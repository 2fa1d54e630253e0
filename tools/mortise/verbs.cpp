#include "verbs.hpp"

namespace command {

std::span<const option> common_options() {
    static const option all[] = {
        {0, "store", "URL", "where the locks live; else MORTISE_STORE, the configuration, host:"},
        {0, "store-file", "FILE", "a file with that URL, which may then hold a password"},
        {0, "require-store", "", "an error if nobody names a store, instead of host:"},
        {0, "patience", "T", "how long a store that does not answer is asked; else 10 s"},
        {0, "json", "", "one JSON object a line"},
        {'v', "verbose", "", "say what happens, on stderr"},
        {'h', "help", "", "this"},
    };
    return all;
}

std::span<const verb* const> verbs() {
    static const verb* const all[] = {
        &run_verb(),  &hold_verb(),  &acquire_verb(), &renew_verb(),  &release_verb(), &list_verb(),
        &show_verb(), &watch_verb(), &break_verb(),   &doctor_verb(), &schema_verb(),  &bench_verb(),
    };
    return all;
}

}  // namespace command
