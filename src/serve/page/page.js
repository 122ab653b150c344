// The state of the page is the part of its address after #. Every link changes that part. The server renders fragments of HTML
// with all text escaped. This script inserts them and sets the addresses of their links.
"use strict";

const at = id => document.getElementById(id);
const [text, result, panel, list, alertBox, statusBox] = ["text", "result", "panel", "list", "alert", "status"].map(at);
const SUSPICIOUS = 0.8, CHUNK = 32;
/** The sentences of a file or of several lines, each with its state and how doubtful its parse is. */
let items = [];
let shown = { sentence: null, panel: null, edge: null };
let running = new AbortController();
/** The CoNLL-U as given, by the words and the sent_id in the address. The address does not hold the other columns. */
const blocks = new Map();
/** The content of the text box when a sentence was last shown. If it differs now, the user has typed since. */
let written = "";

// ---- The address

/** The rules that can be asked for. Without one, the bundle decides by its own. */
const RULES = ["sum", "nca", "knn"];

/** Reads the state from the address. Ignores invalid numbers and unknown rules. */
function read() {
  const state = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  for (const name of ["t", "n", "k", "edge", "word", "cited", "sentence", "g", "from"]) {
    if (name in state && !(state[name] !== "" && Number(state[name]) >= 0)) delete state[name];
  }
  if (!RULES.includes(state.rule)) delete state.rule;
  return state;
}
const write = state => {
  const kept = Object.entries(state).filter(([, value]) => value !== undefined && value !== null);
  return "#" + new URLSearchParams(kept);
};
/** Sets the address of a link. SVG links have no writable href property. */
const lead = (link, address) => link.setAttribute("href", address);
const go = state => { location.hash = write(state); };

/** The values of the controls; undefined for defaults and invalid values. */
function settings() {
  const rule = at("rule").value;
  const usual = (id, value) => (at(id).value === value || !at(id).checkValidity() ? undefined : at(id).value);
  return {
    rule: rule === "own" ? undefined : rule,
    t: rule === "nca" ? usual("temperature", "") : undefined,
    n: rule === "knn" ? usual("neighbors", "20") : undefined,
    k: usual("count", "20"),
  };
}

function showSettings(state) {
  at("rule").value = RULES.includes(state.rule) ? state.rule : "own";
  at("temperature").value = state.t ?? "";
  at("neighbors").value = state.n ?? "20";
  at("count").value = state.k ?? "20";
  for (const label of document.querySelectorAll("[data-rule]")) label.hidden = label.dataset.rule !== at("rule").value;
}

/** The part of a state that identifies the sentence and its settings, without an edge. */
const sentenceOf = ({ text, words, id, rule, t, n, k }) => ({ text, words, id, rule, t, n, k });
const key = state => write(sentenceOf(state));

/** The body of a request about the sentence of a state. */
function request(state, more = {}) {
  const rule = state.rule && { name: state.rule };
  if (state.rule === "nca" && state.t) rule.temperature = Number(state.t);
  if (state.rule === "knn") rule.neighbors = Number(state.n ?? 20);
  const body = { ...(rule && { rule }), ...(state.k && { count: Number(state.k) }), ...more };
  if (state.words === undefined) return { ...body, text: state.text, lines: true };
  const block = blocks.get(named(state));
  if (block !== undefined) return { ...body, conllu: block };
  if (state.id === undefined) return { ...body, words: state.words.split("\t") };
  return { ...body, conllu: conllu(state.words.split("\t"), state.id) };
}

const named = ({ words, id }) => `${id ?? ""}\n${words}`;

/** The CoNLL-U of a sentence with these words and this sent_id. */
function conllu(words, id) {
  const rows = words.map((word, at) => `${at + 1}\t${word}\t_\t_\t_\t_\t_\t_\t_\t_\n`);
  return `# sent_id = ${id}\n${rows.join("")}\n`;
}

// ---- Requests

