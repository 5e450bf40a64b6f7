"use strict";
// Interactive tables, the choice of the network, and the dialog of a connection.

const byId = (id) => document.getElementById(id);

function element(name, content = "", attributes = {}) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(content);
  return made;
}

function filterControl(table, column, label) {
  const select = element("select", "", { "aria-label": `Show only: ${label}` });
  select.append(element("option", `${label}: all`, { value: "" }));
  const texts = column.nodes().toArray().map((cell) => cell.firstChild.textContent.trim());
  for (const text of [...new Set(texts)].sort()) select.append(element("option", text, { value: text }));
  select.addEventListener("change", () => {
    const chosen = select.value.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    column.search(chosen ? `^\\s*${chosen}(\\s*⚑)?\\s*$` : "", true, false).draw();
  });
  return select;
}

async function makeTablesInteractive() {
  const tables = [...document.querySelectorAll("table.interactive")];
  if (!tables.length) return;
  const packed = await fetch(`data:application/gzip;base64,${byId("table-library").textContent}`);
  const code = await new Response(packed.body.pipeThrough(new DecompressionStream("gzip"))).text();
  const module = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const { default: DataTable } = await import(module);
  DataTable.ext.errMode = "throw";
  for (const table of tables) {
    const made = new DataTable(table, {
      order: [],
      pageLength: 15,
      lengthMenu: [15, 50, 200, { label: "all", value: -1 }],
      autoWidth: false,
      language: { search: "Search", lengthMenu: "_MENU_ rows", info: "_START_–_END_ of _TOTAL_", infoEmpty: "nothing found", infoFiltered: "(of _MAX_)", zeroRecords: "Nothing matches." },
    });
    addFilters(table, made);
    window.addEventListener("beforeprint", () => made.page.len(-1).draw());
    window.addEventListener("afterprint", () => made.page.len(15).draw());
  }
  document.body.dataset.ready = "yes";
}

function addFilters(table, made) {
  const wanted = (table.dataset.filters || "").split("|").filter(Boolean);
  if (!wanted.length) return;
  const row = element("div", "", { class: "chooser" });
  made.columns().every(function () {
    const title = this.header().textContent.trim();
    if (wanted.includes(title)) row.append(filterControl(made, this, title));
  });
  made.table().container().before(row);
}

function chooseNetwork() {
  const chooser = byId("network-chooser");
  if (!chooser) return;
  const show = () => {
    const wanted = `${byId("choose-group").value}|${byId("choose-site").value}`;
    for (const panel of document.querySelectorAll(".network")) panel.hidden = panel.dataset.network !== wanted;
  };
  chooser.addEventListener("change", show);
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

function showEdge(edge, study) {
  byId("edge-title").textContent = `${edge.from} → ${edge.to}`;
  const table = element("table", "", { class: "data" });
  const head = element("tr");
  const titles = ["group", "site", "weight", "on the other scale", ...(study.phantom ? ["truth"] : [])];
  for (const title of titles) head.append(element("th", title, { scope: "col" }));
  const top = element("thead");
  top.append(head);
  table.append(element("caption", "Weight at each site"), top, edgeRows(edge, study));
  byId("edge-body").replaceChildren(element("p", `From ${edge.regions[0]} to ${edge.regions[1]}.`), edgeFlags(edge), table);
  byId("edge-dialog").showModal();
}

function openConnections() {
  const data = byId("edge-data");
  if (!data) return;
  const study = JSON.parse(data.textContent);
  const byName = new Map(study.edges.map((edge) => [`${edge.from} → ${edge.to}`, edge]));
  byId("table-edges").addEventListener("click", (event) => {
    const row = event.target.closest("tbody tr");
    const edge = row && byName.get(row.cells[0].textContent.trim());
    if (edge) showEdge(edge, study);
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
unfoldForPrint();
copyButtons();
makeTablesInteractive();
