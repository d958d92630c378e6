// SPDX-License-Identifier: Apache-2.0
// Draws the page from its record, whose fields docs/report.md lists. Texts of the record come from files and may hold
// anything: they become text, never markup. No loop is longer than the record, whatever its numbers are.
"use strict";
const record = JSON.parse(document.getElementById("record").textContent);
const datasets = new Map(record.datasets.map((dataset) => [dataset.path, dataset]));
const stages = new Map(record.stages.map((stage) => [stage.label, stage]));
const datasetOf = (path) => datasets.get("/entry/" + path), valueOf = (path) => (datasetOf(path) || {}).value || "";
// The datasets below a path, with what follows it as their names.
const below = (path) => record.datasets.filter((dataset) => dataset.path.startsWith("/entry/" + path))
  .map((dataset) => ({ ...dataset, name: dataset.path.slice(7 + path.length) }));

// ---- elements and texts

// Characters that move, hide or join what is around them are shown by their numbers.
const plain = (text) => String(text).replace(/[\p{Cc}\p{Cf}\p{Z}\p{DI}\u2800]/gu,
  (c) => "\n \u00a0\u3000".includes(c) ? c : `\\u{${c.codePointAt(0).toString(16)}}`);

// Makes an element, "tag" or "tag.class". An object among its parts has attributes; null is left out.
function el(name, ...parts) {
  const [tag, kind] = name.split("."), node = document.createElement(tag);
  if (kind) node.className = kind;
  for (const part of parts.flat(Infinity))
    if (part instanceof Node) node.append(part);
    else if (typeof part === "object") for (const key in part) node.setAttribute(key, part[key]);
    else node.append(plain(part));
  return node;
}

function draw(tag, attributes, text = "") {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  node.textContent = plain(text);
  return node;
}

const number = (value, digits = 6) => Number.isFinite(value) ? String(+value.toPrecision(digits)) : "?";
const behind = (unit) => unit && unit !== "1" ? " " + unit : "";
const seconds = (value) => Number.isFinite(value) ? value.toFixed(3) : "?";
const plural = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

function bytes(value) {
  const power = value >= 1000 ? Math.min(5, Math.floor(Math.log10(value) / 3)) : 0;
  return `${number(value / 1000 ** power, 3)} ${["B", "kB", "MB", "GB", "TB", "PB"][power]}`;
}

const section = (id, heading, ...parts) => el("section", { id }, el("h2", heading), parts);
const row = (cells) => el("tr", cells.map((cell) => el("td", cell)));
const table = (kind, heads, rows) => el("div." + kind,
  el("table", el("thead", el("tr", heads.map((head) => el("th", head)))), el("tbody", rows.map(row))));
// A table of two columns; lines may break behind _ and /.
const facts = (rows) => el("table", rows.map(([name, value, unit]) => el("tr",
  el("th", name.split(/(?<=[_/])/).map((part) => [part, el("wbr")])), el("td", value + behind(unit)))));

// ---- charts

// The largest of 1, 2 and 5 times a power of ten that is not above the value.
function rounded(value) {
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  return power * [5, 2, 1].find((factor) => factor * power <= value * (1 + 1e-9) || factor === 1);
}

// An axis that holds these values and ends at ticks, of which it has a few. A logarithmic one counts powers of ten.
function axis(values, log) {
  const shows = (value) => Number.isFinite(value) && Math.abs(value) <= 1e300 && (!log || value >= 1e-300);
  const place = (value) => log ? Math.log10(value) : value, places = values.filter(shows).map(place);
  let [low, high] = places.reduce(([a, b], at) => [Math.min(a, at), Math.max(b, at)], [Infinity, -Infinity]);
  if (!places.length) [low, high] = [0, 1];
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (high - low <= Math.max(1e-12 * size, 1e-300)) high = low + Math.max(1, 1e-6 * size);
  const step = Math.max(rounded((high - low) / 4), log ? 1 : 0);
  [low, high] = [step * Math.floor(low / step + 1e-9), step * Math.ceil(high / step - 1e-9)];
  let ticks = Array.from({ length: Math.min(12, Math.round((high - low) / step)) + 1 }, (_, i) => low + i * step);
  if (log && high - low <= 2) ticks = ticks.flatMap((tick) => [1, 2, 5].map((factor) => tick + Math.log10(factor)));
  const digits = Math.min(15, Math.max(6, Math.ceil(Math.log10(size / step)) + 1));
  const label = (tick) => {
    const text = number(log ? 10 ** tick : Math.abs(tick) < 1e-9 * step ? 0 : tick, log ? 6 : digits);
    return text.length > 6 ? (+text).toExponential().replace("+", "") : text;
  };
  const share = (at) => (at - low) / (high - low);
  return { shows, share: (value) => share(place(value)),
    ticks: ticks.filter((tick) => tick <= high).map((tick) => [share(tick), label(tick)]) };
}

