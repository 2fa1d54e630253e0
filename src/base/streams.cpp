// The public types on a stream: what to_string says of them.
#include <mortise/attempt.hpp>
#include <mortise/error.hpp>
#include <mortise/finding.hpp>
#include <mortise/hold.hpp>
#include <mortise/holder.hpp>
#include <mortise/multi_lock.hpp>
#include <mortise/observer.hpp>
#include <mortise/token.hpp>

#include <ostream>

namespace mortise::inline v0 {

std::ostream& operator<<(std::ostream& out, token it) {
    return out << to_string(it);
}
std::ostream& operator<<(std::ostream& out, errc it) {
    return out << to_string(it);
}
std::ostream& operator<<(std::ostream& out, release_result it) {
    return out << to_string(it);
}
std::ostream& operator<<(std::ostream& out, event_kind it) {
    return out << to_string(it);
}
std::ostream& operator<<(std::ostream& out, finding::grade it) {
    return out << to_string(it);
}
std::ostream& operator<<(std::ostream& out, const hold& it) {
    return out << to_string(it);
}
std::ostream& operator<<(std::ostream& out, const holder& it) {
    return out << to_string(it);
}
std::ostream& operator<<(std::ostream& out, const refusal& it) {
    return out << to_string(it);
}
std::ostream& operator<<(std::ostream& out, const attempt& it) {
    return out << to_string(it);
}
std::ostream& operator<<(std::ostream& out, const multi_attempt& it) {
    return out << to_string(it);
}

}  // namespace mortise::inline v0