/** Sends a request and returns the response. Retries while the server is overloaded. `signal` cancels it. */
async function ask(path, body, accept, signal, { method = "POST", token } = {}) {
  const headers = { "content-type": "application/json", accept, ...(token && { authorization: `Bearer ${token}` }) };
  const post = { method, body: JSON.stringify(body), headers };
  for (let tries = 0; ; tries++) {
    const response = await fetch(path, { ...(body === undefined ? { headers: { accept } } : post), signal });
    if (response.ok) return response;
    if (response.status === 503 && tries < 5) {
      await new Promise(done => setTimeout(done, 1000 * Number(response.headers.get("retry-after") ?? 1)));
      signal?.throwIfAborted();
      continue;
    }
    const problem = await response.json().catch(() => ({}));
    const detail = problem.detail ?? `The server answered ${response.status} ${response.statusText}.`;
    throw Object.assign(new Error(detail), { status: response.status });
  }
}

/** Parses HTML into nodes. Scripts in it do not run, even if the server failed to escape them. */
const parts = html => [...new DOMParser().parseFromString(html, "text/html").body.childNodes];

/** Replaces the content of an element by a response. Returns whether the old content had the focus, which is lost then. */
async function fill(place, path, body) {
  const { signal } = running;
  place.classList.add("busy");
  try {
    const html = await (await ask(path, body, "text/html", signal)).text();
    signal.throwIfAborted();
    const held = place.contains(document.activeElement);
    place.replaceChildren(...parts(html));
    return held;
  } catch (error) {
    if (!signal.aborted) place.replaceChildren();
    throw error;
  } finally {
    if (!signal.aborted) place.classList.remove("busy");
  }
}

// ---- Showing

async function show() {
  running.abort();
  running = new AbortController();
  [result, panel].forEach(place => place.classList.remove("busy"));
  const mine = running, state = read();
  alertBox.textContent = "";
  const treebank = ["find", "sent", "sentence", "cited"].some(name => name in state);
  at("ask").hidden = treebank;
  at("look").hidden = !treebank;
  mark(at("to-treebank"), treebank, "page");
  mark(at("to-sentences"), !treebank, "page");
  list.hidden = treebank || items.length < 2;
  try {
    await (treebank ? showTreebank(state) : showSentence(state));
  } catch (error) {
    if (mine.signal.aborted) return;
    shown.panel = null;
    if (!panel.childNodes.length) panel.hidden = true;
    if (!result.childNodes.length) shown.sentence = null;
    alertBox.textContent = error.status ? error.message : "The server does not respond. Is it still running?";
  }
  if (!mine.signal.aborted) document.dispatchEvent(new Event("shown"));
}

async function showSentence(state) {
  showSettings(state);
  const given = state.text ?? state.words?.replaceAll("\t", " ");
  at("help").hidden = given !== undefined;
  at("legend").hidden = at("downloads").hidden = given === undefined;
  if (given === undefined) {
    clear();
    document.title = "citree";
    return;
  }
  at("to-sentences").href = location.hash;
  if (!items.some(item => named(item.state) === named(state) && item.state.text === state.text)) {
    if (text.value.trim() !== given) text.value = given;
  }
  written = text.value.trim();
  document.title = `${given} – citree`;
  if (shown.sentence !== key(state)) {
    clear();
    await fill(result, "/view/sentence", request(state));
    shown.sentence = key(state);
    for (const link of result.querySelectorAll("[data-edge]")) lead(link, write({ ...sentenceOf(state), edge: link.dataset.edge }));
    if (list.contains(document.activeElement)) result.scrollIntoView({ block: "nearest" });
    const doubts = result.querySelectorAll(".doubtful").length;
    statusBox.textContent = `Parsed: ${result.querySelectorAll("[data-edge]").length} words, ${doubts} suspicious.`;
  }
  current(state);
  await showPanel(state);
}

