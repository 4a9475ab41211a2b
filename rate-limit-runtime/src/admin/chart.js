"use strict";

// What is kept of the past, of each function one number for each second and series, and how it is drawn.

const past = new Map();
let last = 0;

function keep(view) {
  const length = Math.max(0, ...view.functions.map((one) => one.admitted.length));
  if (last > 0 && view.second - last > length && length > 0) return false;
  const passed = Math.max(0, view.second - last);
  for (const one of view.functions) {
    let kept = past.get(one.name);
    if (!kept) past.set(one.name, (kept = Object.fromEntries(SERIES.map((series) => [series, new Array(HISTORY).fill(0)]))));
    for (const series of SERIES) {
      kept[series] = kept[series].slice(passed).concat(new Array(Math.min(passed, HISTORY)).fill(0)).slice(-HISTORY);
      const recent = one[series];
      recent.forEach((count, place) => (kept[series][HISTORY - recent.length + place] = count));
    }
  }
  last = Math.max(last, view.second);
  return true;
}

// Bars of five seconds each, one kind upon the other. A bar begins with a multiple of five, so that it moves on whole.

const WIDTH = 5;
const BARS = HISTORY / WIDTH + 1;

function sums(counts) {
  const bars = new Array(BARS).fill(0);
  const first = last - HISTORY + 1;
  counts.forEach((count, place) => (bars[Math.floor((first + place) / WIDTH) - Math.floor(first / WIDTH)] += count));
  return bars;
}

function draw(chart, kept, name) {
  const bars = SERIES.map((series) => sums(kept[series]));
  const totals = bars[0].map((_, bar) => bars.reduce((sum, series) => sum + series[bar], 0));
  const most = Math.max(1, ...totals);
  let svg = chart.querySelector("svg");
  if (!svg) {
    svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", `0 0 ${BARS} 100`);
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("role", "img");
    for (const series of SERIES) {
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute("class", series);
      svg.append(path);
    }
    const axis = document.createElement("p");
    axis.setAttribute("aria-hidden", "true");
    axis.append(document.createElement("span"), document.createElement("span"), document.createElement("span"));
    chart.append(svg, axis);
    axis.firstChild.textContent = "5 min ago";
    axis.lastChild.textContent = "now";
  }
  chart.classList.toggle("empty", totals.every((total) => total === 0));
  const base = totals.map(() => 100);
  SERIES.forEach((series, nth) => {
    let path = "";
    bars[nth].forEach((count, bar) => {
      if (count === 0) return;
      const height = Math.max(2, (count / most) * 98);
      const top = Math.max(0, base[bar] - height);
      path += `M${bar + 0.1} ${base[bar].toFixed(2)}V${top.toFixed(2)}h.8V${base[bar].toFixed(2)}z`;
      base[bar] = top;
    });
    svg.children[nth].setAttribute("d", path);
  });
  const sum = (nth) => bars[nth].reduce((all, count) => all + count, 0);
  svg.setAttribute("aria-label", `${name}, last five minutes: ${sum(0)} admitted, ${sum(1)} refused, ${sum(2)} turned away for another reason`);
  write(chart.querySelector("p").children[1], chart.classList.contains("empty") ? "no calls" : `at most ${most} in 5 s`);
}
