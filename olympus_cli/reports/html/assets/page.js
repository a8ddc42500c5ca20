// Small helpers, the theme, the tabs of backends, and what opens when it is linked to.
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

function node(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// Data that the page has as base64 of zlib's format.
const unpacked = new Map();
function unpack(id) {
  if (!unpacked.has(id)) {
    const bytes = Uint8Array.from(atob($("#" + CSS.escape(id)).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    unpacked.set(id, new Response(stream).text().then(JSON.parse));
  }
  return unpacked.get(id);
}

const themeListeners = [];
const THEMES = ["system", "light", "dark"];
function startTheme() {
  const button = $("#theme");
  let theme = "system";
  try { theme = localStorage.getItem("olympus-theme") || theme; } catch { /* not from every place */ }
  const apply = () => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = "Theme: " + theme;
    themeListeners.forEach((listener) => listener());
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    try { localStorage.setItem("olympus-theme", theme); } catch { /* as above */ }
    apply();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  matchMedia("print").addEventListener("change", apply);
  if (!THEMES.includes(theme)) theme = "system";
  apply();
}

// Tabs as the ARIA Authoring Practices have them: arrows move, one of them is in the tab order.
function startTabs(list, onSelect) {
  const tabs = $$('[role="tab"]', list);
  const select = (chosen, focus) => {
    tabs.forEach((tab) => {
      tab.setAttribute("aria-selected", tab === chosen);
      tab.tabIndex = tab === chosen ? 0 : -1;
    });
    if (focus) chosen.focus();
    return onSelect(chosen);
  };
  tabs.forEach((tab, index) => {
    tab.addEventListener("click", () => select(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) select(tabs[(index + step + tabs.length) % tabs.length], true);
    });
  });
  return select;
}

let showBackend = () => {};
function startBackends() {
  const list = $("#backends");
  document.body.classList.add(list ? "tabbed" : "single");
  if (!list) return;
  const select = startTabs(list, (tab) => {
    const id = tab.getAttribute("aria-controls");
    $$(".backend").forEach((backend) => { backend.hidden = backend.id !== id; });
    dispatchEvent(new Event("resize"));
  });
  showBackend = (id) => {
    const tab = $(`[aria-controls="${id}"]`, list);
    if (tab && $("#" + id).hidden) select(tab);
  };
  select($('[role="tab"]', list));
}

// What is linked to may be in a closed part of the page.
function reveal(id) {
  const target = document.getElementById(id);
  if (!target) return;
  const backend = target.closest(".backend");
  if (backend) showBackend(backend.id);
  for (let at = target.parentElement; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  target.scrollIntoView({ block: target.classList.contains("line") ? "center" : "start" });
  if (target.classList.contains("line")) {
    $$(".flash").forEach((line) => line.classList.remove("flash"));
    target.classList.add("flash");
  }
}

function startLinks() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.getAttribute("href").length > 1) {
      event.preventDefault();
      reveal(link.getAttribute("href").slice(1));
    }
  });
  if (location.hash.length > 1) reveal(decodeURIComponent(location.hash.slice(1)));
  $$(".kernels").forEach((table) => {
    const button = table.nextElementSibling || table.parentElement.nextElementSibling;
    if (!button || !button.matches(".show-more")) return;
    table.classList.add("short");
    button.hidden = false;
    button.addEventListener("click", () => { table.classList.remove("short"); button.hidden = true; });
  });
}
