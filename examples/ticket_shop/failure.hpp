// How the shop says no: an exit status and one line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

enum exit_status { exact = 0, failed = 1, usage = 64, unreachable = 69, configuration = 78 };

struct failure {
    exit_status status;
    std::string message;
};

// "<what>: <what errno says>", with status `failed`.
failure system_failure(std::string_view what);

// The exception being handled, whatever it is.
failure current_failure();

// One printable line, whatever the text held.
std::string one_line(std::string_view text, std::size_t most = 400);
