// The script and the style of the page.
#pragma once

#include <string>

namespace lab {

extern const char* const page_script;
std::string page_style();

}  // namespace lab
