"use strict";

// One client: looked up and released.

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
