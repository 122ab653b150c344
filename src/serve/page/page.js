// The page's state is its address: what is shown follows from the part after #, and every link is such an address. The server
// makes the parts as HTML with all text escaped; here they are put in place, and their links given their addresses.
"use strict";

const at = id => document.getElementById(id);
const [text, result, panel, list, alertBox, statusBox] = ["text", "result", "panel", "list", "alert", "status"].map(at);
const SUSPICIOUS = 0.8, CHUNK = 32;
/** Sentences of a file or of several lines: what each is, and how doubtful its parse. */
let items = [];
let shown = { sentence: null, panel: null };
let running = new AbortController();

// ---- The address

const read = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const write = state => {
  const kept = Object.entries(state).filter(([, value]) => value !== undefined && value !== null);
  return "#" + new URLSearchParams(kept);
};
/** Links in a drawing have no href of their own to set. */
const lead = (link, address) => link.setAttribute("href", address);
const go = state => { location.hash = write(state); };

/** What the controls say, as far as it is not the usual. */
function settings() {
  const rule = at("rule").value, usual = (id, value) => (at(id).value === value ? undefined : at(id).value);
  return {
    rule: rule === "sum" ? undefined : rule,
    t: rule === "nca" ? usual("temperature", "256") : undefined,
    n: rule === "knn" ? usual("neighbors", "10") : undefined,
    k: usual("count", "10"),
  };
}

function showSettings(state) {
  at("rule").value = ["nca", "knn"].includes(state.rule) ? state.rule : "sum";
  at("temperature").value = state.t ?? "256";
  at("neighbors").value = state.n ?? "10";
  at("count").value = state.k ?? "10";
  for (const label of document.querySelectorAll("[data-rule]")) label.hidden = label.dataset.rule !== at("rule").value;
}

/** The same sentence and settings, with another edge or none. */
const sentenceOf = ({ text, words, id, rule, t, n, k }) => ({ text, words, id, rule, t, n, k });
const key = state => write(sentenceOf(state));

/** The body of a request about the sentence of a state. */
function request(state, more = {}) {
  const inference = { rule: state.rule ?? "sum" };
  if (state.rule === "nca") inference.temperature = Number(state.t ?? 256);
  if (state.rule === "knn") inference.neighbors = Number(state.n ?? 10);
  const body = { inference, count: Number(state.k ?? 10), ...more };
  if (state.words === undefined) return { ...body, text: state.text };
  if (state.id === undefined) return { ...body, words: state.words.split("\t") };
  return { ...body, conllu: conllu(state.words.split("\t"), state.id) };
}

/** Words as the CoNLL-U of a sentence with a name. */
function conllu(words, id) {
  const rows = words.map((word, at) => `${at + 1}\t${word}\t_\t_\t_\t_\t_\t_\t_\t_\n`);
  return `# sent_id = ${id}\n${rows.join("")}\n`;
}

// ---- Asking the server

async function ask(path, body, accept = "text/html") {
  const post = { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json", accept } };
  for (let tries = 0; ; tries++) {
    const response = await fetch(path, { ...(body === undefined ? { headers: { accept } } : post), signal: running.signal });
    if (response.ok) return response;
    if (response.status === 503 && tries < 3) {
      await new Promise(done => setTimeout(done, 1000 * Number(response.headers.get("retry-after") ?? 1)));
      continue;
    }
    const problem = await response.json().catch(() => ({}));
    throw new Error(problem.detail ?? `The server answered ${response.status} ${response.statusText}.`);
  }
}

/** Parts of the page from HTML; a script in it would not run, even if the server had not escaped it. */
const parts = html => [...new DOMParser().parseFromString(html, "text/html").body.childNodes];

async function fill(place, path, body) {
  place.classList.add("busy");
  try {
    const html = await (await ask(path, body)).text();
    place.replaceChildren(...parts(html));
  } finally {
    place.classList.remove("busy");
  }
}

// ---- Showing

async function show() {
  running.abort();
  running = new AbortController();
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
    shown = { sentence: null, panel: null };
    if (!(error.name === "AbortError")) alertBox.textContent = error.message || "The server does not answer.";
  }
}

