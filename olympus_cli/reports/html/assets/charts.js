// The roofline and the memory over the schedule, drawn by uPlot in the colours of the theme.
const DIGITS = (value) => (value < 10 ? value.toPrecision(3) : value < 100 ? value.toFixed(1) : value.toFixed(0));
const scaled = (step, units) => (value) => {
  let at = 0;
  while (value >= step && at < units.length - 1) { value /= step; at += 1; }
  return `${at || value % 1 ? DIGITS(value) : value} ${units[at]}`.trim();
};
const inThousands = scaled(1000, ["", "k", "M", "G", "T", "P", "E"]);
const inBytes = scaled(1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
const short = (text) => text.replace(/\.0+(?= |$)/, "").replace(/(\.\d*?)0+(?= |$)/, "$1");
const inSeconds = (value) =>
  value >= 1 ? `${DIGITS(value)} s` : value >= 1e-3 ? `${DIGITS(value * 1e3)} ms` : value >= 1e-6 ? `${DIGITS(value * 1e6)} us` : `${DIGITS(value * 1e9)} ns`;

// A colour of the page, as a canvas takes it.
function colour(name, alpha = 1) {
  const probe = node("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return alpha === 1 ? found : found.replace(/^rgb\((.*)\)$/, `rgba($1, ${alpha})`);
}

const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif";
const axis = (label, values, extra = {}, only = {}) => ({
  label, values, font: FONT, labelFont: FONT, labelSize: 22, stroke: colour("dim"),
  grid: { stroke: colour("line"), width: 1, ...only }, ticks: { stroke: colour("line"), width: 1, size: 5, ...only }, ...extra,
});
const isDecade = (value) => value && Math.abs(Math.log10(value) % 1) < 1e-9;
const onlyDecades = (_, splits) => splits.map((value) => (isDecade(value) ? value : null));
const POWERS = { 0: "\u2070", 1: "\u00b9", 2: "\u00b2", 3: "\u00b3", 4: "\u2074", 5: "\u2075", 6: "\u2076", 7: "\u2077", 8: "\u2078", 9: "\u2079", "-": "\u207b" };
const power = (value) => "10" + [...String(Math.round(Math.log10(value)))].map((digit) => POWERS[digit]).join("");
const decades = (_, splits) => splits.map((value) => (isDecade(value) ? (value >= 0.01 && value < 1000 ? String(value) : power(value)) : ""));
const rates = (_, splits) => splits.map((value) => (isDecade(value) ? inThousands(value).replace(/\.0+ /, " ") : ""));

function place(line) { return line ? line.slice(line.lastIndexOf("/") + 1) : ""; }

const peakText = ([name, rate]) => `${name}, ${inThousands(rate)}flop/s`;

function boxOf(element, left, top) {
  Object.assign(element.style, { left: `${left}px`, top: `${top}px` });
  return { left, top, right: left + element.offsetWidth, bottom: top + element.offsetHeight };
}

// A kernel's dot, and the box that it takes.
function dot(u, kernel) {
  const made = node("span", `dot ${kernel.bound}`);
  const size = 2 * (3 + 9 * Math.sqrt(kernel.share));
  Object.assign(made.style, { width: `${size}px`, height: `${size}px` });
  u.over.append(made);
  return boxOf(made, u.valToPos(kernel.intensity, "x") - size / 2, u.valToPos(kernel.rate, "y") - size / 2);
}

// The label of a limit, above or below its level where it covers nothing; false without a place.
function label(u, peak, taken, data) {
  const top = Math.max(...data.peaks.map(([, rate]) => rate));
  const roofAt = (x) => u.valToPos(Math.min(u.posToVal(x, "x") * data.bandwidth, top), "y");
  const others = data.peaks.filter((each) => each !== peak).map(([, rate]) => {
    const y = u.valToPos(rate, "y");
    return { left: u.valToPos(rate / data.bandwidth, "x"), right: u.over.clientWidth, top: y, bottom: y };
  });
  const meets = (box, other) =>
    box.left < other.right + 2 && other.left < box.right + 2 && box.top < other.bottom + 2 && other.top < box.bottom + 2;
  const isFree = (box) =>
    box.top >= 0 && box.bottom <= u.over.clientHeight && (roofAt(box.right) > box.bottom || roofAt(box.left) < box.top)
    && ![...taken, ...others].some((other) => meets(box, other));
  const made = node("span", "limit", peakText(peak));
  u.over.append(made);
  const y = u.valToPos(peak[1], "y");
  for (const widest of ["60%", "36%"]) { // in one line, or in several
    made.style.maxWidth = widest;
    const [width, height] = [made.offsetWidth, made.offsetHeight];
    for (const above of [y - height - 3, y + 3]) {
      for (let left = u.over.clientWidth - width - 4; left >= 0; left -= 6) {
        if (!isFree({ left, top: above, right: left + width, bottom: above + height })) continue;
        taken.push(boxOf(made, left, above));
        return true;
      }
    }
  }
  made.remove();
  return false;
}

function roofline(data, readout) {
  const kernels = data.kernels;
  const ridges = data.peaks.map(([, rate]) => rate / data.bandwidth);
  const all = [...kernels.map((k) => k.intensity), ...ridges];
  const low = 10 ** Math.floor(Math.log10(Math.min(...all) / 2));
  const high = 10 ** Math.ceil(Math.log10(Math.max(...all) * 2));
  const x = [...new Set([low, ...all, high])].sort((a, b) => a - b);
  const top = Math.max(...data.peaks.map(([, rate]) => rate), ...kernels.map((k) => k.rate));
  const bottom = Math.min(...kernels.map((k) => k.rate), low * data.bandwidth);
  const series = [{}];
  const values = [x];
  data.peaks.forEach(([name, rate]) => {
    series.push({ label: name, stroke: colour("dim"), width: 1.5, pxAlign: 0, points: { show: false }, scale: "y" });
    values.push(x.map((at) => Math.min(at * data.bandwidth, rate)));
  });
  // dots and labels are elements: several dots may have one intensity, and labels need their sizes
  const mark = (u) => {
    $$(".dot, .limit", u.over).forEach((each) => each.remove());
    const taken = [...kernels].reverse().map((kernel) => dot(u, kernel));
    const unplaced = [...data.peaks].sort((a, b) => b[1] - a[1]).filter((peak) => !label(u, peak, taken, data));
    const rest = $(".limits", readout.parentElement);
    rest.textContent = unplaced.length ? `Not labelled in the chart: ${unplaced.map(peakText).join("; ")}` : "";
  };
  const nearest = (u) => {
    const { left, top: y } = u.cursor;
    if (left < 0) return;
    let best = null;
    kernels.forEach((kernel) => {
      const away = Math.hypot(u.valToPos(kernel.intensity, "x") - left, u.valToPos(kernel.rate, "y") - y);
      if (!best || away < best.away) best = { away, kernel };
    });
    if (!best) return;
    const k = best.kernel;
    readout.textContent = `${k.name}: ${k.operation} ${place(k.line)}, ${inSeconds(k.seconds)} (${(100 * k.share).toFixed(1)}%), ${short(inThousands(k.intensity))} flops per byte, ${inThousands(k.rate)}flop/s, bound by ${k.bound}`;
  };
  return {
    options: {
      height: 380,
      scales: {
        x: { time: false, distr: 3, range: [low, high] },
        y: { distr: 3, range: [10 ** Math.floor(Math.log10(bottom)), 10 ** Math.ceil(Math.log10(top * 1.2))] },
      },
      axes: [axis("flops per byte", decades, { size: 30 }, { filter: onlyDecades }), axis("flop/s", rates, { size: 62 }, { filter: onlyDecades })],
      series,
      cursor: { points: { show: false }, drag: { x: false, y: false } },
      legend: { show: false },
      hooks: { draw: [mark], setCursor: [nearest] },
    },
    values,
  };
}

function memoryChart(data, readout) {
  const most = Math.max(...data.bytes);
  const at = data.bytes.indexOf(most);
  const step = uPlot.paths.stepped({ align: 1 });
  // the lines of memory are whole units of 1024
  const incrs = [];
  for (let unit = 1; unit < 2 ** 50; unit *= 1024) [1, 2, 4, 8, 16, 32, 64, 128, 256, 512].forEach((n) => incrs.push(n * unit));
  const mark = (u) => {
    const ratio = devicePixelRatio;
    const { ctx } = u;
    const px = u.valToPos(data.positions[at], "x", true);
    const py = u.valToPos(most, "y", true);
    ctx.save();
    ctx.fillStyle = colour("accent");
    ctx.beginPath();
    ctx.arc(px, py, 4 * ratio, 0, 2 * Math.PI);
    ctx.fill();
    ctx.font = FONT.replace("12px", `${12 * ratio}px`);
    ctx.textAlign = px > u.bbox.left + u.bbox.width * 0.7 ? "right" : "left";
    ctx.fillText(`peak ${inBytes(most)}`, px + (ctx.textAlign === "right" ? -8 : 8) * ratio, py - 8 * ratio);
    ctx.restore();
  };
  const tell = (u) => {
    const i = u.cursor.idx;
    if (i === null || i === undefined || u.cursor.left < 0) return;
    const what = [data.names[i], data.operations[i], place(data.lines[i])].filter(Boolean).join(", ");
    readout.textContent = `Position ${data.positions[i]}: ${inBytes(data.bytes[i])} live, at ${what}`;
  };
  return {
    options: {
      height: 280,
      scales: { x: { time: false }, y: { range: [0, most * 1.15 || 1] } },
      axes: [
        axis("position in the schedule", undefined, { size: 30, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5] }),
        axis("", (_, splits) => splits.map((value) => short(inBytes(value))), { size: 68, incrs, labelSize: 0 }),
      ],
      series: [{}, { label: "live", stroke: colour("accent"), fill: colour("accent", 0.14), width: 1.5, paths: step, points: { show: false } }],
      cursor: { drag: { x: true, y: false }, y: false },
      legend: { show: false },
      hooks: { draw: [mark], setCursor: [tell] },
    },
    values: [data.positions, data.bytes],
  };
}

const KINDS = { roofline, memory: memoryChart };

async function startChart(place) {
  const data = (await unpack(place.dataset.from))[place.dataset.chart];
  const readout = $(`[data-readout="${place.dataset.chart}"]`, place.parentElement);
  let drawn = null;
  const draw = () => {
    const width = place.clientWidth;
    if (!width) return; // in a tab that is not shown
    const { options, values } = KINDS[place.dataset.chart](data, readout);
    drawn?.destroy();
    drawn = new uPlot({ ...options, width }, values, place);
  };
  new ResizeObserver(() => { if (drawn?.width !== place.clientWidth) draw(); }).observe(place);
  themeListeners.push(draw);
  draw();
}

function startCharts() { return Promise.all($$(".chart").map(startChart)); }
