// The page and the pictures in a real browser. A script at the end of the page presses its keys and writes down what it sees; the
// browser prints the document that results.
#include "lab/draw/html.hpp"
#include "lab/draw/svg.hpp"
#include "support/children.hpp"
#include "support/lab_sample.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lab {
namespace {

using ::testing::ElementsAre;

// What the script has written, line by line.
std::vector<std::string> seen_in_browser(std::string page, const std::string& script) {
    const mortise::testing::scratch_directory home;
    const std::string file = home / "page.html";
    const std::string begin = "SEEN[", end = "]SEEN";
    page.insert(page.rfind("</body>"),
                "<script>const seen = [];\n" + script +
                    "\ndocument.body.dataset.seen = \"SEEN[\" + seen.join(\"|\") + \"]SEEN\";</script>");
    std::ofstream(file) << page;
    const std::string command = std::string("timeout 60 '") + MORTISE_CHROMIUM +
                                "' --headless --no-sandbox --disable-gpu" +
                                " --disable-dev-shm-usage --user-data-dir='" + (home / "profile") +
                                "' --dump-dom 'file://" + file + "' 2>'" + (home / "errors") + "'";
    std::string printed;
    FILE* browser = ::popen(command.c_str(), "r");
    char room[4096];
    for (std::size_t got; browser && (got = std::fread(room, 1, sizeof room, browser)) > 0;) printed.append(room, got);
    EXPECT_EQ(browser ? ::pclose(browser) : -1, 0);
    const std::size_t from = printed.find("data-seen=\"" + begin);
    const std::size_t to = printed.find(end, from);
    if (from == printed.npos || to == printed.npos) return {"the script did not come to its end"};
    std::vector<std::string> lines{""};
    for (const char c : printed.substr(from + 11 + begin.size(), to - from - 11 - begin.size()))
        if (c == '|')
            lines.emplace_back();
        else
            lines.back() += c;
    return lines;
}

// What the reader sees now: the step, what happens, who holds the lock, how many rows are drawn, how it ended.
constexpr const char* look = R"js(
const said = (id) => document.getElementById(id).innerText.trim().replace(/\s+/g, " ");
function look() {
  const rows = [...document.querySelectorAll(".figure")].filter((each) => each.checkVisibility())
    .flatMap((each) => [...each.querySelectorAll(".row")])
    .filter((each) => getComputedStyle(each).visibility === "visible");
  seen.push([said("when"), said("what"), said("holders"), rows.length + " rows", said("verdict")].join(" / "));
}
const press = (key) => {
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  look();
};
const push = (id) => { document.getElementById(id).click(); look(); };
)js";

std::string sample_page() {
    return page_of(lab::testing::sample_story(), lab::testing::sample_naive(), lab::testing::sample_mended());
}

TEST(page_in_a_browser, steps_with_keys_and_by_ear) {
    EXPECT_THAT(
        seen_in_browser(sample_page(), std::string(look) + R"js(
const usable = [...document.querySelectorAll("button, input")];
seen.push(usable.filter((each) => each.tabIndex === 0 && each.checkVisibility()).length + " to reach");
seen.push(usable.filter((each) => !(each.innerText.trim() || each.ariaLabel)).length + " without a name");
seen.push(document.getElementById("panel").ariaLive);
look();
press("ArrowRight"); press("ArrowRight"); press("ArrowRight"); press("ArrowLeft");
press("End"); press("ArrowRight"); press("Home"); press("ArrowLeft");
seen.push(document.getElementById("slider").getAttribute("aria-valuetext"));
)js"),
        ElementsAre(
            "7 to reach", "0 without a name", "polite",
            "Step 0 of 6 · 0 s / The story begins. Press the right arrow key to go on. / nobody / 0 rows / ",
            "Step 1 of 6 · 0 s / thread 1: SET lock:ticket 1 EX 10 NX → OK / thread 1 / 1 rows / ",
            "Step 2 of 6 · 10 s / 10 s pass / thread 1 / 2 rows / ",
            "Step 3 of 6 · 10 s / thread 2: SET lock:ticket 1 EX 10 NX → OK / thread 1, thread 2: two at once! / 3 "
            "rows / ",
            "Step 2 of 6 · 10 s / 10 s pass / thread 1 / 2 rows / ",
            "Step 6 of 6 · 15 s / thread 2: DEL lock:ticket → 0 / nobody / 6 rows / Broken: two hold it at once",
            "Step 6 of 6 · 15 s / thread 2: DEL lock:ticket → 0 / nobody / 6 rows / Broken: two hold it at once",
            "Step 0 of 6 · 0 s / The story begins. Press the right arrow key to go on. / nobody / 0 rows / ",
            "Step 0 of 6 · 0 s / The story begins. Press the right arrow key to go on. / nobody / 0 rows / ",
            "Step 0 of 6 · 0 s: The story begins. Press the right arrow key to go on."));
}