async function showPanel(state) {
  for (const link of result.querySelectorAll("[data-edge]")) {
    const open = link.dataset.edge === state.edge;
    link.classList.toggle("open", open);
    link.setAttribute("aria-expanded", open);
  }
  if (state.edge === undefined) {
    const held = panel.contains(document.activeElement);
    closePanel();
    if (held) result.querySelector(`[data-edge="${CSS.escape(shown.edge ?? "")}"]`)?.focus();
    return;
  }
  shown.edge = state.edge;
  result.querySelector("a.edge.open .word")?.scrollIntoView({ block: "nearest", inline: "center" });
  const wanted = write({ ...state });
  if (shown.panel === wanted) return;
  panel.hidden = false;
  const why_not = state.why ? [state.why] : [];
  const held = await fill(panel, "/view/edge", request(state, { edges: [Number(state.edge)], why_not, by: ["label", "genre"] }));
  shown.panel = wanted;
  for (const link of panel.querySelectorAll("[data-why]")) lead(link, write({ ...state, why: link.dataset.why || undefined }));
  for (const link of panel.querySelectorAll("[data-close]")) lead(link, write(sentenceOf(state)));
  cited(panel);
  reveal(panel.querySelector(state.why ? "h4" : "h3"), held);
}

async function showTreebank(state) {
  at("help").hidden = at("downloads").hidden = at("legend").hidden = true;
  closePanel();
  shown = { sentence: null, panel: null, edge: null };
  document.title = `${state.sent ?? "Treebank"} – citree`;
  if ("find" in state) {
    if (at("find").value.trim() !== state.find) at("find").value = state.find;
    const query = new URLSearchParams({ find: state.find, from: state.from ?? 0 });
    await fill(result, `/view/find?${query}`);
    for (const link of result.querySelectorAll("[data-from]")) lead(link, write({ ...state, from: link.dataset.from }));
    cited(result);
    return;
  }
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({
    edge: state.cited, generation: state.g, sent_id: state.sent, sentence: state.sentence, word: state.word,
  })) if (value !== undefined) query.set(name, value);
  const held = await fill(result, `/view/training?${query}`);
  const { word, ...rest } = state;
  for (const link of result.querySelectorAll("[data-edge]")) {
    lead(link, write({ ...rest, word: link.dataset.edge }));
    const open = link.dataset.edge === word;
    link.classList.toggle("open", open);
    link.setAttribute("aria-expanded", open);
  }
  for (const link of result.querySelectorAll("[data-close]")) lead(link, write(rest));
  cited(result);
  result.querySelector("a.edge.open .word")?.scrollIntoView({ block: "nearest", inline: "center" });
  if (word !== undefined) reveal(result.querySelector("h3"), false);
  if (held) (result.querySelector("a.edge.open") ?? result).focus();
}

/** Links to training sentences: by sent_id, which stays valid, and by number, which is exact for this generation of the index. */
function cited(place) {
  for (const link of place.querySelectorAll("[data-cited], [data-sentence]")) {
    const { cited, sentence, sent, word } = link.dataset;
    const g = link.closest("[data-generation]")?.dataset.generation;
    lead(link, write({ sent: sent || undefined, cited: cited || undefined, sentence, g, word }));
  }
}

function clear() {
  result.replaceChildren();
  shown.sentence = null;
  closePanel();
}

function closePanel() {
  panel.hidden = true;
  panel.replaceChildren();
  shown.panel = null;
}

/** Scrolls a heading into view if necessary, and announces it to screen readers. */
function reveal(heading, focus) {
  if (!heading) return;
  heading.scrollIntoView({ block: "nearest" });
  statusBox.textContent = heading.textContent;
  if (focus) heading.focus();
}

// ---- Several sentences

