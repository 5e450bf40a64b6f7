"use strict";
// Interactive tables, the choice of the network, and the dialog of a connection.
// Rows of long tables are in scripts beside the page: a page from a disk may read no other files.

const byId = (id) => document.getElementById(id);

function element(name, content = "", attributes = {}) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(content);
  return made;
}

const received = new Map();
const wanted = new Map();
window.reportPart = (name, place, items) => received.set(`${name}_${place}`, items);

function loadPart(name, place) {
  const key = `${name}_${place}`;
  if (!wanted.has(key)) {
    wanted.set(key, new Promise((resolve, reject) => {
      const file = `tables/${key}.js`;
      const script = element("script", "", { src: file });
      const fail = (problem) => {
        wanted.delete(key);
        reject(new Error(`${file} ${problem}`));
      };
      script.addEventListener("load", () => {
        if (received.has(key)) resolve(received.get(key));
        else fail("is incomplete. Copy the whole folder of the report again.");
      });
      script.addEventListener("error", () => fail("is missing. Copy the whole folder of the report."));
      document.head.append(script);
    }));
  }
  return wanted.get(key);
}

const plainTexts = new Map();
function plain(markup) {
  if (!/[<&]/.test(markup)) return markup;
  if (!plainTexts.has(markup)) {
    const holder = document.createElement("template");
    holder.innerHTML = markup;
    plainTexts.set(markup, holder.content.textContent);
  }
  return plainTexts.get(markup);
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

// A cell is its markup, or an array of this, the value that it is sorted by, and whether flagged.
const markupOf = (cell) => (Array.isArray(cell) ? cell[0] : cell);
const MARK = '<span class="mark" role="img" title="flagged" aria-label="flagged">&nbsp;⚑</span>';
function renderCell(cell, type) {
  const [markup, order, flagged] = Array.isArray(cell) ? cell : [cell, null, false];
  if (type === "display") return flagged ? markup + MARK : markup;
  // DataTables reads the text that it searches as markup.
  if (type === "filter") return escaped(plain(markup));
  return order === null ? plain(markup) : order;
}

async function rowsApart(table) {
  const { name, parts } = table.dataset;
  const rows = await Promise.all([...Array(Number(parts)).keys()].map((k) => loadPart(name, k)));
  const columns = [...table.tHead.rows[0].cells].map((head) => ({
    className: head.className,
    render: renderCell,
    createdCell: (cell, value) => cell.classList.toggle("flagged", Boolean(Array.isArray(value) && value[2])),
  }));
  table.tBodies[0].replaceChildren();
  return { data: rows.flat(), columns, deferRender: true };
}

// Texts of a column: of all its cells in the page, or of the rows that were loaded.
function columnTexts(table, column) {
  if (table.table().node().dataset.parts) return column.data().toArray().map((cell) => plain(markupOf(cell)).trim());
  return column.nodes().toArray().map((cell) => cell.firstChild.textContent.trim());
}

function filterControl(table, column, label) {
  const select = element("select", "", { "aria-label": `Show only: ${label}` });
  select.append(element("option", `${label}: all`, { value: "" }));
  for (const text of [...new Set(columnTexts(table, column))].sort()) select.append(element("option", text, { value: text }));
  select.addEventListener("change", () => {
    const chosen = select.value.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    column.search(chosen ? `^\\s*${chosen}(\\s*⚑)?\\s*$` : "", true, false).draw();
  });
  return select;
}

const TABLE_OPTIONS = {
  order: [],
  pageLength: 15,
  autoWidth: false,
  language: { search: "Search", lengthMenu: "_MENU_ rows", info: "_START_–_END_ of _TOTAL_", infoEmpty: "nothing found", infoFiltered: "(of _MAX_)", zeroRecords: "Nothing matches." },
};
const LENGTHS = [15, 50, 200];

async function tableLibrary() {
  const packed = await fetch(`data:application/gzip;base64,${byId("table-library").textContent}`);
  const code = await new Response(packed.body.pipeThrough(new DecompressionStream("gzip"))).text();
  const module = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const { default: DataTable } = await import(module);
  DataTable.ext.errMode = "throw";
  return DataTable;
}

function makeInteractive(DataTable, table) {
  const made = new DataTable(table, { ...TABLE_OPTIONS, lengthMenu: [...LENGTHS, { label: "all", value: -1 }] });
  addFilters(table, made);
  window.addEventListener("beforeprint", () => made.page.len(-1).draw());
  window.addEventListener("afterprint", () => made.page.len(15).draw());
}

async function fillTable(DataTable, table) {
  const state = byId(`state-${table.dataset.name}`);
  state.textContent = "Loading the other rows …";
  try {
    const rows = await rowsApart(table);
    addFilters(table, new DataTable(table, { ...TABLE_OPTIONS, ...rows, lengthMenu: LENGTHS }));
    state.textContent = "";
    table.dataset.ready = "yes";
  } catch (problem) {
    state.textContent = problem.message;
  }
}

async function makeTablesInteractive() {
  const tables = [...document.querySelectorAll("table.interactive")];
  if (!tables.length) return;
  const DataTable = await tableLibrary();
  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      watcher.unobserve(target);
      fillTable(DataTable, target);
    }
  }, { rootMargin: "600px" });
  for (const table of tables) {
    if (table.dataset.parts) watcher.observe(table);
    else makeInteractive(DataTable, table);
  }
  document.body.dataset.ready = "yes";
}

