#include "verbs.hpp"

namespace command {

std::span<const option> common_options() {
    static const option all[] = {
        {0, "store", "URL", "the store; default: MORTISE_STORE, mortise.conf, host:"},
        {0, "store-file", "FILE", "a file with the URL, which may contain a password"},
        {0, "require-store", "", "fail if no store is configured, instead of using host:"},
        {0, "patience", "T", "how long to retry if the store does not answer; default 10 s"},
        {0, "json", "", "one JSON object per line"},
        {'v', "verbose", "", "report progress on stderr"},
        {'h', "help", "", "this"},
    };
    return all;
}

std::span<const verb* const> verbs() {
    static const verb* const all[] = {
        &run_verb(),   &once_verb(),    &elect_verb(),  &hold_verb(),  &acquire_verb(),
        &renew_verb(), &release_verb(), &list_verb(),   &show_verb(),  &watch_verb(),
        &break_verb(), &doctor_verb(),  &schema_verb(), &bench_verb(), &lab_verb(),
    };
    return all;
}

}  // namespace command
