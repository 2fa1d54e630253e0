// What the requests of each claim have left open. Pure; its owner guards it.
//
// A claim can be asked for by a script, which knows its repeat and refuses what arrives after its release, or by a plain command,
// which does neither and is cheaper. A plain command is sent only while nothing else of its claim is out. Then:
//
//   it was answered                        it is done, and cannot arrive any more
//   it is released before the answer       the release follows on the same connection, and comes after it
//   the connection broke before the answer it may be carried out however late: late_claims repeats the release
#pragma once

#include "base/ended_claims.hpp"
#include "base/spare_blocks.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <functional>
#include <unordered_map>
#include <utility>

namespace mortise::inline v0::stores::redis {

class sent_claims {
public:
    enum class by : unsigned char { script, plain_command };

    // Whether it may be asked for by a plain command: nothing of it is out, or was released.
    bool may_be_plain(const claim_id& id, spi::time_point now);

    void asked(const claim_id& id, by how);
    struct terms {
        bool own = false;       // no other client releases it
        unsigned replicas = 0;  // that must have it
    };
    void answered(const claim_id& id, by how, spi::claim_answer::verdict is, const terms& claimed);
    // The plain command was not granted. True: the script follows, and counts as sent. False: it was released meanwhile.
    bool goes_on_by_script(const claim_id& id);

    // Of a held claim.
    unsigned replicas_of(const claim_id& id) const;

    // A release is about to be sent. True: the server must remember it, for another client that repeats it or for a script that
    // comes later.
    bool releasing(const claim_id& id, spi::time_point now);
    struct release_outcome {
        spi::release_answer answer = spi::release_answer::unknown;
        bool may_come = false;  // a plain command that was not answered
    };
    // The answer for the caller: a release before this, which was not answered, may have ended the claim.
    release_outcome released(const claim_id& id, spi::release_answer answer, spi::time_point now);

private:
    struct state {
        unsigned scripts = 0;         // without an answer so far
        unsigned plain_commands = 0;  // likewise
        bool doubted = false;         // a script was not answered
        bool may_come = false;        // a plain command was not answered
        bool held = false;
        bool releasing = false;
        terms claimed{};
    };
    using node = std::pair<const claim_id, state>;
    std::unordered_map<claim_id, state, std::hash<claim_id>, std::equal_to<>, base::spare_allocator<node>> claims_;
    base::ended_claims<1024> unsure_;   // releases without an answer: the latest, of one outage
    base::ended_claims<1024> in_vain_;  // releases that found nothing, or of claims that are not known: the latest
};

}  // namespace mortise::inline v0::stores::redis
