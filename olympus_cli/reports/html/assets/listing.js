// The programs: only the lines in sight are in the page, so that tens of thousands of lines scroll fast.
const ROW = 20; // px, the height of a line in report.css
const BEYOND = 30; // lines above and below those in sight

class Program {
  constructor(data) {
    this.language = data.language;
    this.path = data.path;
    this.omitted = data.omitted;
    this.lines = data.lines.split("\n");
    this.marks = data.marks;
    this.where = data.where;
    this.indents = this.lines.map((line) => (line.trim() ? line.length - line.trimStart().length : Infinity));
    this.ends = this.regions();
    this.folded = new Set();
    this.layOut();
  }

  // The last line of what is indented below each line, or the line itself.
  regions() {
    const ends = this.lines.map((_, index) => index);
    const open = [];
    this.indents.forEach((indent, index) => {
      if (indent === Infinity) return;
      while (open.length && this.indents[open.at(-1)] >= indent) ends[open.pop()] = index - 1;
      open.push(index);
    });
    open.forEach((index) => { ends[index] = this.lines.length - 1; });
    return ends;
  }

  canFold(index) { return this.ends[index] > index; }

  // The lines that are not folded away.
  layOut() {
    this.shown = [];
    for (let index = 0; index < this.lines.length; index++) {
      this.shown.push(index);
      if (this.folded.has(index)) index = this.ends[index];
    }
  }

  label(index) {
    const mark = this.marks[this.where[index]];
    return mark && mark[1] ? `${mark[1]}:${mark[2]}` : "";
  }

  // A query of file:line finds what was made of that line; any other, text and scopes.
  find(query) {
    if (!query) return [];
    const wanted = query.toLowerCase();
    const place = /:\d+$/.test(wanted);
    const marked = this.marks.map(([scope, file, line]) => {
      const at = `${file}:${line}`.toLowerCase();
      return place ? at === wanted || at.endsWith("/" + wanted) : scope.toLowerCase().includes(wanted);
    });
    const found = [];
    this.lines.forEach((line, index) => {
      if (marked[this.where[index]] || (line.toLowerCase().includes(wanted))) found.push(index);
    });
    return found;
  }

  // Opens what hides a line; the line's place among those shown.
  open(index) {
    this.folded.forEach((from) => { if (from < index && index <= this.ends[from]) this.folded.delete(from); });
    this.layOut();
    return this.shown.indexOf(index);
  }

  // What a large program is folded to at first: the bodies of its functions and computations.
  foldAll() {
    this.folded.clear();
    const top = Math.min(...this.indents);
    this.indents.forEach((indent, index) => {
      if (this.canFold(index) && (indent > top || this.language !== "mlir")) this.folded.add(index);
    });
    this.layOut();
  }
}

