// Tables whose columns sort, whose rows are searched, and whose equal rows open.
function cellValue(row, column) {
  const cell = row.cells[column];
  const exact = $("data", cell)?.value ?? cell.dataset.value;
  return exact === undefined || exact === "" || isNaN(exact) ? cell.textContent.trim() : Number(exact);
}

function order(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

// A group of equal rows is a body of its own, which moves as a whole.
function sortBy(table, header, column) {
  const up = header.getAttribute("aria-sort") !== "ascending";
  $$("th", table.tHead).forEach((each) => each.removeAttribute("aria-sort"));
  header.setAttribute("aria-sort", up ? "ascending" : "descending");
  const sorted = [...table.tBodies].map((body) => [cellValue(body.rows[0], column), body]);
  sorted.sort(([a], [b]) => (up ? order(a, b) : order(b, a)));
  const more = table.nextElementSibling; // the rows that come first may have been left out
  if (more?.matches(".show-more")) more.click();
  table.append(...sorted.map(([, body]) => body));
}

function startSort(table) {
  $$("th", table.tHead).forEach((header, column) => {
    if (!header.textContent.trim()) return;
    const button = node("button", "sort", header.textContent);
    button.type = "button";
    button.addEventListener("click", () => sortBy(table, header, column));
    header.replaceChildren(button);
  });
}

function startFilter(input) {
  const table = document.getElementById(input.getAttribute("aria-controls"));
  const status = $(".matches", input.parentElement);
  input.parentElement.hidden = false;
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    let found = 0;
    [...table.tBodies].forEach((body) => {
      body.hidden = !body.textContent.toLowerCase().includes(wanted);
      found += body.hidden ? 0 : 1;
    });
    status.textContent = wanted ? `${found} of ${table.tBodies.length}` : "";
  });
}

function startGroups() {
  $$("button.times").forEach((button) => {
    const body = button.closest("tbody");
    button.disabled = false;
    const show = (open) => {
      button.setAttribute("aria-expanded", open);
      $$("tr.member", body).forEach((row) => { row.hidden = !open; });
    };
    button.addEventListener("click", () => show(button.getAttribute("aria-expanded") !== "true"));
    show(false);
  });
}

function startTables() {
  $$("table.sortable").forEach(startSort);
  $$("input[data-filter]").forEach(startFilter);
  startGroups();
}