// Draws the ticks of an axis whose ends are at two pixels.
function drawTicks(svg, { ticks }, from, to, line, text) {
  for (const [share, label] of ticks) {
    const at = (from + share * (to - from)).toFixed(1);
    svg.append(draw("path", { class: "grid", d: line(at) }), draw("text", text(at), label));
  }
}

// A chart of lines {name, x, y, low, high}: low and high are the edges of a band.
function chart(title, across, up, log, lines) {
  const left = 76, right = 522, top = 10, bottom = 270;
  const xs = axis(lines.flatMap((line) => line.x), false);
  const ys = axis(lines.flatMap((line) => [...line.y, ...line.low || [], ...line.high || []]), log);
  const svg = draw("svg", { viewBox: "0 0 550 318", role: "img", "aria-label": plain(title) });
  drawTicks(svg, xs, left, right, (x) => `M${x} ${top}V${bottom}`, (x) => ({ x, y: bottom + 18 }));
  drawTicks(svg, ys, bottom, top, (y) => `M${left} ${y}H${right}`, (y) => ({ x: left - 6, y: +y + 4, class: "end" }));
  svg.append(draw("text", { x: (left + right) / 2, y: bottom + 40 }, across),
    draw("text", { transform: `translate(14 ${(top + bottom) / 2}) rotate(-90)` }, up));
  lines.forEach(({ x, y, low, high }, k) => {
    const points = (values) => x.flatMap((at, i) => xs.shows(at) && ys.shows(values[i])
      ? (left + xs.share(at) * (right - left)).toFixed(1) + " " + (bottom + ys.share(values[i]) * (top - bottom)).toFixed(1) : []);
    for (const [kind, list] of [["band", low ? [...points(high), ...points(low).reverse()] : []], ["line", points(y)]])
      if (list.length) svg.append(draw("path", { class: `${kind} c${k % 6}`, d: "M" + list.join("L") }));
  });
  return el("figure.chart", el("figcaption", title), svg,
    el("div.key", lines.map(({ name }, k) => name ? el("span", el("i.c" + k % 6), name) : [])));
}

// A lane for each part of the run; darker where more of its threads worked at once.
function lanes(run) {
  const left = 90, right = 880, bottom = 8 + 30 * run.parts.length, time = axis([0, run.seconds], false);
  const svg = draw("svg", { viewBox: `0 0 900 ${bottom + 46}`, role: "img", "aria-label": "parts of the run" });
  drawTicks(svg, time, left, right, (x) => `M${x} 4V${bottom}`, (x) => ({ x, y: bottom + 16 }));
  svg.append(draw("text", { x: (left + right) / 2, y: bottom + 38 }, "time since the start / s"));
  run.parts.forEach(({ part, threads }, k) => {
    const most = Math.max(...threads), width = Math.min(1, time.share(run.seconds)) * (right - left) / threads.length;
    svg.append(draw("text", { x: left - 8, y: 30 * k + 24, class: "end" }, part));
    threads.forEach((n, i) => n > 0 && svg.append(draw("rect", { class: `lane c${k % 6}`, x: left + i * width, y: 30 * k + 8,
      width, height: 24, opacity: 0.2 + 0.8 * n / most })));
  });
  return el("figure.chart", el("figcaption", "What each part of the run did; darker where more threads worked at once"), svg);
}

// ---- images

// The window is a choice of its reader. The values of a plane are a PNG with the high bytes above the low bytes; value =
// least + step * number, and the number 65535 stands where nothing was measured.
const INVALID = 65535, EMPTY = [38, 52, 92];

// The image before this one on the way back to the input, and the labels of the stages in between.
function wayTo(image) {
  const way = [];
  let from = image.stage;
  while (stages.has(from) && way.length < record.stages.length) {
    const before = record.images.find((other) => other !== image && other.stage === from);
    if (before && way.length) return { before, from: before.name, way };
    way.unshift(from);
    from = valueOf(stages.get(from).group + "/input");
  }
  return { from: from || "the input", way };
}

function histograms(image) {
  const { first, width, counts } = image.histogram, most = Math.max(...counts), across = `value / ${image.unit}`;
  const x = counts.flatMap((_, i) => [first + i * width, first + (i + 1) * width]), y = counts.flatMap((n) => [n, n]);
  let below = 0;
  const curve = counts.flatMap((n) => [below, below += n].map((share) => share / image.finite * most));
  const lines = [{ name: image.equalized ? "values in a bin" : "", x, y }];
  if (image.equalized) lines.push({ name: "equalization: the share of values up to here, 1 at its top", x, y: curve });
  return el("div.charts", chart("Histogram", across, "values in a bin", false, lines),
    chart("Histogram, logarithmic", across, "values in a bin; empty bins at 0.5", true, [{ x, y: y.map((n) => n || 0.5) }]));
}

