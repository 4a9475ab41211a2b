"use strict";

// What is shown each second, and where it comes from.

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
  for (const kept of past.values()) {
    for (const series of SERIES) kept[series].forEach((count, place) => (all[series][place] += count));
  }
  draw(field("all"), all, "All functions");

  field("no-functions").hidden = functions.length > 0;
  update(field("functions"), functions, (one) => one.name, (one) => {
    const card = copy("function");
    writeName(card.querySelector("h3"), one.name);
    return card;
  }, (card, one) => {
    const policies = one.limits.map((limit) => {
      const numbers = limit.policy || (limit.entry ? "no such policy" : "known after the first call");
      return limit.entry ? `${numbers} (${limit.entry})` : numbers;
    });
    update(card.querySelector(".policies"), policies, (text) => text, () => document.createElement("li"), write);
    draw(card.querySelector(".chart"), past.get(one.name), one.name);
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

// The server ends each stream after some seconds, and the browser asks again.

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
    past.clear();
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

begin();
