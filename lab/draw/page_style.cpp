#include "lab/draw/page_parts.hpp"
#include "lab/draw/picture.hpp"

#include <string_view>

namespace lab {
namespace {

constexpr std::string_view forms = R"css(
:root { color-scheme: light dark; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", "Noto Sans CJK SC", sans-serif;
  margin: 0; }
main { max-width: 1200px; margin: 0 auto; padding: 12px 16px; }
h1 { font-size: 1.5rem; margin: 0; }
p { margin: .3rem 0; }
[hidden], :root[lang=en] [lang=zh], :root[lang=zh] [lang=en]:not(html) { display: none; }
.bar { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin: 12px 0; }
.bar [role=group] { display: flex; }
.bar .end { margin-left: auto; }
button { font: inherit; padding: 6px 14px; border-width: 1px; border-style: solid; border-radius: 6px; cursor: pointer; }
[role=group] button { border-radius: 0; }
button[aria-pressed=true] { font-weight: 700; }
button[aria-disabled=true] { opacity: .5; }
#slider { flex: 1 1 200px; }
:focus-visible { outline-width: 3px; outline-style: solid; outline-offset: 2px; }
#panel { display: grid; grid-template-columns: 3fr 2fr; gap: 0 24px; padding: 12px 16px; border-radius: 8px;
  border-width: 1px; border-style: solid; min-height: 10rem; align-items: start; }
#what, #state { font: 1.2rem/1.5 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", "Noto Sans Mono CJK SC", monospace;
  overflow-wrap: anywhere; }
#state { font-size: 1.05rem; }
#notes, #holders, .wrong { font-weight: 700; }
#verdict { font-weight: 700; padding: 6px 16px; border-radius: 6px; min-height: 2.4rem; margin: 8px 0; }
.lanes { overflow: auto; max-height: 75vh; }
.lanes svg { display: block; }
.lanes svg:first-child { position: sticky; top: 0; }
@media (min-height: 800px) and (min-width: 900px) {
  main { display: flex; flex-direction: column; height: 100vh; }
  .figure { flex: 1; min-height: 0; display: flex; flex-direction: column; }
  .figure[hidden] { display: none; }
  .lanes { min-height: 0; max-height: none; }
  .figure > svg { flex: none; }
}
.row.future { visibility: hidden; }
svg .row.current text.code { font-weight: 700; }
@media (max-width: 700px) { #panel { grid-template-columns: 1fr; } }
)css";

constexpr std::string_view colours_of_page = R"css(
body { background: $page; color: $ink; }
.soft, .label { color: $soft; }
button { background: $head; color: $ink; border-color: $soft; }
button[aria-pressed=true] { background: $held; color: $on; border-color: $held; }
:focus-visible { outline-color: $late; }
#panel { background: $head; border-color: $rule; }
.wrong { color: $bad; }
.good { background: $good; color: $on; }
.broken { background: $bad; color: $on; }
)css";

}  // namespace

std::string page_style() {
    return std::string(forms) + in_colours(colours_of_page, false) + "@media (prefers-color-scheme: dark) {" +
           in_colours(colours_of_page, true) + "}\n" + picture_style();
}

}  // namespace lab
