// One story: a lock that is broken, the schedule that breaks it, and the mend.
//
// To add one: write stories/NAME.cpp with a function `story told()` in namespace lab::NAME; CMake finds it.
#pragma once

#include "lab/stage/judge.hpp"
#include "lab/stage/text.hpp"

#include <set>
#include <string>
#include <vector>

namespace lab {

class actor;
class director;

// The servers that a story needs.
enum class needs { one_redis, redis_with_replica, five_redis, mariadb, three_etcd };

struct story {
    std::string name;       // "setnx-then-expire"
    std::string row;        // of the table of the documents: "R2"
    std::string documents;  // which tell it: "S0–S4"; "–": none of them
    text title;
    text mistake;  // in one sentence
    text told;     // what happens, as the document has it
    text mend;     // what the mended form does instead, in one sentence

    lab::needs needs = lab::needs::one_redis;
    std::string own_server_because{};  // why it cannot be played on somebody's own Redis
    std::vector<std::string> keys{};   // of the server, shown after every command; tables of MariaDB
    std::string tables{};              // of MariaDB: the statements that make them, with "; " between them
    std::string user{};                // of MariaDB: as whom all connect; empty: each as itself
    std::string options{};             // of the mended form's URL
    int stock = 20;                    // items in the key "ticket", or the table, at the beginning

    void (*naive)(actor&);
    void (*mended)(actor&);  // through the public headers
    void (*play)(director&);

    bool throws = false;     // somebody ends with an error, and that is the story
    bool mend_locks = true;  // false: the mended form needs no lock

    std::set<mishap> ends_in;         // what must be seen of the naive form, and nothing else
    std::set<mishap> mend_ends_in{};  // of the mended one: nothing, but for what no lock can mend
};

// In the order of the table.
const std::vector<story>& all_stories();

// Those of stores that this build is without, and what the build wants for them.
struct story_left_out {
    std::string name;
    std::string package;
};
const std::vector<story_left_out>& stories_left_out();

}  // namespace lab
