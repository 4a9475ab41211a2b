"use strict";

const HISTORY = 300;
const SERIES = ["admitted", "refused", "other"];
const WORDS = {
  allowed: "Admitted",
  limited: "Refused",
  impossible: "Never admitted",
  denied: "Denied",
  missing_client: "Names nobody",
  store_unavailable: "Store unavailable",
  misconfigured: "Not set up",
  aborted: "Aborted",
};
const field = (id) => document.getElementById(id);
const copy = (id) => field(id).content.firstElementChild.cloneNode(true);

// All else lies beside this script. What may stand before the host, a user and a password, is for the browser alone.
const here = document.currentScript.src;
const at = (path) => location.origin + new URL(path, here).pathname;

function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function wait(milliseconds) {
  const seconds = Math.ceil(milliseconds / 1000);
  const two = (number) => String(number).padStart(2, "0");
  if (seconds >= 86400) return `${Math.floor(seconds / 86400)}d ${Math.floor((seconds % 86400) / 3600)}h`;
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)}:${two(Math.floor((seconds % 3600) / 60))}:${two(seconds % 60)}`;
  return `${Math.floor(seconds / 60)}:${two(seconds % 60)}`;
}

// A path, which may break behind each of its parts, and what it leads to.
function name(heading, full) {
  const at = full.lastIndexOf("::");
  const path = heading.querySelector(".path");
  if (at >= 0) {
    for (const part of full.slice(0, at).split("::")) path.append(`${part}::`, document.createElement("wbr"));
  }
  heading.querySelector(".label").textContent = at < 0 ? full : full.slice(at + 2);
}

// ---- What is kept of the past: of each function, one number for each second and series.

const history = new Map();
let last = 0;

function keep(view) {
  const length = Math.max(0, ...view.functions.map((one) => one.admitted.length));
  if (last > 0 && view.second - last > length && length > 0) return false;
  const passed = Math.max(0, view.second - last);
  for (const one of view.functions) {
    let kept = history.get(one.name);
    if (!kept) history.set(one.name, (kept = Object.fromEntries(SERIES.map((series) => [series, new Array(HISTORY).fill(0)]))));
    for (const series of SERIES) {
      kept[series] = kept[series].slice(passed).concat(new Array(Math.min(passed, HISTORY)).fill(0)).slice(-HISTORY);
      const recent = one[series];
      recent.forEach((count, place) => (kept[series][HISTORY - recent.length + place] = count));
    }
  }
  last = Math.max(last, view.second);
  return true;
}

// ---- Charts: bars of five seconds each, one kind upon the other. A bar begins with a multiple of five, so that it moves on whole.

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

// ---- Lists that are brought up to date in place, so that what has the focus keeps it.

function update(list, items, key, make, fill) {
  const rows = new Map([...list.children].map((row) => [row.dataset.key, row]));
  const active = document.activeElement;
  items.forEach((item, place) => {
    const name = key(item);
    let row = rows.get(name);
    rows.delete(name);
    if (!row) {
      row = make(item);
      row.dataset.key = name;
    }
    fill(row, item);
    if (list.children[place] !== row) list.insertBefore(row, list.children[place] || null);
  });
  rows.forEach((row) => row.remove());
  if (active && active !== document.activeElement && active.isConnected) active.focus();
}

function numbers(list, pairs) {
  update(list, pairs, ([word]) => word, ([word]) => {
    const pair = document.createElement("div");
    pair.append(document.createElement("dt"), document.createElement("dd"));
    pair.firstChild.textContent = word;
    return pair;
  }, (pair, [, number, kind]) => {
    write(pair.lastChild, String(number));
    pair.lastChild.className = kind || "";
  });
}

// ---- What is shown each second.

function show(view) {
  const { store, functions, refused } = view;
  const elsewhere = store.kind !== "memory";
  const decides = field("decides");
  write(decides, store.degraded ? "no: calls go by the fallback" : elsewhere ? `yes (${store.kind})` : "yes (in memory)");
  decides.className = store.degraded ? "bad" : "good";
  write(field("breakers"), String(store.open_breakers));
  field("breakers").className = store.open_breakers > 0 ? "bad" : "";
  write(field("unsettled"), String(store.unsettled));
  field("unsettled").className = store.unsettled > 0 ? "warn" : "";

  const all = Object.fromEntries(SERIES.map((series) => [series, new Array(HISTORY).fill(0)]));
  for (const kept of history.values()) {
    for (const series of SERIES) kept[series].forEach((count, place) => (all[series][place] += count));
  }
  draw(field("all"), all, "All functions");

  field("no-functions").hidden = functions.length > 0;
  update(field("functions"), functions, (one) => one.name, (one) => {
    const card = copy("function");
    name(card.querySelector("h3"), one.name);
    return card;
  }, (card, one) => {
    const policies = one.limits.map((limit) => {
      const numbers = limit.policy || (limit.entry ? "no such policy" : "known after the first call");
      return limit.entry ? `${numbers} (${limit.entry})` : numbers;
    });
    update(card.querySelector(".policies"), policies, (text) => text, () => document.createElement("li"), write);
    draw(card.querySelector(".chart"), history.get(one.name), one.name);
    const pairs = [["Admitted", one.totals.allowed || 0], ["Refused", one.totals.limited || 0, one.totals.limited ? "bad" : ""]];
    pairs.push(["Near the limit", one.near, one.near ? "warn" : ""]);
    for (const [outcome, total] of Object.entries(one.totals)) {
      if (outcome !== "allowed" && outcome !== "limited") pairs.push([WORDS[outcome] || outcome, total, "warn"]);
    }
    if (one.by_fallback) pairs.push(["By the fallback", one.by_fallback, "warn"]);
    numbers(card.querySelector(".numbers"), pairs);
  });

  field("nobody").hidden = refused.clients.length > 0;
  write(field("refused-count"), refused.clients.length > 0 ? String(refused.clients.length + refused.more) : "");
  update(field("refused"), refused.clients, (one) => `${one.client} ${one.function} ${one.policy}`, (one) => {
    const row = copy("refused-row");
    row.querySelector(".client").textContent = one.client;
    row.querySelector(".function").textContent = one.function;
    row.querySelector(".policy").textContent = one.policy;
    const button = row.querySelector("button");
    button.setAttribute("aria-label", `Look up client ${one.client}`);
    button.addEventListener("click", () => lookUp({ client: one.client }));
    return row;
  }, (row, one) => {
    write(row.querySelector(".wait"), `refused ${one.times}×, ${wait(one.retry_after_ms)} left`);
  });
  const more = field("more");
  more.hidden = refused.more === 0 && refused.lost === 0;
  const words = [];
  if (refused.more > 0) words.push(`${refused.more} more are not listed.`);
  if (refused.lost > 0) words.push(`${refused.lost} refusals were not kept for want of room.`);
  write(more, words.join(" "));
}

// ---- Events. The server ends each stream after some seconds, and the browser asks again.

let heard = 0;

function connected(text, kind) {
  const badge = field("connection");
  write(badge, text);
  badge.className = `badge ${kind}`;
}

async function begin() {
  try {
    const answer = await fetch(at("state"), { headers: { accept: "application/json" } });
    if (answer.status === 401 || answer.status === 403) {
      connected("Not let in any more: load the page again", "bad");
      return;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    const view = await answer.json();
    history.clear();
    last = 0;
    keep(view);
    show(view);
    listen();
  } catch {
    connected("Not connected: trying again", "bad");
    setTimeout(begin, 3000);
  }
}

function listen() {
  const events = new EventSource(at("events"));
  events.onmessage = ({ data }) => {
    const view = JSON.parse(data);
    heard = Date.now();
    if (view.second < last || !keep(view)) {
      // The server has started anew, or this page has slept.
      events.close();
      begin();
      return;
    }
    connected("Live", "good");
    show(view);
  };
  events.onerror = () => {
    if (events.readyState === EventSource.CLOSED) {
      connected("Not connected: trying again", "bad");
      setTimeout(begin, 3000);
    }
  };
}

setInterval(() => {
  if (heard > 0 && Date.now() - heard > 5000) {
    heard = 0;
    connected("Not connected: trying again", "bad");
  }
}, 1000);

// ---- One client.

let asked = null;
let countdown;

function say(text, kind = "") {
  const said = field("said");
  said.className = kind;
  said.textContent = text;
}

async function post(path, body) {
  const answer = await fetch(at(path), {
    method: "POST",
    headers: { "content-type": "application/json", "x-rate-limit-admin": "1" },
    body: JSON.stringify(body),
  });
  if (answer.ok) return answer.json();
  const problem = await answer.json().catch(() => ({}));
  throw new Error(problem.detail || `the server answers ${answer.status}`);
}

function failed(error) {
  const text = error instanceof TypeError ? "the server cannot be reached" : error.message;
  say(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`, "bad");
}