function numbers(image) {
  const { volumes, planes, finite } = image, unit = behind(image.unit);
  const each = planes[0].volume_name !== null
    ? `${volumes} values (${image.volume_axis}), of ${planes.length < volumes ? "the first" : "all"} ${planes.length} of which ` +
      "the middle slice is shown; all are counted; each "
    : volumes > 1
      ? `${volumes} volumes (${image.volume_axis}), of which volume ${planes[0].volume} is shown and all are counted; each ` : "";
  return each + `${image.axes.map((a) => a.n).join(" x ")} values (${image.type})` +
    (image.quantity === "hu" ? "" : ` of ${image.quantity}`) + (unit ? ` in${unit}` : "") +
    `, ${image.axes.map((a) => `${number(a.spacing, 4)} ${a.unit}`).join(" x ")} apart. ` +
    [finite ? `From ${number(image.low)} to ${number(image.high)}, mean ${number(image.mean)}${unit}` : [],
      image.invalid ? `${image.invalid} without a value` : []].flat().join("; ") + "." + (image.lean_degree
      ? ` Slices are shifted against each other (${number(image.lean_degree, 3)} degrees); planes across them are drawn upright.`
      : "");
}

// Which slice a plane shows, in the words of previews and the window.
function sliceText(image, { name, across, index, position }) {
  const axis = image.axes[across];
  return `${name}${name && " "}slice ${index} (0 to ${axis.n - 1})` +
    (axis.unit === "pixel" ? "" : ` at ${number(position, 5)} ${axis.unit}${axis.from_first ? " from the first" : ""}`);
}

function caption(image, plane) {
  const [down, right] = [plane.down, plane.right].map((i) => image.axes[i]);
  return (plane.volume_name === null ? "" : plane.volume_name + ": ") + sliceText(image, plane) +
    `; ${right.name} across${plane.left ? " (the last at the left)" : ""}, ${down.name} down` +
    (plane.up ? " (the last on top)" : "") +
    (right.unit === down.unit ? "" : `; ${right.name} and ${down.name} have different units, so that pixels are square`) +
    (plane.mean_rows * plane.mean_columns > 1
      ? `; a pixel is ${image.labels ? "one" : "the mean"} of ${plane.mean_rows} x ${plane.mean_columns} values` : "") +
    (plane.slices && plane.slices.coarse > 1 && plane.index !== image.planes.find(({ slices }) => slices === plane.slices).index
      ? `; values in steps of ${number(plane.slices.coarse * image.window.step, 3)}${behind(image.unit)}` : "");
}

// Colors of labels 1, 2, ... and again from the first.
const PALETTE = [[255, 80, 60], [70, 220, 90], [80, 150, 255], [255, 215, 60], [235, 90, 235], [70, 225, 225], [255, 150, 50],
  [160, 120, 255]];
const KEPT = 24; // slices of a plane whose numbers are kept

// The pictures of a plane: that of the record, and those of its other slices.
class Plane {
  constructor(plane) {
    this.plane = plane;
    this.kept = new Map();
    const { coarse = 1, pictures = [] } = plane.slices || {};
    this.slices = [...pictures.filter((slice) => slice.index !== plane.index).map((slice) => ({ ...slice, coarse })),
      { ...plane, coarse: 1 }].sort((a, b) => a.index - b.index);
    this.now = this.slices.findIndex((slice) => slice.index === plane.index);
  }
  get slice() { return this.slices[this.now]; }
  // The numbers of the slice with an index, or null.
  async numbers(index) {
    const slice = this.slices.find((slice) => slice.index === index);
    if (!slice) return null;
    const found = this.kept.get(index) || await this.decode(slice);
    this.kept.delete(index);
    this.kept.set(index, found);
    for (const [old] of this.kept) if (this.kept.size > KEPT) this.kept.delete(old);
    return found;
  }
  // Reads numbers out of a PNG.
  async decode({ png, coarse }) {
    const picture = new Image(), { width, height } = this.plane, n = width * height, numbers = new Uint16Array(n);
    picture.src = "data:image/png;base64," + png;
    await picture.decode();
    const buffer = el("canvas", { width, height: 2 * height });
    const context = buffer.getContext("2d", { willReadFrequently: true });
    context.drawImage(picture, 0, 0);
    const data = context.getImageData(0, 0, width, 2 * height).data;
    for (let i = 0; i < n; i++) {
      const value = data[4 * i] * 256 + data[4 * (i + n)];
      numbers[i] = value === INVALID ? value : Math.min(coarse * value, INVALID - 1);
    }
    return numbers;
  }
}

