// Addresses of stores. A text is refused with errc::bad_url, or it is an address; a password is never shown.
#include "base/url.hpp"
#include "fuzz/target.hpp"

#include <mortise/error.hpp>
#include <mortise/spi/client.hpp>

#include <algorithm>
#include <string>

namespace mortise::fuzzing::url {
namespace {

bool shows(const std::string& text, const std::string& secret) {
    return secret.size() >= 6 && text.find(secret) != std::string::npos;
}

}  // namespace

void run(std::string_view input) {
    if (input.size() > 2000) return;
    try {
        const base::url read = base::url::parse(input);
        // Unless it also stands where it need not be hidden.
        const std::string before_password{input.substr(0, input.find('@'))};
        if (before_password.find(read.password) == before_password.rfind(read.password) &&
            input.find(read.password, before_password.size()) == std::string_view::npos)
            expect(!shows(read.masked(), read.password), "the masked address shows the password");
        // What it shows is an address again, of the same place; unless it holds bytes that are not shown as they are, or an @
        // behind a slash, where all that precedes it may be a password with a slash in it, and is hidden.
        const bool hides_hosts = read.path.find('@') != std::string::npos;
        if (!hides_hosts && std::ranges::all_of(input, [](char c) { return c > ' ' && c < 0x7f; })) {
            const base::url again = base::url::parse(read.masked());
            expect(again.scheme == read.scheme && again.hosts == read.hosts, "the masked address is of another place");
        }
    } catch (const error& e) {
        expect(e.code() == errc::bad_url, "refused for another reason");
    }
    try {
        static_cast<void>(spi::factory_of(input));
    } catch (const error&) {
    }
}

}  // namespace mortise::fuzzing::url