async function lookUp(who) {
  asked = who;
  say("Looking up…");
  try {
    const found = await post("look-up", who);
    showFound(found);
    say(summary(found));
    field("found").focus();
  } catch (error) {
    field("found").replaceChildren();
    failed(error);
  }
}

const isCounted = (limit) => !limit.allowed || limit.reset_after_ms > 0 || limit.attempts.length > 0;

function summary({ clients, unknown }) {
  const counted = clients.flatMap((client) => client.limits.filter(isCounted));
  const refused = counted.filter((limit) => !limit.allowed);
  const words = [];
  if (counted.length === 0) words.push("Nothing is counted of this client.");
  else if (refused.length === 0) words.push("This client is admitted.");
  else words.push(`This client is refused at ${[...new Set(refused.map((limit) => limit.function))].join(", ")}.`);
  if (unknown.length > 0) words.push(`Not known before the first call: ${unknown.join(", ")}.`);
  return words.join(" ");
}

function showFound({ clients }) {
  const found = field("found");
  clearInterval(countdown);
  const now = Date.now();
  found.replaceChildren(...clients.map((client) => {
    const article = copy("standing");
    article.querySelector("code").textContent = client.client;
    const counted = client.limits.filter(isCounted);
    article.querySelector(".rows").append(...counted.map((limit) => limitRow(limit, now)));
    article.querySelector(".release-all").addEventListener("click", () => release());
    return article;
  }));
  countdown = setInterval(() => found.querySelectorAll(".wait[data-until]").forEach(count), 500);
}

