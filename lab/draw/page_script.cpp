// What the page does. All that it shows was made before: it hides the rows that are still to come, and says what the last one is.
#include "lab/draw/page_parts.hpp"

namespace lab {

const char* const page_script = R"js(
"use strict";
const steps = JSON.parse(document.getElementById("steps").textContent);
const byId = (id) => document.getElementById(id);
const root = document.documentElement;
let form = "naive";
let step = { naive: 0, mended: 0 };
let language = location.hash === "#zh" ? "zh" : "en";

function lines(target, all) {
  target.replaceChildren(...all.map((line) => {
    const made = document.createElement("div");
    made.textContent = line;
    return made;
  }));
}

function show() {
  const all = steps[form][language];
  const now = all[step[form]];
  root.lang = language;
  for (const figure of document.querySelectorAll("[data-form]")) {
    figure.hidden = figure.dataset.form !== form || figure.dataset.language !== language;
    for (const row of figure.querySelectorAll("[data-row]")) {
      row.classList.toggle("future", Number(row.dataset.row) >= step[form]);
      row.classList.toggle("current", Number(row.dataset.row) === step[form] - 1);
    }
  }
  byId("when").textContent = now.when;
  byId("what").textContent = now.what;
  byId("what").classList.toggle("wrong", now.bad);
  lines(byId("notes"), now.notes);
  byId("notes").classList.toggle("wrong", now.bad);
  lines(byId("state"), now.state);
  byId("holders").textContent = now.holders;
  byId("holders").classList.toggle("wrong", now.overlap);
  const ended = step[form] === all.length - 1;
  byId("verdict").textContent = ended ? now.verdict : "";
  byId("verdict").className = !ended ? "" : now.good ? "good" : "broken";
  byId("slider").max = all.length - 1;
  byId("slider").value = step[form];
  byId("slider").setAttribute("aria-valuetext", now.when + ": " + now.what);
  byId("previous").setAttribute("aria-disabled", step[form] === 0);
  byId("next").setAttribute("aria-disabled", step[form] === all.length - 1);
  for (const name of ["naive", "mended"]) byId(name).setAttribute("aria-pressed", name === form);
  for (const name of ["en", "zh"]) byId(name).setAttribute("aria-pressed", name === language);
  reveal(document.querySelector("[data-form]:not([hidden]) .current"));
}

function reveal(row) {
  if (!row) return;
  const lanes = row.closest(".lanes");
  const names = lanes.firstElementChild.getBoundingClientRect();
  const place = row.getBoundingClientRect();
  const below = place.bottom - lanes.getBoundingClientRect().bottom;
  if (below > 0) lanes.scrollTop += below;
  else if (place.top < names.bottom) lanes.scrollTop -= names.bottom - place.top;
}

function go(to) {
  step[form] = Math.max(0, Math.min(steps[form][language].length - 1, to));
  show();
}

const keys = {
  ArrowLeft: () => go(step[form] - 1),
  ArrowUp: () => go(step[form] - 1),
  ArrowRight: () => go(step[form] + 1),
  ArrowDown: () => go(step[form] + 1),
  Home: () => go(0),
  End: () => go(Infinity),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || !keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});
byId("previous").addEventListener("click", keys.ArrowLeft);
byId("next").addEventListener("click", keys.ArrowRight);
byId("slider").addEventListener("input", () => go(Number(byId("slider").value)));
for (const name of ["naive", "mended"]) byId(name).addEventListener("click", () => { form = name; show(); });
for (const name of ["en", "zh"]) byId(name).addEventListener("click", () => { language = name; show(); });
show();
)js";

}  // namespace lab
