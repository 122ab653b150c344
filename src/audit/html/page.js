"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const findings = [...document.querySelectorAll("article")];
  const decided = new Map();
  const status = document.querySelector("#status");
  let at = 0;
  let unsaved = false;

  const shownIn = (finding, part) => finding.querySelector(part);
  const count = () => {
    status.textContent = `${decided.size} of ${findings.length} decided`;
  };

  function go(to) {
    if (!findings.length) return;
    findings[at].removeAttribute("aria-current");
    at = Math.min(Math.max(to, 0), findings.length - 1);
    findings[at].setAttribute("aria-current", "true");
    findings[at].focus({ preventScroll: true });
    findings[at].scrollIntoView({ block: "nearest" });
  }

  function decide(finding, decision, head, label) {
    const { sentId, dependent, form, head: oldHead, label: oldLabel } = finding.dataset;
    if (!sentId) {
      shownIn(finding, ".verdict").textContent = "its sentence has no sent_id, so a decision could not be found again";
      return;
    }
    decided.set(finding, {
      sent_id: sentId,
      dependent: Number(dependent),
      form,
      head: Number(oldHead),
      label: oldLabel,
      decision,
      new_head: Number(head),
      new_label: label,
      note: shownIn(finding, ".note").value.trim(),
    });
    unsaved = true;
    finding.dataset.decision = decision;
    const said = { accept: "accepted", keep: "kept as it is", other: `${label} of ${head}` };
    shownIn(finding, ".verdict").textContent = said[decision];
    count();
  }

  const acts = {
    accept: (finding) => decide(finding, "accept", finding.dataset.newHead, finding.dataset.newLabel),
    keep: (finding) => decide(finding, "keep", finding.dataset.head, finding.dataset.label),
    other: (finding) => {
      const [head, label] = shownIn(finding, ".edge").value.trim().split(/\s+/);
      const words = Number(finding.dataset.words);
      const possible = /^\d+$/.test(head) && Number(head) <= words && head !== finding.dataset.dependent && label;
      if (possible) decide(finding, "other", head, label);
      else shownIn(finding, ".verdict").textContent = `give a head from 0 to ${words} and a label, such as 3 obl`;
      return Boolean(possible);
    },
  };

  function save() {
    // A note is kept with a decision only.
    const lost = findings.filter((finding) => shownIn(finding, ".note").value.trim() && !decided.has(finding));
    const lines = [...decided.values()].map((one) => {
      const { note, ...rest } = one;
      return JSON.stringify(note ? one : rest) + "\n";
    });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
    link.download = "decisions.jsonl";
    link.click();
    unsaved = lost.length > 0;
    count();
    if (lost.length) {
      status.textContent += `; not saved: ${lost.length === 1 ? "a note" : `${lost.length} notes`} without a decision`;
      go(findings.indexOf(lost[0]));
    }
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  for (const finding of findings) {
    finding.addEventListener("focusin", () => {
      if (findings[at] !== finding) go(findings.indexOf(finding));
    });
    for (const button of finding.querySelectorAll("button")) {
      button.addEventListener("click", () => acts[button.value](finding));
    }
    shownIn(finding, ".note").addEventListener("change", () => {
      const old = decided.get(finding);
      if (old) old.note = shownIn(finding, ".note").value.trim();
      unsaved = true;
    });
    shownIn(finding, ".edge").addEventListener("change", (event) => {
      if (event.target.value.trim()) acts.other(finding);
    });
  }
  document.querySelector("#save").addEventListener("click", save);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const finding = findings[at];
    if (event.target.matches("input")) {
      if (event.key === "Escape") finding.focus();
      if (event.key === "Enter") {
        if (event.target.matches(".edge") && !acts.other(finding)) return;
        event.preventDefault();
        finding.focus();
      }
      return;
    }
    const keys = {
      j: () => go(at + 1),
      ArrowDown: () => go(at + 1),
      k: () => go(at - 1),
      ArrowUp: () => go(at - 1),
      a: () => (acts.accept(finding), go(at + 1)),
      x: () => (acts.keep(finding), go(at + 1)),
      o: () => shownIn(finding, ".edge").focus(),
      n: () => shownIn(finding, ".note").focus(),
      s: save,
    };
    if (Object.hasOwn(keys, event.key) && findings.length) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  addEventListener("beforeunload", (event) => {
    if (unsaved) event.preventDefault();
  });
  count();
  go(0);
});