// Two images can lie over each other if their pixels are at the same places.
const fits = (a, b) => a.planes.length && b.planes.length && a.axes.every(({ name, n }, i) => name === b.axes[i].name && n === b.axes[i].n) &&
  ["width", "height", "mean_rows", "mean_columns"].every((key) => a.planes[0][key] === b.planes[0][key]);

class Card {
  constructor(image) {
    const { from, way, before } = wayTo(image);
    this.image = image;
    this.before = cards.find((card) => card.image === before && fits(before, image));
    this.others = record.images.filter((other) => other !== image && fits(other, image));
    Object.assign(this, { followers: [], split: 0, beside: false, over: null, opacity: 0.5, contour: false, color: PALETTE[0] });
    this.window = { level: image.window.level, width: image.window.width };
    this.output = el("output");
    this.planes = image.planes.map((plane, k) => this.frame(new Plane(plane), k));
    this.element = el("article.image", el("h3", image.name + (image.name === "data" ? ", the last image" : "")),
      el("p.way", from, way.map((label) => [" \u2192 ", el("b", label)])), el("p.numbers", numbers(image)),
      el("div.planes", this.planes.map((plane) => plane.figure)),
      image.planes.length === 1 && image.planes[0].volume_name === null && image.axes[0].n > 1
        ? el("p.note", "Planes across so few slices would be lines, and are left out.") : [],
      this.controls(image), image.finite ? histograms(image) : []);
  }
  // A picture with the patient's sides, a scale bar and a cursor.
  picture({ plane }, text) {
    const right = this.image.axes[plane.right], width = right.n * right.spacing, length = rounded(0.4 * width);
    const bar = el("span.bar", `${number(length)} ${right.unit}`), cursor = el("span.cursor");
    const canvas = el("canvas", { width: plane.width, height: plane.height, role: "img", "aria-label": plain(text) });
    const frame = el("div.frame", canvas, ["left", "right", "top", "bottom"].map((place, i) =>
      plane.sides[i] > " " ? el("i." + place, plane.sides[i]) : []), length > 0 && length < Infinity ? bar : [], cursor);
    bar.style.width = `${100 * length / width}%`;
    frame.style.aspectRatio = plane.ratio;
    frame.style.setProperty("--ratio", plane.ratio);
    frame.classList.toggle("thin", plane.ratio > 6); // too low to hold its bar, which stands below it
    return { canvas, frame, cursor };
  }
  frame(stack, k) {
    const { plane, slices } = stack, text = caption(this.image, plane), after = this.picture(stack, text);
    const self = { plane, stack, pictures: [after], canvas: after.canvas, words: el("span", text), shown: {} };
    self.pair = el("div.pair", after.frame);
    this.listen(self, self.canvas);
    if (slices.length > 1) {
      self.slider = el("input.slice", { type: "range", min: 0, max: slices.length - 1, step: 1, value: stack.now, "aria-label": "slice" });
      self.slider.addEventListener("input", () => this.go(self, +self.slider.value));
    }
    self.figure = el("figure.plane", self.pair, self.slider || [], el("figcaption", self.words));
    return self;
  }
  // The cursor follows the pointer; wheel, keys and a finger that moves across go through the slices.
  listen(self, canvas) {
    const move = (by) => this.go(self, self.stack.now + by), { length } = self.stack.slices;
    let start = null;
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      this.point(self, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
      if (event.pointerType !== "touch" || !start) return;
      this.go(self, start.now + Math.round((event.clientX - start.x) / Math.max(4, box.width / length)));
    });
    canvas.addEventListener("pointerdown", (event) => { start = { x: event.clientX, now: self.stack.now }; });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { start = null; });
    canvas.addEventListener("pointerleave", () => { for (const { cursor } of self.pictures) cursor.style.display = "none"; });
    if (length < 2) return;
    canvas.tabIndex = 0;
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && event.deltaY && move(Math.sign(event.deltaY))) event.preventDefault();
    }, { passive: false });
    const keys = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -length, End: length };
    canvas.addEventListener("keydown", (event) => {
      if (event.key in keys && move(keys[event.key])) event.preventDefault();
    });
  }
  // Goes to slice i of the list. Returns false if it is shown already.
  go(self, i) {
    const { stack } = self, to = Math.min(stack.slices.length - 1, Math.max(0, i));
    if (to === stack.now) return false;
    stack.now = to;
    self.slider.value = to;
    const { index, position } = stack.slice;
    self.words.textContent = plain(caption(this.image, { ...self.plane, index, position }));
    this.load(self);
    return true;
  }
  // The plane of another card that has the place of plane k of this one.
  planeOf(card, k) {
    const all = card.planes[0].plane.volume_name === null && this.image.planes[0].volume_name !== null;
    return card.planes[all ? 0 : k];
  }
  // Takes the numbers of this image at the slice, and of those that are shown with it, and draws them.
  async load(self) {
    const k = this.planes.indexOf(self), { index } = self.stack.slice, ask = self.asked = {};
    const of = async (card) => card && this.planeOf(card, k) ? this.planeOf(card, k).stack.numbers(index) : null;
    const [own, before, over] = await Promise.all([self.stack.numbers(index), of(this.before), of(this.over)]);
    if (ask !== self.asked) return;
    self.shown = { own, before, over };
    this.draw();
  }
  // Moves the cursor of a plane to a place, and says the values there.
  point(self, across, down) {
    const at = (share, count) => Math.min(count - 1, Math.max(0, Math.floor(share * count)));
    const { width, height } = self.plane, x = at(across, width), y = at(down, height), { own, before, over } = self.shown;
    for (const { cursor } of self.pictures)
      Object.assign(cursor.style, { display: "block", left: `${100 * (x + 0.5) / width}%`, top: `${100 * (y + 0.5) / height}%` });
    const value = (card, numbers) => {
      const found = numbers[y * width + x], { least, step } = card.image.window;
      return found === INVALID ? "no value" : number(least + step * found) + behind(card.image.unit);
    };
    this.output.textContent = own ? plain(`column ${x}, row ${y}: ${value(this, own)}` +
      (before && (this.beside || this.split > 0) ? `; before ${value(this.before, before)}` : "") +
      (over ? `; ${this.over.image.name} ${value(this.over, over)}` : "")) : "";
  }
  controls(image) {
    const { level, width, least, most } = image.window, range = Math.max(most - least, width);
    this.inputs = [];
    const slider = (name, min, max) => el("label", name + " ", ["range", "number"].map((type) => {
      const input = el("input." + name, { type, step: "any", "aria-label": name, ...(type === "range" ? { min, max } : {}) });
      input.addEventListener("input", () => this.set({ [name]: +input.value }, input));
      this.inputs.push([name, input]);
      return input;
    }));
    const button = (text, act) => {
      const node = el("button", { type: "button" }, text);
      node.addEventListener("click", act);
      return node;
    };
    const wipe = el("input.wipe", { type: "range", min: 0, max: 1, step: "any", value: 0 });
    wipe.addEventListener("input", () => { this.split = +wipe.value; this.draw(); });
    const beside = button("side by side", () => this.toggleBeside());
    return el("div.controls", slider("level", Math.min(least, level), Math.max(most, level)),
      slider("width", range / 1000, range), el("span", behind(image.unit)), button("reset", () => this.set({ level, width })),
      button("full range", () => this.set({ level: (least + most) / 2, width: range })),
      image.window.presets.map(({ name, ...window }) => button(name, () => this.set(window))),
      this.before ? [el("label", "before \u2190\u2192 after ", wipe), beside] : [],
      this.others.length ? this.overControls() : [], this.output);
  }
  // Shows the image before at the side of each plane, or no longer.
  toggleBeside() {
    this.beside = !this.beside;
    this.element.classList.toggle("beside", this.beside);
    for (const self of this.planes) {
      if (this.beside) {
        self.pictures.push(this.picture(self.stack, "before: " + self.words.textContent));
        self.pictures[1].frame.classList.add("before");
        self.pair.prepend(self.pictures[1].frame);
        this.listen(self, self.pictures[1].canvas);
      } else self.pictures.pop().frame.remove();
    }
    this.draw();
  }
  // What lies over the image: another one with the same pixels, in a color, as a surface or a contour.
  overControls() {
    const select = (kind, names) => el("select." + kind, { "aria-label": kind }, names.map((name, i) => el("option", { value: i }, name)));
    const over = select("over", ["nothing", ...this.others.map((other) => other.name)]), form = select("form", ["filled", "contour"]);
    const opacity = el("input.opacity", { type: "range", min: 0, max: 1, step: "any", value: this.opacity, "aria-label": "opacity" });
    const color = el("input.color", { type: "color", value: "#ff503c", "aria-label": "color" });
    const more = el("span.more", form, "opacity", opacity, color);
    more.hidden = true;
    over.addEventListener("input", () => {
      this.over = cards.find((card) => card.image === this.others[+over.value - 1]) || null;
      more.hidden = !this.over;
      color.hidden = !this.over || this.over.image.labels !== 1;
      this.reload();
    });
    form.addEventListener("input", () => { this.contour = +form.value === 1; this.draw(); });
    opacity.addEventListener("input", () => { this.opacity = +opacity.value; this.draw(); });
    color.addEventListener("input", () => {
      this.color = [1, 3, 5].map((i) => parseInt(color.value.slice(i, i + 2), 16));
      this.draw();
    });
    return [el("label.overlay", "over it ", over, more)];
  }
  reload() { return Promise.all(this.planes.map((plane) => this.load(plane))); }
  set(window, source) {
    Object.assign(this.window, window);
    for (const [name, input] of this.inputs)
      if (input !== source) input.value = input.type === "number" ? number(this.window[name]) : this.window[name];
    this.draw();
    for (const card of cards)
      if (card !== this && (card.over === this || (card.before === this && (card.split > 0 || card.beside)))) card.draw();
  }
  // Returns the gray level of every number that a value can have.
  grays() {
    const { least, step } = this.image.window, { level, width } = this.window;
    const grays = new Uint8ClampedArray(INVALID + 1), scale = width > 0 ? 255 / width : 0;
    for (let i = 0; i < INVALID; i++) grays[i] = Math.floor((least + step * i - level + width / 2) * scale + 0.5);
    return grays;
  }
  // Returns the color that lies over each pixel, with its opacity, as a function of the pixel.
  overlay(numbers, width) {
    const { least, step } = this.over.image.window, { labels } = this.over.image, grays = labels ? null : this.over.grays();
    const key = (i) => numbers[i] === INVALID ? 0 : labels ? Math.round(least + step * numbers[i]) : +(grays[numbers[i]] > 127);
    const edge = (i) => {
      const own = key(i), x = i % width;
      return own > 0 && (key(x > 0 ? i - 1 : i) !== own || key(x < width - 1 ? i + 1 : i) !== own ||
        key(i >= width ? i - width : i) !== own || key(i + width < numbers.length ? i + width : i) !== own);
    };
    const hot = (gray) => [3 * gray, 3 * gray - 255, 3 * gray - 510].map((part) => Math.min(255, Math.max(0, part)));
    return (i) => {
      if (numbers[i] === INVALID) return null;
      if (this.contour ? !edge(i) : labels ? key(i) <= 0 : grays[numbers[i]] === 0) return null;
      if (labels === 1 || (this.contour && !labels)) return this.color;
      return labels ? PALETTE[(key(i) - 1) % PALETTE.length] : hot(grays[numbers[i]]);
    };
  }
  draw() {
    const grays = this.grays(), graysBefore = this.before && (this.split > 0 || this.beside) ? this.before.grays() : null;
    for (const { plane, pictures, shown } of this.planes) {
      if (!shown.own) continue;
      this.paint(plane, pictures[0].canvas, shown, grays, this.split > 0 && !this.beside ? graysBefore : null);
      if (this.beside && shown.before) this.paint(plane, pictures[1].canvas, { ...shown, own: shown.before }, graysBefore, null);
    }
  }
  paint({ width, height }, canvas, { own, before, over }, grays, graysBefore) {
    const context = canvas.getContext("2d"), out = context.createImageData(width, height), { data } = out;
    const edge = before && graysBefore ? Math.round(this.split * width) : 0, opacity = this.contour ? 1 : this.opacity;
    const colorOf = over && this.over ? this.overlay(over, width) : null;
    for (let i = 0; i < own.length; i++) {
      const old = i % width < edge, value = old ? before[i] : own[i], color = colorOf && colorOf(i);
      for (let c = 0; c < 3; c++) {
        const gray = value === INVALID ? EMPTY[c] : (old ? graysBefore : grays)[value];
        data[4 * i + c] = color ? gray + opacity * (color[c] - gray) : gray;
      }
      data[4 * i + 3] = 255;
    }
    context.putImageData(out, 0, 0);
    context.fillStyle = "#ffe08a";
    if (edge > 0 && edge < width) context.fillRect(edge, 0, 1, height);
  }
}

