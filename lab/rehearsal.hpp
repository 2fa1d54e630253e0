// Playing a story, and whether it went as told.
#pragma once

#include "lab/performance.hpp"
#include "lab/stage/director.hpp"
#include "lab/stage/servers.hpp"
#include "lab/story.hpp"

#include <string>

namespace lab {

// Which code plays which part. `swapped`: the mended form where the naive one should be, to see that the story would notice.
enum class casting { as_told, swapped };

struct rehearsal {
    enum class verdict {
        as_told,
        different,      // something else was seen
        not_installed,  // a server is missing
        not_here,       // it cannot be played on the server that was lent
        unplayed,       // an actor or a server did not do its part; says nothing of the lock
    };
    verdict is = verdict::unplayed;
    performance seen{};
    std::set<mishap> expected{};
    std::string trouble{};  // why it could not be played
};

// `waiting`: told of time that passes by itself.
rehearsal rehearse(const story& told, form slot, servers& house, casting cast = casting::as_told,
                   const director::progress& waiting = {});

}  // namespace lab