async function showSentence(state) {
  showSettings(state);
  const given = state.text ?? state.words?.replaceAll("\t", " ");
  at("help").hidden = given !== undefined;
  at("downloads").hidden = given === undefined;
  if (given === undefined) {
    clear();
    document.title = "citree";
    return;
  }
  if (!items.some(item => key({ ...state, ...item.state }) === key(state))) {
    if (text.value.trim() !== given) text.value = given;
  }
  document.title = `${given} – citree`;
  if (shown.sentence !== key(state)) {
    clear();
    await fill(result, "/view/sentence", request(state));
    shown.sentence = key(state);
    for (const link of result.querySelectorAll("[data-edge]")) lead(link, write({ ...sentenceOf(state), edge: link.dataset.edge }));
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
  if (state.edge === undefined) return closePanel();
  result.querySelector("a.edge.open .word")?.scrollIntoView({ block: "nearest", inline: "center" });
  const wanted = write({ ...state });
  if (shown.panel === wanted) return;
  panel.hidden = false;
  const why_not = state.why ? [state.why] : [];
  await fill(panel, "/view/edge", request(state, { edges: [Number(state.edge)], why_not, by: ["label", "genre"] }));
  shown.panel = wanted;
  for (const link of panel.querySelectorAll("[data-why]")) lead(link, write({ ...state, why: link.dataset.why || undefined }));
  for (const link of panel.querySelectorAll("[data-close]")) lead(link, write(sentenceOf(state)));
  cited(panel);
  reveal(panel.querySelector(state.why ? "h4" : "h3"));
}

async function showTreebank(state) {
  at("help").hidden = at("downloads").hidden = true;
  closePanel();
  shown = { sentence: null, panel: null };
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
    edge: state.cited, generation: state.g, sent_id: state.sent, sentence: state.sentence, word: state.word, count: state.k,
  })) if (value !== undefined) query.set(name, value);
  await fill(result, `/view/training?${query}`);
  const { word, ...rest } = state;
  for (const link of result.querySelectorAll("[data-edge]")) {
    lead(link, write({ ...rest, word: link.dataset.edge }));
    const open = link.dataset.edge === word;
    link.classList.toggle("open", open);
    link.setAttribute("aria-expanded", open);
  }
  for (const link of result.querySelectorAll("[data-close]")) lead(link, write(rest));
  cited(result);
  if (word !== undefined) reveal(result.querySelector("h3"));
}