// ---- the other sections

function answers() {
  const { digest, version, datasets, attributes, bytes: size } = record.checked, { sweep, warnings } = record;
  const first = record.stages[0], ofRun = (name) => valueOf("provenance/" + name), cuda = ofRun("cuda_device");
  const slices = record.inputs.map(({ name }) => {
    const shape = (list) => (datasetOf(`inputs/${name}/${list}`) || { shape: [] }).shape[0];
    const views = shape("angles"), known = (fact, before) => valueOf(`inputs/${name}/${fact}`).replace(/^(?=.)/s, before);
    return `${name}: ${plural(shape("slice_pixel_sha256") || 1, "slice")}${views ? ` of ${views} views` : ""}` +
      ` from ${known("format", "")}${known("modality", ", ")}${known("series_number", ", series number ")}`;
  });
  const way = record.stages.filter((stage) => stage.value <= 0).map((stage) => stage.label).join(" \u2192 ");
  const list = (id, question, ...answer) => [el("dt", id ? el("a", { href: "#" + id }, question) : question), el("dd", answer)];
  return el("section", { id: "answers" }, el("dl",
    list("inputs", "Which slices?", `${slices.join("; ") || "no input is named"}; the position and the digest of each is listed.`),
    list("chain", "Which parameters?", way || "no stage: the input as it is",
      sweep ? `, for each of ${sweep.names.join(", ")}` : "", "; every value is listed, also those that nobody gave."),
    list("digests", "Which device?", first ? valueOf(first.group + "/device") : "cpu",
      cuda ? ` (${cuda}, compute capability ${ofRun("cuda_compute_capability")})` : "",
      ofRun("device_note").replace(/.+/s, " ($&)"), `, tomostage ${ofRun("tomostage")}, built by ${ofRun("build")}.`),
    list("", "What was warned?", !warnings ? "Not known: the program that wrote this result did not keep its warnings."
      : warnings.length ? el("ul.warnings", warnings.map((text) => el("li", text))) : "Nothing: the run had no warnings."),
    list("digests", "What was checked?",
      "When this report was made, every digest of the result was computed again, and all were right: ",
      version === 1 ? `the values of ${datasets} datasets (${bytes(size)}); files of this version have no digests of anything else.`
        : `${datasets} datasets (${bytes(size)} of values), ${attributes} attributes, the structure, and every byte of the file.`,
      " Root digest: ", el("code", digest), ". The inputs were not at hand: whether images are those that were used, ",
      el("code", "tomostage verify FILE --inputs PATH"), " shows, and whether they give this result again, ",
      el("code", "tomostage rerun FILE -i PATH"), ".")));
}