/** Splits CoNLL-U (also with spaces instead of tabs) or lines of text into sentences. Returns the state of each. */
function sentencesIn(content) {
  const rows = /^\d+([-.]\d+)?[ \t]+\S+([ \t]+\S+){8}[ \t]*$/m;
  if (!/^\d+(-\d+)?\t[^\t\n]*\t/m.test(content) && !rows.test(content)) {
    return content.split("\n").map(line => line.trim()).filter(Boolean).map(line => ({ text: line }));
  }
  return content.replaceAll("\r", "").split(/\n\s*\n/).map(block => {
    const lines = block.split("\n").map(line => (!line.includes("\t") && rows.test(line) ? line.trim().split(/ +/).join("\t") : line));
    const words = lines.filter(line => /^\d+\t/.test(line)).map(line => line.split("\t")[1]).join("\t");
    const id = block.match(/^#\s*sent_id\s*=\s*(.+?)\s*$/m)?.[1];
    blocks.set(named({ words, id }), lines.join("\n").trim() + "\n\n");
    return { words, id };
  }).filter(state => state.words);
}

async function load(content) {
  if (/[\0\ufffd]/.test(content)) {
    alertBox.textContent = "The file is not UTF-8 text. Save it as UTF-8 first.";
    return;
  }
  blocks.clear();
  const states = sentencesIn(content);
  if (!states.length) return;
  items = states.map(state => ({ state, lowest: null, doubts: null }));
  if (states.length === 1) items = [];
  list.hidden = items.length < 2;
  draw();
  go({ ...states[0], ...settings() });
  const mine = items;
  for (let first = 0; first < mine.length && mine === items; first += CHUNK) {
    const some = mine.slice(first, first + CHUNK);
    await judge(some).catch(async error => {
      // One of them cannot be parsed, so each is tried alone. If the server is gone, none changes.
      if (!(error.status < 500)) throw error;
      for (const item of some) await judge([item]).catch(error => { item.problem = error.message; });
    }).catch(() => {});
    if (mine === items) some.forEach(flag);
  }
}

/** The body of a request about several sentences of the list. */
function together(some) {
  return some[0].state.words === undefined
    ? { text: some.map(item => item.state.text).join("\n"), lines: true }
    : { conllu: some.map(item => blocks.get(named(item.state)) ?? conllu(item.state.words.split("\t"), item.state.id ?? "_")).join("") };
}

async function judge(some) {
  const answer = await (await ask("/v1/parse", together(some), "application/json")).json();
  if (answer.sentences.length !== some.length) throw Object.assign(new Error("The sentence has no words."), { status: 422 });
  answer.sentences.forEach((parsed, at) => {
    const certain = parsed.probabilities.map(both => Math.min(...both));
    some[at].lowest = Math.min(...certain);
    some[at].doubts = certain.filter(one => one < SUSPICIOUS).length;
  });
}

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** Shows next to a sentence of the list how doubtful it is. */
function flag({ row, doubts, lowest, problem }) {
  const [words, title] = problem ? ["not parsed", problem]
    : doubts === null ? ["…", ""]
    : doubts ? [`${doubts} ?, lowest ${Math.floor(lowest * 100)} %`, ""]
    : ["sure", ""];
  const place = row.querySelector(".flag");
  Object.assign(place, { textContent: words, title, className: problem || doubts ? "flag doubt" : "flag" });
}

function draw() {
  const sorted = list.dataset.sorted === "doubt";
  for (const item of items) {
    const words = element("bdi", { textContent: item.state.text ?? item.state.words.replaceAll("\t", " ") });
    const name = element("span", { className: "soft", textContent: item.state.id ?? "" });
    const flags = element("span", { className: "flag" });
    const link = element("a", { href: write({ ...item.state, ...settings() }) }, words, name, flags);
    item.row = element("li", {}, link);
    flag(item);
  }
  const order = sorted ? [...items].sort((a, b) => (a.lowest ?? 2) - (b.lowest ?? 2)) : items;
  const toggle = element("button", { type: "button", textContent: sorted ? "In original order" : "Most doubtful first" });
  toggle.addEventListener("click", () => {
    list.dataset.sorted = sorted ? "" : "doubt";
    draw();
    list.querySelector("button").focus();
  });
  const all = element("button", { type: "button", textContent: "Download all parses" });
  all.addEventListener("click", downloadAll);
  const title = element("h2", { id: "list-title", textContent: `${items.length} sentences` });
  const rule = element("span", { className: "soft", textContent: "by the bundle's own rule" });
  list.replaceChildren(
    element("div", { className: "row" }, title, rule, toggle, all),
    element("ol", { className: "items" }, ...order.map(item => item.row)),
  );
  current(read());
}

const mark = (link, current, how) => (current ? link.setAttribute("aria-current", how) : link.removeAttribute("aria-current"));

/** Marks the shown sentence in the list. */
function current(state) {
  for (const link of list.querySelectorAll(".items a")) {
    const own = Object.fromEntries(new URLSearchParams(link.hash.slice(1)));
    const same = own.text === state.text && own.words === state.words && own.id === state.id;
    mark(link, same, "true");
  }
}

// ---- User input

at("ask").addEventListener("submit", event => {
  event.preventDefault();
  shown.sentence = shown.panel = null;
  const before = location.hash;
  load(text.value);
  if (before === location.hash) show();
});
text.addEventListener("keydown", event => {
  const parse = event.ctrlKey || event.metaKey || !event.shiftKey && !text.value.includes("\n");
  if (event.key === "Enter" && parse && !event.isComposing) {
    event.preventDefault();
    at("ask").requestSubmit();
  }
});
at("file").addEventListener("change", async event => {
  const file = event.target.files[0];
  if (file) await load(await file.text());
  event.target.value = "";
});
for (const id of ["rule", "temperature", "neighbors", "count"]) at(id).addEventListener("change", () => {
  if (!at(id).reportValidity()) return;
  for (const label of document.querySelectorAll("[data-rule]")) label.hidden = label.dataset.rule !== at("rule").value;
  const state = read();
  // If the user has typed since, the new text is parsed, not the old one.
  if (text.value.trim() !== written) at("ask").requestSubmit();
  else if ((state.text ?? state.words) !== undefined) go({ ...state, rule: undefined, t: undefined, n: undefined, ...settings(), why: undefined });
  for (const item of items) item.row.firstChild.href = write({ ...item.state, ...settings() });
});
at("look").addEventListener("submit", event => {
  event.preventDefault();
  const address = write({ find: at("find").value.trim() });
  if (location.hash === address) show();
  else location.hash = address;
});

function save(parts, name) {
  const link = element("a", { href: URL.createObjectURL(new Blob(parts)), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

at("downloads").addEventListener("click", async event => {
  const { accept, ending } = event.target.dataset;
  if (!accept) return;
  const state = read();
  try {
    const response = await ask("/v1/explain", request(state), accept);
    save([await response.blob()], `${(state.id ?? "citree").replace(/[^\p{L}\p{N}._-]/gu, "_")}.${ending}`);
  } catch (error) {
    alertBox.textContent = error.message;
  }
});

/** Downloads the parses of all sentences of the list, with their probabilities. */
async function downloadAll() {
  const parsed = [];
  try {
    for (let first = 0; first < items.length; first += CHUNK) {
      const some = items.slice(first, first + CHUNK).filter(item => !item.problem);
      if (some.length) parsed.push(await (await ask("/v1/parse", together(some), "text/x-conllu")).text());
    }
    save(parsed, "citree.conllu");
  } catch (error) {
    alertBox.textContent = error.message;
  }
}
at("copy").addEventListener("click", async event => {
  const button = event.target;
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copy it from the address bar";
  }
  setTimeout(() => { button.textContent = "Copy link"; }, 2000);
});

/** The address without the open edge. With `innermost`, without the open question alone if there is one. */
function closed(innermost) {
  const { edge, why, word, ...rest } = read();
  return write(innermost && why ? { ...rest, edge } : rest);
}

// Choosing an open edge closes it. Escape closes it too. Space chooses an edge like Enter. If an edge could not be shown,
// choosing it tries again.
document.addEventListener("click", event => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  if (event.target.closest?.(".skip")) {
    event.preventDefault();
    result.focus();
    return;
  }
  const link = event.target.closest?.("a.edge.open");
  if (!link) return;
  event.preventDefault();
  if (panel.hidden && !result.querySelector(".panel")) show();
  else location.hash = closed();
});
document.addEventListener("keydown", event => {
  const link = event.target.closest?.("a.edge");
  if (event.key === " " && link) {
    event.preventDefault();
    link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
  } else if (event.key === "Escape" && (!panel.hidden || result.querySelector(".panel"))) {
    const open = panel.hidden || read().why ? null : result.querySelector("a.edge.open");
    location.hash = closed(true);
    open?.focus();
  }
});

window.addEventListener("hashchange", show);
/** The facts of the bundle, and whether the server allows changes. */
const ready = fetch("/readyz").then(response => response.json());
ready.then(({ bundle, system, edges, sentences }) => {
  const thousands = number => number.toLocaleString("en");
  at("bundle").textContent =
    `${bundle}: ${system}, cites ${thousands(edges)} training edges of ${thousands(sentences)} sentences`;
}).catch(() => {});
show();
