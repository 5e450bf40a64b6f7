// What the theme leaves out for readers without a mouse or a screen.
document.addEventListener("DOMContentLoaded", () => {
  for (const wide of document.querySelectorAll("pre, .table-wrapper, .math-wrapper")) {
    wide.tabIndex = 0;
  }
  for (const title of document.querySelectorAll("p[role=heading]")) {
    title.setAttribute("aria-level", "2");
  }
  document.querySelector("aside.sidebar-drawer")?.setAttribute("aria-label", "All pages");
  document.querySelector("aside.toc-drawer")?.setAttribute("aria-label", "On this page");
});