function addFilters(table, made) {
  const titles = (table.dataset.filters || "").split("|").filter(Boolean);
  if (!titles.length) return;
  const row = element("div", "", { class: "chooser" });
  made.columns().every(function () {
    const title = this.header().textContent.trim();
    if (titles.includes(title)) row.append(filterControl(made, this, title));
  });
  made.table().container().before(row);
}

function chooseNetwork() {
  const chooser = byId("network-chooser");
  if (!chooser) return;
  const show = () => {
    const chosen = `${byId("choose-group").value}|${byId("choose-site").value}`;
    for (const panel of document.querySelectorAll(".network")) panel.hidden = panel.dataset.network !== chosen;
  };
  chooser.addEventListener("change", show);
  chooser.hidden = false;
  show();
}

const signed = (weight) => (weight > 0 ? "+" : "−") + Math.abs(weight).toFixed(2);
const has = (weights, group, site) => weights[group]?.[site];

function otherScale(edge, group, site) {
  if (has(edge.other, group, site)) return "same direction";
  return has(edge.other_reverse, group, site) ? "reversed" : "not found";
}

function edgeRows(edge, study) {
  const body = element("tbody");
  for (const group of study.groups) {
    for (const site of study.sites) {
      const weight = has(edge.weights, group, site);
      const row = element("tr");
      row.append(element("td", group), element("td", site));
      const shown = element("td", weight ? `${signed(weight)} ` : has(edge.reverse, group, site) ? "reverse direction" : "–");
      if (weight) shown.append(element("span", "", { class: weight > 0 ? "bar" : "bar negative", style: `width:${Math.min(Math.abs(weight), 2) * 4}rem`, "aria-hidden": "true" }));
      row.append(shown, element("td", weight ? otherScale(edge, group, site) : ""));
      if (study.phantom) row.append(element("td", has(edge.truth, group, site) ? signed(has(edge.truth, group, site)) : "–"));
      body.append(row);
    }
  }
  return body;
}

function edgeFlags(edge) {
  const list = element("ul");
  const direction = edge.n_common
    ? `Direction: kept in ${edge.n_same} of ${edge.n_common} networks that also have the connection on the other scale.`
    : "Direction: not confirmed; this connection is not found on the other scale.";
  list.append(element("li", direction));
  const motion = edge.motion
    ? `Motion: across ${edge.motion.n} subjects, the functional connectivity of these regions correlates with head motion: r = ${edge.motion.r} (p = ${edge.motion.p.toPrecision(2)}, within site and group, uncorrected).`
    : "Motion: not known.";
  list.append(element("li", motion));
  for (const [group, known] of Object.entries(edge.evidence)) {
    const share = (value) => (value === null ? "–" : `${(100 * value).toFixed(0)} %`);
    list.append(element("li", `${group}: found in ${share(known.selection)} of bootstraps, with this direction in ${share(known.direction)} of those that connect both regions; found in validation subjects at ${known.replicated} sites.`));
  }
  const tested = Object.values(edge.evidence).find((known) => known.p !== null);
  list.append(element("li", tested
    ? `Difference of the weight between groups: ${signed(tested.difference)}, p = ${tested.p}, q = ${tested.q}.`
    : "Difference between groups: not tested."));
  if (edge.stability) {
    const shares = Object.entries(edge.stability).map(([group, share]) => `${group} ${(100 * share).toFixed(0)} %`);
    list.append(element("li", `Stability: found in ${shares.join(", ")} of the draws of validation subjects.`));
  } else list.append(element("li", "Stability: not computed; it needs the comparison with other methods."));
  return list;
}