class Viewer {
  constructor(root) {
    this.root = root;
    this.backend = root.dataset.viewer;
    this.rows = $(".rows", root);
    this.input = $("input", root);
    this.status = $(".matches", root);
    this.tall = node("div", "tall");
    this.window = node("div", "window");
    this.tall.append(this.window);
    this.rows.append(this.tall);
    this.programs = new Map();
    this.matches = [];
    this.at = -1;
    root.hidden = false;
    const list = $('[role="tablist"]', root);
    this.select = startTabs(list, (tab) => this.load(tab.dataset.from));
    this.tabs = $$('[role="tab"]', list);
    this.listen();
    // what is far down the page is inflated when it comes near
    const near = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting) && !this.program) this.select(this.tabs[1]);
    }, { rootMargin: "600px" });
    near.observe(root);
  }

  listen() {
    this.rows.addEventListener("scroll", () => this.draw(), { passive: true });
    addEventListener("resize", () => this.draw());
    this.input.addEventListener("input", () => this.search(this.input.value, false));
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.step(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") { this.input.value = ""; this.search("", false); }
    });
    const does = {
      previous: () => this.step(-1),
      next: () => this.step(1),
      fold: () => { this.program.foldAll(); this.resize(); },
      unfold: () => { this.program.folded.clear(); this.program.layOut(); this.resize(); },
    };
    $$("[data-do]", this.root).forEach((button) => {
      button.addEventListener("click", () => { if (this.program) does[button.dataset.do](); });
    });
    this.window.addEventListener("click", (event) => {
      const caret = event.target.closest(".caret");
      if (!caret || !caret.dataset.line) return;
      const index = Number(caret.dataset.line);
      const { folded } = this.program;
      if (!folded.delete(index)) folded.add(index);
      this.program.layOut();
      this.resize();
      $(`[data-line="${index}"]`, this.window)?.focus();
    });
  }

  async load(from) {
    const wanted = (this.from = from);
    if (!this.programs.has(from)) this.programs.set(from, unpack(from).then((data) => new Program(data)));
    const program = await this.programs.get(from);
    if (wanted !== this.from) return; // another tab was chosen meanwhile
    this.program = program;
    const omitted = $(".omitted", this.root);
    omitted.hidden = !program.omitted;
    omitted.textContent = `${program.omitted} more lines are in ${program.path}`;
    this.rows.scrollTop = 0;
    this.rows.scrollLeft = 0;
    this.resize();
    this.search(this.input.value, false);
  }

  search(query, jump) {
    if (!this.program) return;
    this.matches = this.program.find(query);
    this.found = new Set(this.matches);
    this.at = -1;
    this.status.textContent = query ? (this.matches.length ? `${this.matches.length} lines` : "none") : "";
    if (this.matches.length && (jump || query.length > 1)) this.step(1);
    else this.draw();
  }

  step(by) {
    if (!this.matches.length) return;
    this.at = (this.at + by + this.matches.length) % this.matches.length;
    if (this.at < 0) this.at = this.matches.length - 1;
    this.status.textContent = `${this.at + 1} of ${this.matches.length}`;
    const row = this.program.open(this.matches[this.at]);
    this.resize();
    this.rows.scrollTop = Math.max(0, row * ROW - this.rows.clientHeight / 3);
    this.draw();
  }

  resize() {
    this.tall.style.height = this.program.shown.length * ROW + "px";
    this.draw();
  }

  draw() {
    const { program } = this;
    if (!program) return;
    const first = Math.max(0, Math.floor(this.rows.scrollTop / ROW) - BEYOND);
    const last = Math.min(program.shown.length, first + Math.ceil(this.rows.clientHeight / ROW) + 2 * BEYOND);
    const focused = document.activeElement?.dataset?.line;
    const made = document.createDocumentFragment();
    for (let row = first; row < last; row++) made.append(this.row(program.shown[row]));
    this.window.style.top = first * ROW + "px";
    this.window.replaceChildren(made);
    if (focused) $(`[data-line="${focused}"]`, this.window)?.focus({ preventScroll: true });
  }

  row(index) {
    const { program } = this;
    const made = node("div", "row");
    if (this.found?.has(index)) made.classList.add("found");
    if (this.matches[this.at] === index) made.classList.add("current");
    made.append(node("span", "ln", index + 1), this.origin(index), this.caret(index));
    made.append(highlighted(program.lines[index], program.language));
    if (program.folded.has(index)) {
      made.append(node("span", "folded", `${program.ends[index] - index} lines`));
    }
    return made;
  }

  caret(index) {
    if (!this.program.canFold(index)) return node("span", "caret");
    const folded = this.program.folded.has(index);
    const made = node("button", "caret", folded ? "\u25b8" : "\u25be");
    made.type = "button";
    made.dataset.line = index;
    made.setAttribute("aria-expanded", !folded);
    made.setAttribute("aria-label", `Lines below line ${index + 1}`);
    return made;
  }

  origin(index) {
    const made = node("span", "from");
    const mark = this.program.marks[this.program.where[index]];
    if (!mark) return made;
    const [scope, file, line] = mark;
    made.title = [scope, file && `${file}:${line}`].filter(Boolean).join("\n");
    if (!file) return made;
    const label = `${file.slice(file.lastIndexOf("/") + 1)}:${line}`;
    const target = sourceLine(this.backend, file, line);
    made.append(target ? Object.assign(node("a", "", label), { href: "#" + target }) : label);
    return made;
  }
}

const viewers = new Map();

// The id of a line of the annotated source, if the page shows it.
function sourceLine(backend, file, line) {
  const found = $(`#${backend} .file[data-path="${CSS.escape(file)}"]`);
  const id = found && `${backend}-s${found.dataset.number}-${line}`;
  return id && document.getElementById(id) ? id : null;
}

function startViewers() {
  $$(".viewer").forEach((root) => viewers.set(root.dataset.viewer, new Viewer(root)));
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-find]");
    if (!button) return;
    const viewer = viewers.get(button.closest(".backend").id);
    viewer.input.value = button.dataset.find;
    if (!viewer.program) await viewer.select(viewer.tabs[1]);
    viewer.search(button.dataset.find, true);
    viewer.root.scrollIntoView({ block: "start" });
    viewer.input.focus({ preventScroll: true });
  });
}
