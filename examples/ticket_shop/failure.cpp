#include "failure.hpp"

#include <mortise/error.hpp>

#include <exception>
#include <system_error>

#include <errno.h>

namespace {

exit_status status_of(const std::error_code& code) {
    using mortise::errc;
    if (code == errc::unreachable) return unreachable;
    if (code == errc::bad_url || code == errc::unknown_store) return configuration;
    return failed;
}

}  // namespace

failure system_failure(std::string_view what) {
    return {failed, std::string{what} + ": " + std::generic_category().message(errno)};
}

failure current_failure() {
    try {
        throw;
    } catch (const failure& wrong) {
        return wrong;
    } catch (const mortise::error& wrong) {
        return {status_of(wrong.code()), wrong.what()};
    } catch (const std::exception& wrong) {
        return {failed, wrong.what()};
    } catch (...) {
        return {failed, "something was thrown that is no exception"};
    }
}

std::string one_line(std::string_view text, std::size_t most) {
    std::string line{text.substr(0, most)};
    for (char& c : line)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
    return text.size() > most ? line + "..." : line;
}