function openDialog(title, ...content) {
  byId("edge-title").textContent = title;
  byId("edge-body").replaceChildren(...content);
  byId("edge-dialog").showModal();
}

function showEdge(edge, study) {
  const table = element("table", "", { class: "data" });
  const head = element("tr");
  const titles = ["group", "site", "weight", "on the other scale", ...(study.phantom ? ["truth"] : [])];
  for (const title of titles) head.append(element("th", title, { scope: "col" }));
  const top = element("thead");
  top.append(head);
  table.append(element("caption", "Weight at each site"), top, edgeRows(edge, study));
  const ends = element("p", `From ${edge.regions[0]} to ${edge.regions[1]}.`);
  openDialog(`${edge.from} → ${edge.to}`, ends, edgeFlags(edge), table);
}

function openConnections() {
  const data = byId("edge-data");
  if (!data) return;
  const study = JSON.parse(data.textContent);
  const edgeAt = async (place) => {
    if (!study.parts) return study.edges[place];
    const part = await loadPart("connections", Math.floor(place / study.per_part));
    return part[place % study.per_part];
  };
  byId("table-edges").addEventListener("click", (event) => {
    const button = event.target.closest("tbody tr")?.querySelector("[data-record]");
    if (!button) return;
    edgeAt(Number(button.dataset.record)).then(
      (edge) => showEdge(edge, study),
      (problem) => openDialog(button.textContent, element("p", problem.message)),
    );
  });
  byId("edge-close").addEventListener("click", () => byId("edge-dialog").close());
}

function followSections() {
  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.classList.remove("here");
      links.get(entry.target.id).classList.add("here");
    }
  }, { rootMargin: "-10% 0px -80% 0px" });
  for (const section of document.querySelectorAll("main > section")) watcher.observe(section);
}

function chooseColumns() {
  for (const button of document.querySelectorAll("button.columns")) {
    button.addEventListener("click", () => {
      const fewer = byId(button.dataset.table).classList.toggle("fewer");
      button.setAttribute("aria-pressed", String(!fewer));
    });
  }
}

// Some systems hide the bar of what can be scrolled.
function hintAtScrolling() {
  const hints = new Map();
  const watcher = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const inside = target.querySelector(".dt-layout-table > .dt-layout-cell") ?? target;
      const scrolls = inside.scrollWidth > inside.clientWidth + 1;
      hints.get(target).hidden = !scrolls;
      if (target.className === "frame") scrolls ? target.setAttribute("tabindex", "0") : target.removeAttribute("tabindex");
    }
  });
  for (const target of document.querySelectorAll(".frame, .table-wrap")) {
    const hint = element("p", "Scroll sideways for the rest →", { class: "hint", hidden: "", "aria-hidden": "true" });
    hints.set(target, hint);
    target.before(hint);
    watcher.observe(target);
  }
}

function unfoldForPrint() {
  const folded = [...document.querySelectorAll("details")].filter((one) => one.querySelector("table"));
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = folded.filter((one) => !one.open);
    for (const one of opened) one.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
  });
}

function copyButtons() {
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(byId(button.dataset.copy).textContent);
      button.textContent = "Copied";
    });
  }
}

chooseNetwork();
openConnections();
followSections();
chooseColumns();
hintAtScrolling();
unfoldForPrint();
copyButtons();
makeTablesInteractive();