function geometry({ image, svg, numbers }) {
  const drawn = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  drawn.setAttribute("viewBox", `0 0 ${drawn.getAttribute("width")} ${drawn.getAttribute("height")}`);
  for (const side of ["width", "height"]) drawn.removeAttribute(side);
  return section("geometry", "How the sinogram was measured",
    el("p", `The image ${image}; x, y and the angle are those of the reconstruction.`), el("div.drawing", drawn),
    el("ul", numbers.split("\n").filter((line) => line).map((line) => el("li", line.replace(/:$/, "")))));
}

function tables() {
  const residuals = record.residuals.map(({ iteration, median, least, largest, name }) =>
    ({ name, x: iteration, y: median, low: least, high: largest }));
  const range = ({ low, high }, { shape }) => `${shape.join(" x ")} values` +
    (low === null ? ", none finite" : low === high ? `, all ${number(low)}` : ` from ${number(low)} to ${number(high)}`);
  const list = record.tables.map((table) => ({ ...table, set: datasets.get(table.path), name: table.path.slice(7) }));
  return section("tables", "What the stages measured",
    residuals.length ? el("div.charts", chart("Residuals of iterative reconstruction", "iterations",
      "residual ||b - A x|| / ||b|| after them", true, residuals)) : [],
    facts(list.filter((table) => !table.columns).map((table) =>
      [table.name, "low" in table ? range(table, table.set) : table.set.value, table.set.unit])),
    el("div.charts", list.filter((table) => table.columns).map(({ name, set, over, columns, rows_per_point }) =>
      chart(name, over ? `${over.name} / ${over.unit || 1}` : "row", set.unit || "1", false, columns.map((y, i) => ({ y,
        name: columns.length > 1 ? `column ${i}` : "", x: over ? over.at : y.map((_, row) => row * rows_per_point) }))))),
    record.tables_left_out ? el("p", `${record.tables_left_out} more tables are in the result.`) : []);
}

