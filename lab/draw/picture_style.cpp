#include "lab/draw/picture.hpp"

#include <array>
#include <string_view>

namespace lab {
namespace {

struct colour {
    std::string_view name, light, dark;
};

constexpr std::array<colour, 11> palette{{
    {"$page", "#ffffff", "#0d1117"},
    {"$ink", "#1f2328", "#e6edf3"},
    {"$soft", "#57606a", "#9da7b3"},
    {"$rule", "#d8dee4", "#30363d"},
    {"$held", "#0969da", "#58a6ff"},
    {"$bad", "#cf222e", "#ff7b72"},
    {"$pale", "#ffebe9", "#3d1a1d"},
    {"$late", "#9a6700", "#d29922"},
    {"$good", "#1a7f37", "#56d364"},
    {"$on", "#ffffff", "#0d1117"},
    {"$head", "#f0f3f6", "#1c2128"},
}};

constexpr std::string_view shapes = R"css(
svg text { font: 13px system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", "Noto Sans CJK SC", "WenQuanYi Micro Hei",
  sans-serif; white-space: pre; }
svg text.code { font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", "Noto Sans Mono CJK SC",
  "WenQuanYi Micro Hei Mono", monospace; }
svg text.title { font-size: 20px; font-weight: 700; }
svg text.form { font-size: 14px; }
svg text.name, svg text.token, svg text.wrong { font-weight: 700; }
svg text.verdict { font-size: 15px; font-weight: 700; }
svg .rule { stroke-width: 1; }
svg .passing { stroke-width: 1.5; stroke-dasharray: 2 5; }
svg .expired { fill: none; stroke-width: 1.5; stroke-dasharray: 4 3; }
svg .waiting { fill: none; stroke-width: 2; stroke-dasharray: 2 4; }
svg .held, svg .overlapping { stroke-width: 0; }
svg .still { stroke-width: 2; }
svg .mark { stroke-width: 1.5; }
svg .cross { stroke-width: 3; fill: none; }
)css";

constexpr std::string_view colours = R"css(
svg text { fill: $ink; }
svg text.soft, svg text.form { fill: $soft; }
svg text.token { fill: $held; }
svg text.wrong { fill: $bad; }
svg text.verdict { fill: $on; }
svg .page { fill: $page; }
svg .head { fill: $head; }
svg .rule { stroke: $rule; }
svg .passing { stroke: $soft; }
svg .pale { fill: $pale; }
svg .note { fill: $head; stroke: $rule; }
svg .idle { fill: $soft; }
svg .held { fill: $held; stroke: $held; }
svg .overlapping { fill: $bad; stroke: $bad; }
svg .expired, svg .waiting { stroke: $late; }
svg .mark { fill: $ink; stroke: $page; }
svg .mark.bad { fill: $bad; }
svg .cross { stroke: $bad; }
svg .turn { fill: $late; stroke: $page; }
svg .is-good { fill: $good; }
svg .is-bad { fill: $bad; }
)css";

}  // namespace

std::string in_colours(std::string_view style, bool dark) {
    std::string made(style);
    for (const colour& each : palette)
        for (std::size_t at; (at = made.find(each.name)) != made.npos;)
            made.replace(at, each.name.size(), dark ? each.dark : each.light);
    return made;
}

std::string picture_style() {
    return std::string(shapes) + in_colours(colours, false) + "@media (prefers-color-scheme: dark) {" +
           in_colours(colours, true) + "}\n";
}

}  // namespace lab
