#include "lab/rehearsal.hpp"

#include <utility>

namespace lab {

rehearsal rehearse(const story& told, form slot, servers& house, casting cast, const director::progress& waiting) {
    rehearsal made{.expected = slot == form::naive ? told.ends_in : told.mend_ends_in};
    const form played = cast == casting::swapped ? form::mended : slot;
    try {
        made.seen = director{told, played, house, waiting}.perform();
        made.seen.played = slot;
        made.is = made.seen.seen == made.expected ? rehearsal::verdict::as_told : rehearsal::verdict::different;
    } catch (const not_installed& missing) {
        made.is = rehearsal::verdict::not_installed;
        made.trouble = missing.what();
    } catch (const needs_own_server& refused) {
        made.is = rehearsal::verdict::not_here;
        made.trouble = refused.what();
    } catch (const std::exception& failed) {
        made.trouble = failed.what();
    }
    return made;
}

}  // namespace lab
