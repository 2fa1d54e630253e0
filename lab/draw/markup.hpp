// XML and HTML that cannot be broken by what is written into it.
#pragma once

#include <string>
#include <string_view>

namespace lab {

// For text and for attributes in double quotes. Expects harmless text (columns.hpp).
std::string escaped(std::string_view text);

// A JSON string, quotes included, that may stand in a <script> element.
std::string as_json(std::string_view text);

}  // namespace lab