TEST(page_in_a_browser, keeps_the_step_and_the_language) {
    EXPECT_THAT(seen_in_browser(sample_page(), std::string(look) + R"js(
press("ArrowRight");
push("zh"); push("next"); push("mended");
const slider = document.getElementById("slider");
slider.focus(); slider.value = 4; slider.dispatchEvent(new Event("input")); look();
press("ArrowRight"); push("previous"); push("naive"); push("en");
seen.push(document.getElementById("naive").ariaPressed + " " + document.getElementById("mended").ariaPressed);
document.getElementById("zh").click();
seen.push(document.documentElement.lang + " " + document.querySelector("h1").innerText);
)js"),
                ElementsAre("Step 1 of 6 · 0 s / thread 1: SET lock:ticket 1 EX 10 NX → OK / thread 1 / 1 rows / ",
                            "第 1 步，共 6 步 · 0 s / thread 1：SET lock:ticket 1 EX 10 NX → OK / thread 1 / 1 rows / ",
                            "第 2 步，共 6 步 · 10 s / 10 s 后 / thread 1 / 2 rows / ",
                            "第 0 步，共 6 步 · 0 s / 故事开始。按右方向键前进。 / 无人 / 0 rows / ",
                            "第 4 步，共 6 步 · 5 s / thread 1：release ticket → 已释放 / 无人 / 4 rows / ",
                            "第 5 步，共 6 步 · 5 s / thread 2：claim ticket → 已授予，令牌 2 / thread 2 / 5 rows / ",
                            "第 4 步，共 6 步 · 5 s / thread 1：release ticket → 已释放 / 无人 / 4 rows / ",
                            "第 2 步，共 6 步 · 10 s / 10 s 后 / thread 1 / 2 rows / ",
                            "Step 2 of 6 · 10 s / 10 s pass / thread 1 / 2 rows / ", "true false", "zh 两个同时持有"));
}

TEST(page_in_a_browser, keeps_the_current_row_in_view) {
    const performance crowd = lab::testing::played(form::naive, lab::testing::crowd());
    EXPECT_THAT(seen_in_browser(page_of(lab::testing::sample_story(), crowd, crowd), std::string(look) + R"js(
const hidden = new Set();
const check = () => {
  const row = document.querySelector("[data-form]:not([hidden]) .current");
  const lanes = row.closest(".lanes");
  const place = row.getBoundingClientRect();
  if (place.top < lanes.firstElementChild.getBoundingClientRect().bottom - 1) hidden.add(row.dataset.row);
  if (place.bottom > lanes.getBoundingClientRect().bottom + 1) hidden.add(row.dataset.row);
};
const last = Number(document.getElementById("slider").max);
for (let i = 0; i < last; ++i) { press("ArrowRight"); check(); }
for (let i = 1; i < last; ++i) { press("ArrowLeft"); check(); }
seen.length = 0;
seen.push(last > 40 ? "long" : "short", [...hidden].join(" "));
)js"),
                ElementsAre("long", ""));
}

// Labels that overlap, leave their lane or the picture.
constexpr const char* find_overlaps = R"js(
let labels = 0;
for (const picture of document.querySelectorAll("svg")) {
  const title = picture.querySelector("text").textContent + ": ";
  const edge = picture.getBoundingClientRect();
  const boxes = [...picture.querySelectorAll("text")].map((each) => ({ words: each.textContent, ...each.getBoundingClientRect().toJSON() }));
  labels += boxes.length;
  const rules = [...picture.querySelectorAll(".rule")].map((each) => each.getBoundingClientRect().left);
  for (const row of picture.querySelectorAll(".row:not(:has(.note))"))
    for (const label of row.querySelectorAll("text")) {
      const box = label.getBoundingClientRect();
      if (rules.some((x) => box.left < x && x < box.right)) seen.push(title + "leaves its lane: " + label.textContent);
    }
  boxes.forEach((one, i) => {
    if (one.right > edge.right || one.bottom > edge.bottom) seen.push(title + "outside: " + one.words);
    for (const other of boxes.slice(i + 1))
      if (one.left < other.right - 1 && other.left < one.right - 1 && one.top + 3 < other.bottom - 3 && other.top + 3 < one.bottom - 3)
        seen.push(title + "overlap: " + one.words + " and " + other.words);
  });
}
seen.push(labels > 400 ? "all seen" : labels + " labels");
)js";

// Fonts differ; what was measured must be enough for those that are here.
TEST(pictures_in_a_browser, have_no_labels_that_overlap) {
    std::string page = "<!DOCTYPE html><html><head><meta charset=\"utf-8\"></head><body>";
    for (const trace& all : {lab::testing::two_at_once(), lab::testing::one_by_one(), lab::testing::crash_in_between(),
                             lab::testing::crowd()})
        for (const language in : {language::english, language::chinese})
            page += svg_of(lab::testing::sample_story(), lab::testing::played(form::naive, all), in);
    EXPECT_THAT(seen_in_browser(page + "</body></html>", find_overlaps), ElementsAre("all seen"));
}

#ifdef MORTISE_LAB
TEST(pictures_in_a_browser, of_every_story_have_no_labels_that_overlap) {
    for (const char* in : {"en", "zh"}) {
        const mortise::testing::scratch_directory home;
        const std::string command = std::string("'") + MORTISE_LAB + "' run --all --lang " + in + " --svg '" +
                                    home.path() + "/' >'" + (home / "table") + "'";
        EXPECT_EQ(std::system(command.c_str()), 0);
        std::stringstream page;
        page << "<!DOCTYPE html><html><head><meta charset=\"utf-8\"></head><body>";
        for (const auto& each : std::filesystem::directory_iterator(home.path()))
            if (each.path().extension() == ".svg") page << std::ifstream{each.path()}.rdbuf();
        EXPECT_THAT(seen_in_browser(page.str() + "</body></html>", find_overlaps), ElementsAre("all seen"));
    }
}
#endif

}  // namespace
}  // namespace lab