function chain() {
  const { chain: { text, sha256 }, sweep } = record;
  return section("chain", "The chain with every value",
    sweep ? el("p", `The chain sweeps over ${sweep.values.length} values of ${sweep.stage}.${sweep.parameter}: ` +
      `${sweep.values.join(", ")}. The stages from there on stand once for each.`) : [],
    el("div.stages", record.stages.map(({ group, number, label, value }) => {
      const of = (name) => valueOf(`${group}/${name}`);
      return el("article.stage", el("h3", `${number}. ${label}`, of("name").replace(/.+/s, " (kept as $&)"),
        value === 0 ? `, for ${sweep.names[0]}` : ""),
      el("p", `takes ${of("input")}; gives ${of("quantity")} in ${of("unit")}; ran on ${of("device")}`),
      facts(below(group + "/parameters/").map(({ name, value, shape, unit }) =>
        [name, value === null ? `${shape[0] || 1} values, in the chain below` : value, unit])));
    })),
    el("details", { open: "" }, el("summary", "The chain as a file that runs again"), el("pre", text)),
    sha256 ? el("p", "SHA-256 of this text: ", el("code", sha256)) : []);
}

function input({ name, least_angle, largest_angle, slices }) {
  const { unit } = datasetOf(`inputs/${name}/slice_position`) || {}, list = datasetOf(`inputs/${name}/slice_pixel_sha256`);
  const known = below(`inputs/${name}/`).map((fact) => [fact.name, fact.value === null && fact.name === "angles"
    ? `${fact.shape[0]}, from ${number(least_angle)} to ${number(largest_angle)}` : fact.value, fact.unit]);
  const left = list ? (list.shape[0] || 1) - slices.length : 0;
  return [el("h3", name), facts(known.filter(([fact, value]) => value !== null && !/^slice_(?!thickness$)/.test(fact))),
    slices.length ? el("details", slices.length <= 8 ? { open: "" } : [],
      el("summary", `${plural(slices.length + left, "slice")}, in the order of the image`),
      table("list", ["slice", "position" + (unit ? ` / ${unit}` : ""), "SHA-256 of its pixels; HMAC-SHA256 of its instance"],
        slices.map(({ position, sha256, instance }, i) => [i, position.map((at) => number(at)).join(", "),
          [el("code", sha256), instance ? [el("br"), "instance ", el("code", instance)] : []]])),
      left > 0 ? el("p", `The other ${left} are in the result.`) : []) : []];
}