/** Links to training sentences: by name, which lasts, and by number, which is exact for this generation of the index. */
function cited(place) {
  for (const link of place.querySelectorAll("[data-cited], [data-sentence]")) {
    const { cited, sentence, sent, word } = link.dataset;
    const g = link.closest("[data-generation]")?.dataset.generation;
    lead(link, write({ sent: sent || undefined, cited, sentence, g, word }));
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

/** Brings the beginning of something into view, where it is not, and under the eyes of a screen reader. */
function reveal(heading) {
  if (!heading) return;
  heading.scrollIntoView({ block: "nearest" });
  statusBox.textContent = heading.textContent;
}

// ---- Several sentences

/** CoNLL-U or lines, each sentence as the state that shows it. */
function sentencesIn(content) {
  if (!/^\d+(-\d+)?\t[^\t\n]*\t/m.test(content)) {
    return content.split("\n").map(line => line.trim()).filter(Boolean).map(line => ({ text: line }));
  }
  return content.replaceAll("\r", "").split(/\n\s*\n/).map(block => {
    const rows = block.split("\n").filter(line => /^\d+\t/.test(line)).map(line => line.split("\t")[1]);
    const id = block.match(/^#\s*sent_id\s*=\s*(.+?)\s*$/m)?.[1];
    return { words: rows.join("\t"), id };
  }).filter(state => state.words);
}

async function load(content) {
  const states = sentencesIn(content);
  if (!states.length) return;
  items = states.map(state => ({ state, lowest: null, doubts: null }));
  if (states.length === 1) items = [];
  draw();
  go({ ...states[0], ...settings() });
  const mine = items;
  for (let first = 0; first < mine.length; first += CHUNK) {
    const some = mine.slice(first, first + CHUNK);
    try {
      await judge(some);
    } catch {
      // One of them cannot be parsed: each by itself, then.
      for (const item of some) await judge([item]).catch(error => { item.problem = error.message; });
    }
    if (mine !== items) return;
    draw();
  }
}

async function judge(some) {
  const words = item => item.state.words?.split("\t");
  const body = words(some[0])
    ? { conllu: some.map(item => conllu(words(item), item.state.id ?? "_")).join("") }
    : { text: some.map(item => item.state.text).join("\n") };
  const response = await fetch("/v1/parse", {
    method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" },
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail);
  answer.sentences.forEach((parsed, at) => {
    const certain = parsed.probabilities.map(both => Math.min(...both));
    some[at].lowest = Math.min(...certain);
    some[at].doubts = certain.filter(one => one < SUSPICIOUS).length;
  });
}

function draw() {
  list.hidden = items.length < 2;
  if (list.hidden) return;
  const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };
  const judged = items.filter(item => item.doubts !== null || item.problem).length;
  const sorted = list.dataset.sorted === "doubt";
  const order = sorted ? [...items].sort((a, b) => (a.lowest ?? 2) - (b.lowest ?? 2)) : items;
  const flag = ({ doubts, lowest, problem }) => {
    if (problem) return element("span", { className: "flag doubt", textContent: "not parsed", title: problem });
    if (doubts === null) return element("span", { className: "flag", textContent: "…" });
    if (!doubts) return element("span", { className: "flag", textContent: "sure" });
    return element("span", { className: "flag doubt", textContent: `${doubts} ?, lowest ${Math.floor(lowest * 100)} %` });
  };
  const rows = order.map(item => {
    const words = element("bdi", { textContent: item.state.text ?? item.state.words.replaceAll("\t", " ") });
    const link = element("a", { href: write({ ...item.state, ...settings() }) }, words, flag(item));
    return element("li", {}, link);
  });
  const toggle = element("button", { type: "button", textContent: sorted ? "In their order" : "Most doubtful first" });
  toggle.addEventListener("click", () => {
    list.dataset.sorted = sorted ? "" : "doubt";
    draw();
    list.querySelector("button").focus();
  });
  const title = element("h2", { id: "list-title", textContent: `${items.length} sentences` });
  const progress = judged < items.length ? `, ${judged} looked at` : "";
  list.replaceChildren(
    element("div", { className: "row" }, title, element("span", { className: "soft", textContent: `by the sum rule${progress}` }), toggle),
    element("ol", { className: "items" }, ...rows),
  );
  current(read());
}

const mark = (link, current, how) => (current ? link.setAttribute("aria-current", how) : link.removeAttribute("aria-current"));

/** Marks what is shown in the list. */
function current(state) {
  for (const link of list.querySelectorAll(".items a")) {
    const own = Object.fromEntries(new URLSearchParams(link.hash.slice(1)));
    const same = own.text === state.text && own.words === state.words && own.id === state.id;
    mark(link, same, "true");
  }
}

// ---- What a person does

at("ask").addEventListener("submit", event => {
  event.preventDefault();
  shown.sentence = null;
  const before = location.hash;
  load(text.value);
  if (before === location.hash) show();
});
text.addEventListener("keydown", event => {
  if (event.key === "Enter" && !event.shiftKey && !text.value.includes("\n")) {
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
  const state = read();
  showSettings({ ...state, ...settings() });
  if (at(id).checkValidity() && (state.text ?? state.words) !== undefined) go({ ...state, ...settings(), why: undefined });
  draw();
});
at("look").addEventListener("submit", event => {
  event.preventDefault();
  go({ find: at("find").value.trim() });
});

at("downloads").addEventListener("click", async event => {
  const { accept, ending } = event.target.dataset;
  if (!accept) return;
  try {
    const response = await ask("/v1/explain", request(read()), accept);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await response.blob());
    link.download = `citree.${ending}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  } catch (error) {
    alertBox.textContent = error.message;
  }
});
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

// Choosing an edge that is open closes it; Escape closes it too, and Space chooses as Enter does.
document.addEventListener("click", event => {
  const link = event.target.closest?.("a.edge.open");
  const close = (link?.closest("#result") && (panel.querySelector("[data-close]") ?? result.querySelector("[data-close]")));
  if (!close || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  location.hash = close.hash;
});
document.addEventListener("keydown", event => {
  const link = event.target.closest?.("a.edge");
  if (event.key === " " && link) {
    event.preventDefault();
    link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
  } else if (event.key === "Escape") {
    const close = panel.querySelector("[data-close]") ?? result.querySelector("[data-close]");
    if (!close) return;
    const open = result.querySelector("a.edge.open");
    location.hash = close.hash;
    open?.focus();
  }
});

window.addEventListener("hashchange", show);
fetch("/readyz").then(response => response.json()).then(ready => {
  const thousands = number => number.toLocaleString("en");
  at("bundle").textContent =
    `${ready.bundle}: ${ready.system}, cites ${thousands(ready.edges)} training edges of ${thousands(ready.sentences)} sentences`;
}).catch(() => {});
show();
