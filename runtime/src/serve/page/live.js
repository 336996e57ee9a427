// Keeps a page as it would be if it were loaded again: asks for the state, and when that has changed
// takes the sections that differ out of the page. All HTML comes from the server, which escapes.
"use strict";
const EVERY_MS = 2000;
const { state: address, revision: first } = document.body.dataset;
const says = document.getElementById("says");
let revision = first;
let state = null;

async function look() {
  try {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(answer.statusText);
    state = await answer.json();
    if (state.revision !== revision) {
      await renew();
      revision = state.revision;
    }
    says.value = "";
  } catch {
    says.value = "No answer: is sandglass serve still running?";
  }
  setTimeout(look, EVERY_MS);
}

async function renew() {
  const answer = await fetch(location.pathname);
  if (!answer.ok) throw new Error(answer.statusText);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const now of page.querySelectorAll("section[id]")) {
    const before = document.getElementById(now.id);
    if (!before || before.dataset.hash === now.dataset.hash) continue;
    const named = (details) => details.querySelector("summary").textContent;
    const open = new Set([...before.querySelectorAll("details[open]")].map(named));
    for (const details of now.querySelectorAll("details")) details.open = open.has(named(details));
    before.replaceWith(document.adoptNode(now));
  }
  document.documentElement.dataset.renewed = Number(document.documentElement.dataset.renewed || 0) + 1;
}

const number = (value) => value.toLocaleString("en");
function clock(ms) {
  const s = Math.floor(ms / 1000);
  if (s < 60) return `${(ms / 1000).toFixed(1)} s`;
  const parts = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
  const from = parts.findIndex(([length]) => s >= length);
  const two = parts.slice(from, from + 2);
  return two.map(([length, name], n) => `${Math.floor((n ? s % two[0][0] : s) / length)}${name}`).join(" ");
}

// Says what lies below the pointer.
function point(event) {
  const figure = event.target.closest("figure[data-list]");
  const points = figure && state && state[figure.dataset.list];
  if (!points || !points.length) return;
  const { x, y, unit, from, to, end } = figure.dataset;
  const box = figure.querySelector("svg").getBoundingClientRect();
  const part = ((event.clientX - box.left) / box.width - from) / (to - from);
  const at = Math.min(Math.max(part, 0), 1) * end * unit;
  // A curve keeps each value until the next one; a rate is that of the time before its end.
  const next = points.findIndex((one) => one[x] > at);
  const is_rate = figure.dataset.list === "rates";
  const found = next < 0 ? points.at(-1) : points[is_rate ? next : Math.max(next - 1, 0)];
  const where = is_rate || x === "1" ? clock(found[x]) : `${number(found[x])} executions`;
  figure.querySelector("output").value = `${number(found[y])} at ${where}`;
}
document.addEventListener("pointermove", point);
document.addEventListener("pointerdown", point);
document.addEventListener("pointerout", (event) => {
  const figure = event.target.closest("figure[data-list]");
  if (figure && !figure.contains(event.relatedTarget)) figure.querySelector("output").value = "";
});

if (address) look();