function run() {
  const { run } = record, all = ({ busy }) => run.seconds > 0 ? `${Math.round(100 * busy / run.seconds)} %` : "";
  if (!run)
    return section("run", "Time and memory of the run", el("p", "No profile was given to this report, so that it knows neither ",
      "the time nor the memory of the run. They are no part of a result, since equal runs write equal bytes: ",
      el("code", "run --profile NAME"), " keeps them, and ", el("code", "report --profile NAME.json"), " shows them here."));
  const memory = { planned: "memory planned", allowed: "memory that the run was allowed",
    peak: "memory used at most, with libraries", device_planned: "device memory planned",
    device_allowed: "device memory that the run was allowed" };
  return section("run", "Time and memory of the run",
    el("p", "From the profile that was given to this report. It is of a run that wrote a result with the digest of this one."),
    facts(Object.keys(memory).filter((key) => run.memory[key] > 0).map((key) => [memory[key], bytes(run.memory[key])])),
    run.stages.length ? table("wide", ["stage", "computed s", "bytes", "calls"],
      run.stages.map((stage) => [stage.stage, seconds(stage.seconds), bytes(stage.bytes), stage.calls]))
      : el("p", "The profile has no time of each stage."),
    lanes(run), table("wide", ["part", "first s", "last s", "busy s", "of all", "threads s", "bytes"],
      [...run.parts.map((part) => [part.part, seconds(part.first), seconds(part.last), seconds(part.busy), all(part),
        seconds(part.worked), part.bytes > 0 ? bytes(part.bytes) : ""]), ["all", "", seconds(run.seconds), "", "", "", ""]]));
}

function digests() {
  const known = below("provenance/").filter(({ name, value }) => value !== null && name !== "chain" && name !== "warnings");
  return section("digests", "Program, device and digests", el("h3", "Program, device and libraries"),
    facts(known.map(({ name, value, unit }) => [name, value, unit])),
    el("details", el("summary", `The digests of all ${record.checked.datasets} datasets`),
      el("p", "They are SHA-256 of the values, in a tree of leaves of 1 MiB; docs/provenance.md of the program shows how to ",
        "compute them without it. They show that the file is as it was written, and are no signature."),
      table("list", ["dataset", "type and shape", "stored", "digest"], record.datasets.map((set) =>
        [set.path, `${set.type || "?"} ${set.shape.join(" \u00d7 ")}`, bytes(set.bytes), el("code", set.digest || "")]))));
}

// ---- the page

const cards = [];
for (const image of record.images) cards.push(new Card(image));
document.querySelector("main").replaceWith(el("main", answers(),
  section("images", "The images, before and after each stage that was kept", cards.map((card) => card.element),
    record.images_left_out ? el("p.note", `${record.images_left_out} more images are in the result.`) : []),
  record.geometry ? geometry(record.geometry) : [], record.tables.length + record.residuals.length ? tables() : [], chain(),
  section("inputs", "The inputs, slice by slice", record.inputs.map(input)), run(), digests()));
document.querySelector("header").append(el("nav", [["images", "images"], ["chain", "chain"], ["inputs", "inputs"],
  ["run", "time and memory"], ["digests", "digests"]].map(([id, text]) => el("a", { href: "#" + id }, text))));
Promise.all(cards.map((card) => card.reload())).then(() => {
  for (const card of cards) card.set({});
  document.documentElement.classList.add("ready");
});
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
