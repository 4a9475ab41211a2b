"use strict";

// What all scripts of the page share.

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
function writeName(heading, full) {
  const at = full.lastIndexOf("::");
  const path = heading.querySelector(".path");
  if (at >= 0) {
    for (const part of full.slice(0, at).split("::")) path.append(`${part}::`, document.createElement("wbr"));
  }
  heading.querySelector(".label").textContent = at < 0 ? full : full.slice(at + 2);
}

// Lists that are brought up to date in place, so that what has the focus keeps it.

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