function limitRow(limit, now) {
  const row = copy("limit-row");
  row.querySelector(".function").textContent = limit.place > 1 ? `${limit.function} #${limit.place}` : limit.function;
  row.querySelector(".policy").textContent = limit.policy;
  const times = limit.attempts.slice(-5).map((time) => new Date(time).toLocaleTimeString());
  const earlier = limit.attempts.length > times.length ? "… " : "";
  row.querySelector(".attempts").textContent = times.length > 0 ? `Attempts: ${earlier}${times.join(", ")}` : "";
  const state = row.querySelector(".wait");
  if (limit.allowed) {
    state.textContent = `${limit.remaining} of ${limit.limit} left`;
  } else if (limit.retry_after_ms === null) {
    state.textContent = "never admitted";
  } else {
    state.classList.add("bad");
    state.dataset.until = now + limit.retry_after_ms;
    count(state);
  }
  const button = row.querySelector("button");
  button.setAttribute("aria-label", `Release at ${limit.function}`);
  button.addEventListener("click", () => release(limit.function));
  return row;
}

function count(state) {
  const left = Number(state.dataset.until) - Date.now();
  write(state, left > 0 ? `refused for ${wait(left)}` : "would be admitted");
}

async function release(name) {
  const who = asked;
  for (const button of field("found").querySelectorAll("button")) button.disabled = true;
  try {
    const { counters } = await post("release", name ? { ...who, function: name } : who);
    const done = name ? `Released at ${name}.` : `Released: ${counters} ${counters === 1 ? "counter" : "counters"} deleted.`;
    try {
      showFound(await post("look-up", who));
    } catch {
      // Who was found by his hash is not refused any more, and so not found by it.
      field("found").replaceChildren();
    }
    say(done);
    field("found").focus();
  } catch (error) {
    for (const button of field("found").querySelectorAll("button")) button.disabled = false;
    failed(error);
  }
}

const fields = () => [...field("parts").querySelectorAll("input")];

field("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const blank = fields().find((input) => input.value.trim() === "");
  if (blank) {
    say("Fill in the id.", "bad");
    blank.focus();
    return;
  }
  lookUp({ parts: fields().map((input) => input.value) });
});

field("add-part").addEventListener("click", () => {
  const place = fields().length + 1;
  const part = document.createElement("div");
  part.className = "part";
  const label = document.createElement("label");
  label.htmlFor = `part-${place}`;
  label.textContent = `Part ${place} of the id`;
  const input = fields()[0].cloneNode();
  input.id = `part-${place}`;
  input.value = "";
  const remove = document.createElement("button");
  remove.type = "button";
  remove.textContent = "Take it away";
  remove.setAttribute("aria-label", `Take away part ${place} of the id`);
  remove.addEventListener("click", () => {
    part.remove();
    field("add-part").hidden = false;
    field("add-part").focus();
    renumber();
  });
  const row = document.createElement("div");
  row.className = "buttons";
  row.append(remove);
  part.append(label, input, row);
  field("parts").append(part);
  field("add-part").hidden = place === 8;
  input.focus();
});

function renumber() {
  [...field("parts").children].slice(1).forEach((part, place) => {
    const [label, input, remove] = ["label", "input", "button"].map((name) => part.querySelector(name));
    label.htmlFor = input.id = `part-${place + 2}`;
    label.textContent = `Part ${place + 2} of the id`;
    remove.setAttribute("aria-label", `Take away part ${place + 2} of the id`);
  });
}

begin();
