// Corrections of parses, on a server that lets its evidence be changed. This script corrects the CoNLL-U of the parse that the
// page shows, sends it to the server and lists what was changed in this window. It uses the functions of page.js.
"use strict";

{
/** The corrections that are not added yet: by the words of a sentence, for each word its new head and label. */
const pending = new Map();
/** What the forms are about: the shown sentence, and the word of the chosen edge. */
let drawn = { sentence: null, edge: null };
/** What was changed in this window, oldest first, and the generation that the last change made. */
let session = { generation: null, changes: [] };
/** Where the browser keeps both, and the token, until the window is closed. */
let names = { session: "", token: "" };
let labels = [];

// ---- The sentence

/** The parse that the page shows, from its CoNLL-U: rows of columns, words, and the sent_id if it has one. */
function parsed() {
  const block = result.querySelector("pre.conllu")?.textContent;
  if (!block) return null;
  const lines = block.trim().split("\n");
  const rows = lines.filter(line => /^\d+\t/.test(line)).map(line => line.split("\t"));
  const id = block.match(/^#\s*sent_id\s*=\s*(.+?)\s*$/m)?.[1];
  return { lines, rows, id, words: rows.map(row => row[1]).join("\t") };
}

const form = (sentence, word) => (word === 0 ? "ROOT" : `‘${sentence.rows[word - 1][1]}’`);
const edgeOf = (sentence, word) => ({ head: Number(sentence.rows[word - 1][6]), label: sentence.rows[word - 1][7] });
const described = (sentence, word, { head, label }) => `${form(sentence, word)} is ${label} of ${form(sentence, head)}`;

/** The last change of this window that is about these words. */
const lastOf = sentence => session.changes.findLast(one => one.words === sentence.words);

/** The edges that somebody checked: those of the last change of the sentence, which the parse need not follow, and the new ones. */
const checkedOf = sentence => new Map([...(lastOf(sentence)?.edges ?? []), ...(pending.get(sentence.words) ?? [])]);

/** The sentence with checked edges and a sent_id, as CoNLL-U. The others are marked as no evidence. */
function corrected(sentence, checked, id) {
  const lines = sentence.lines.filter(line => !/^#\s*sent_id\s*=/.test(line)).map(line => {
    const columns = line.split("\t"), word = /^\d+$/.test(columns[0]) && Number(columns[0]);
    if (!word) return line;
    const own = checked.get(word);
    if (own) [columns[6], columns[7]] = [own.head, own.label];
    const others = columns[9].split("|").filter(pair => pair !== "_" && pair !== "Evidence=No");
    columns[9] = [...others, ...(own ? [] : ["Evidence=No"])].join("|") || "_";
    return columns.join("\t");
  });
  return `# sent_id = ${id}\n${lines.join("\n")}\n\n`;
}

/** Why the sentence with its checked edges is no tree; empty if it is one. */
function fault(sentence) {
  const checked = checkedOf(sentence);
  const heads = sentence.rows.map((_, at) => (checked.get(at + 1) ?? edgeOf(sentence, at + 1)).head);
  const roots = heads.flatMap((head, at) => (head === 0 ? [form(sentence, at + 1)] : []));
  if (roots.length !== 1) return roots.length ? `${roots.join(" and ")} are all below ROOT. Only one word can be.` : "No word is below ROOT.";
  for (let start = 1; start <= heads.length; start++) {
    let word = start, path = [];
    while (word !== 0 && !path.includes(word)) {
      path.push(word);
      word = heads[word - 1];
    }
    if (word !== 0) return `${path.slice(path.indexOf(word)).map(one => form(sentence, one)).join(" and ")} depend on each other.`;
  }
  return "";
}

/** A short name that another text, or the same at another time, does not get. */
function fresh(text) {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(`${Date.now()} ${text}`)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return `correction-${hash.toString(16).padStart(8, "0")}`;
}

// ---- Showing

function redraw() {
  const sentence = parsed();
  const edge = Number(read().edge);
  const chosen = sentence && edge >= 1 && edge <= sentence.rows.length ? edge : null;
  const same = drawn.edge === chosen && drawn.sentence?.lines.join() === sentence?.lines.join();
  drawn = { sentence, edge: chosen };
  at("correct").hidden = !sentence;
  at("changes").hidden = session.changes.length === 0 && !at("outcome").textContent;
  if (!sentence) return;
  at("correction").hidden = !chosen;
  at("how").hidden = Boolean(chosen);
  if (chosen && !same) drawForm(sentence, chosen);
  drawPending(sentence);
}

function drawForm(sentence, word) {
  const { head, label } = pending.get(sentence.words)?.get(word) ?? edgeOf(sentence, word);
  at("corrected").textContent = form(sentence, word);
  const option = (value, text, chosen) => element("option", { value, textContent: text, selected: value === chosen });
  at("new-label").replaceChildren(...labels.map(name => option(name, name, label)));
  const heads = [0, ...sentence.rows.map((_, at) => at + 1)].filter(one => one !== word);
  at("new-head").replaceChildren(...heads.map(one => option(one, one === 0 ? "ROOT" : `${one} ${sentence.rows[one - 1][1]}`, head)));
}

function drawPending(sentence) {
  const corrections = pending.get(sentence.words) ?? new Map();
  at("lesson").hidden = corrections.size === 0;
  at("corrections").replaceChildren(...[...corrections].map(([word, edge]) => {
    const keep = element("button", { type: "button", textContent: "Discard" });
    keep.setAttribute("aria-label", `Discard the correction of ${form(sentence, word)}`);
    keep.addEventListener("click", () => {
      corrections.delete(word);
      drawn.edge = null;
      redraw();
      (at("lesson").hidden ? result : at("add").querySelector("button")).focus();
    });
    const before = element("span", { className: "soft", textContent: `, not ${described(sentence, word, edgeOf(sentence, word))} ` });
    return element("li", {}, element("bdi", { textContent: described(sentence, word, edge) }), before, keep);
  }));
  const others = sentence.rows.length - corrections.size;
  const all = others === 1 ? "The other edge counts as you see it." : `The other ${others} edges count as you see them.`;
  const some = corrections.size === 1 ? "Only the corrected edge counts. " : "Only the corrected edges count. ";
  at("others").textContent = (others ? at("whole").checked ? `${all} ` : some : "") + fault(sentence);
}

function drawChanges() {
  at("made").replaceChildren(...session.changes.map(({ id, text, what }) => {
    const words = element("bdi", { textContent: text }), edges = element("span", { className: "soft", textContent: what });
    return element("li", {}, element("a", { href: write({ sent: id }) }, words, edges));
  }));
  for (const button of ["undo", "take"]) at(button).disabled = session.changes.length === 0;
}

// ---- Requests

/** The token, which is asked for once. */
async function token() {
  const known = sessionStorage.getItem(names.token);
  if (known) return known;
  const before = document.activeElement;
  at("token-form").hidden = false;
  at("token").focus();
  try {
    return await new Promise((resolve, reject) => {
      at("token-form").onsubmit = event => {
        event.preventDefault();
        resolve(at("token").value.trim());
      };
      at("no-token").onclick = () => reject(Object.assign(new Error(""), { status: 401, left: true }));
    });
  } finally {
    at("token").value = "";
    at("token-form").hidden = true;
    before?.focus();
  }
}

/** Makes a change and returns the answer. A token that the server refuses is asked for again. */
async function change(method, path, body) {
  for (;;) {
    const own = await token();
    try {
      const answer = await (await ask(path, { who: "page", ...body }, "application/json", undefined, { method, token: own })).json();
      sessionStorage.setItem(names.token, own);
      alertBox.textContent = "";
      return answer;
    } catch (error) {
      if (error.status !== 401) throw error;
      sessionStorage.removeItem(names.token);
      alertBox.textContent = error.message;
    }
  }
}

/** The words of the training sentence of this name; null if there is none. */
async function wordsOf(id) {
  const query = new URLSearchParams({ find: id, count: 100 });
  const { sentences, generation } = await (await ask(`/v1/sentences?${query}`, undefined, "application/json")).json();
  const found = sentences.find(one => one.sent_id === id);
  if (!found) return null;
  const answer = await ask(`/v1/sentences/${found.sentence}?generation=${generation}`, undefined, "application/json");
  return (await answer.json()).words.map(word => word.form).join("\t");
}

async function add() {
  const { sentence } = drawn, corrections = pending.get(sentence.words);
  const before = lastOf(sentence);
  const text = sentence.words.replaceAll("\t", " ");
  const theirs = sentence.id !== undefined && before?.id !== sentence.id ? await wordsOf(sentence.id) : null;
  const known = theirs === sentence.words;
  // A name that another sentence has is not taken from it.
  const taken = theirs !== null && !known;
  const id = (taken ? undefined : sentence.id) ?? before?.id ?? fresh(text);
  const action = before?.id === id || known ? "replace" : "add";
  // What is in the place of a training sentence is evidence as a whole, as that was.
  const whole = known || at("whole").checked;
  const seen = whole ? sentence.rows.map((_, at) => [at + 1, edgeOf(sentence, at + 1)]) : [];
  const checked = new Map([...seen, ...checkedOf(sentence)]);
  const conllu = corrected(sentence, checked, id);
  const weight = Number(at("weight").value);
  const what = [...corrections].map(([word, edge]) => described(sentence, word, edge)).join("; ");
  const message = at("why").value.trim() || what.slice(0, 120);
  const treebank = { ...(action === "add" && { name: "corrections" }), ...(!known && { weight }) };
  const { generation } = await change("POST", "/v1/evidence", { conllu, action, message, ...treebank });
  pending.delete(sentence.words);
  at("why").value = "";
  at("whole").checked = false;
  session.changes.push({ id, text, what, conllu, words: sentence.words, edges: [...checked] });
  const how = known ? `In the place of ${id}` : taken ? `As ${id}, because another sentence is called ${sentence.id},` : "Added";
  await changed(generation, `${how} ${known || taken ? "it is in" : "to"} the evidence: generation ${generation}.`);
  const now = parsed();
  const follows = now?.words === sentence.words && [...corrections].every(([word, { head, label }]) => {
    const edge = edgeOf(now, word);
    return edge.head === head && edge.label === label;
  });
  at("outcome").textContent += follows ? " The parse follows it."
    : " The parse does not follow it: by this rule other edges count for more. With kNN and a higher weight corrections count for more.";
}

async function undo() {
  const last = session.changes.at(-1);
  const { generation } = await change("POST", "/v1/evidence/undo", { generation: session.generation, message: `undo ${last.id}` });
  session.changes.pop();
  await changed(generation, `Undone: generation ${generation}.`);
}

/** Shows the sentence as the server parses it after a change. */
async function changed(generation, outcome) {
  session.generation = generation;
  sessionStorage.setItem(names.session, JSON.stringify(session));
  at("outcome").textContent = outcome;
  drawChanges();
  shown.sentence = shown.panel = null;
  await show();
}

// ---- User input

/** Runs something that a button starts, once at a time. Shows why it failed. */
async function run(button, action) {
  if (button.getAttribute("aria-busy")) return;
  button.setAttribute("aria-busy", "true");
  alertBox.textContent = "";
  try {
    await action();
    // The button can be gone or disabled now.
    if (!button.checkVisibility() || button.disabled) (result.querySelector("a.edge.open") ?? result).focus();
  } catch (error) {
    if (!error.left) alertBox.textContent = error.status ? error.message : "The server does not respond. Is it still running?";
  } finally {
    button.removeAttribute("aria-busy");
  }
}

at("correction").addEventListener("submit", event => {
  event.preventDefault();
  const { sentence, edge } = drawn;
  const chosen = { head: Number(at("new-head").value), label: at("new-label").value }, own = edgeOf(sentence, edge);
  const corrections = pending.get(sentence.words) ?? new Map();
  if (chosen.head === own.head && chosen.label === own.label) corrections.delete(edge);
  else corrections.set(edge, chosen);
  pending.set(sentence.words, corrections);
  redraw();
  statusBox.textContent = corrections.has(edge) ? `Corrected: ${described(sentence, edge, chosen)}.` : "That is the edge of the parse.";
});
at("new-head").addEventListener("change", event => {
  // Only one label goes with ROOT.
  if (event.target.value === "0" && labels.includes("root")) at("new-label").value = "root";
});
at("add").addEventListener("submit", event => {
  event.preventDefault();
  const { sentence } = drawn, problem = fault(sentence);
  if (problem) alertBox.textContent = `The corrected edges are no tree. ${problem}`;
  else run(event.submitter ?? at("add"), add);
});
at("whole").addEventListener("change", () => drawPending(drawn.sentence));
at("undo").addEventListener("click", event => run(event.target, undo));
at("take").addEventListener("click", () => {
  // A sentence that was corrected again has its last form.
  const latest = new Map(session.changes.map(({ id, conllu }) => [id, conllu]));
  save([...latest.values()], "corrections.conllu");
});

ready.then(async ({ changes, fingerprint }) => {
  if (!changes) return;
  names = { session: `citree changes ${fingerprint}`, token: "citree token" };
  session = JSON.parse(sessionStorage.getItem(names.session)) ?? session;
  ({ labels } = await (await ask("/v1/evidence?count=0", undefined, "application/json")).json());
  drawChanges();
  document.addEventListener("shown", redraw);
  redraw();
}).catch(() => {});
}
