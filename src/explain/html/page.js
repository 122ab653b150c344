// Shows one edge's panel at a time. Without this script every panel is shown.
"use strict";
const page = document.documentElement;
page.classList.add("js");
let open = null;

const linkOf = panel => document.querySelector(`a.edge[aria-controls="${panel.id}"]`);

function close() {
  if (!open) return;
  open.classList.remove("open");
  linkOf(open).classList.remove("open");
  linkOf(open).setAttribute("aria-expanded", "false");
  open = null;
}

function show(id) {
  close();
  const panel = document.getElementById(id);
  if (!panel || !panel.classList.contains("panel")) return;
  open = panel;
  panel.classList.add("open");
  linkOf(panel).classList.add("open");
  linkOf(panel).setAttribute("aria-expanded", "true");
  // Where a link leads here, the tree stays in view above, unless it is taller than half the window.
  const tree = panel.parentElement.querySelector(".tree").offsetHeight;
  panel.style.scrollMarginTop = Math.min(tree + 60, innerHeight / 2) + "px";
}

// A tall panel would push its sentence off the window, so only its beginning is brought into view.
function reveal() {
  if (open) open.querySelector("h3").scrollIntoView({ block: "nearest", inline: "nearest" });
}

function showHash() {
  show(location.hash.slice(1));
  if (!open) return;
  linkOf(open).querySelector(".word").scrollIntoView({ block: "nearest", inline: "center" });
  open.scrollIntoView();
}

function follow(link) {
  const id = link.getAttribute("href").slice(1);
  const again = open && open.id === id;
  if (again || link.matches(".close")) close();
  else show(id);
  history.pushState(null, "", open ? "#" + id : location.pathname + location.search);
  reveal();
}

document.addEventListener("click", event => {
  const link = event.target.closest("a.edge, a.close");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const edge = open && linkOf(open);
  follow(link);
  if (link.matches(".close") && edge) edge.focus();
});

document.addEventListener("keydown", event => {
  const link = event.target.closest && event.target.closest("a.edge");
  if (event.key === " " && link) {
    event.preventDefault();
    follow(link);
  } else if (event.key === "Escape" && open) {
    const edge = linkOf(open);
    follow(edge);
    edge.focus();
  }
});

for (const moved of ["hashchange", "popstate", "DOMContentLoaded"]) window.addEventListener(moved, showHash);
