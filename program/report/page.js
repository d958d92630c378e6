// SPDX-License-Identifier: Apache-2.0
// Draws the planes in the window of the sliders. Each frame holds its values as a PNG with the high bytes above the low
// bytes; value = low + step * number, and the number 65535 stands where nothing was measured.
"use strict";
const INVALID = 65535, EMPTY = [38, 52, 92];

function decode(frame, done) {
  const picture = new Image(), width = +frame.dataset.width, height = +frame.dataset.height;
  picture.onload = () => {
    const buffer = document.createElement("canvas");
    buffer.width = width;
    buffer.height = 2 * height;
    const context = buffer.getContext("2d", { willReadFrequently: true });
    context.drawImage(picture, 0, 0);
    const bytes = context.getImageData(0, 0, width, 2 * height).data, n = width * height, numbers = new Uint16Array(n);
    for (let i = 0; i < n; i++) numbers[i] = bytes[4 * i] * 256 + bytes[4 * (i + n)];
    const canvas = document.createElement("canvas"), image = frame.querySelector("img");
    canvas.width = width;
    canvas.height = height;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", image.alt);
    image.replaceWith(canvas);
    done({ width, height, numbers, canvas });
  };
  picture.src = frame.dataset.values;
}

class Card {
  constructor(element) {
    const data = element.dataset;
    this.element = element;
    this.low = +data.low;
    this.step = +data.step;
    this.unit = data.unit;
    this.swept = "swept" in data;
    this.first = { level: +data.level, width: +data.window };
    this.window = { ...this.first };
    this.planes = [];
    this.split = 0;
    this.followers = [];
    for (const name of ["level", "width"])
      for (const input of element.querySelectorAll("input." + name))
        input.addEventListener("input", () => this.set({ [name]: +input.value }, input));
    for (const button of element.querySelectorAll("button"))
      button.addEventListener("click", () => this.set(this.preset(button)));
    const wipe = element.querySelector("input.wipe");
    if (wipe) wipe.addEventListener("input", () => { this.split = +wipe.value; this.draw(); });
  }
  preset(button) {
    const slider = this.element.querySelector("input.level[type=range]");
    if (button.className === "first") return this.first;
    if (button.className === "full") return { level: (+slider.min + +slider.max) / 2, width: slider.max - slider.min };
    return { level: +button.dataset.level, width: +button.dataset.width };
  }
  set(window, source) {
    Object.assign(this.window, window);
    for (const name of ["level", "width"])
      for (const input of this.element.querySelectorAll("input." + name))
        if (input !== source) input.value = input.type === "number" ? +this.window[name].toPrecision(6) : this.window[name];
    this.draw();
    for (const follower of this.followers) if (follower.split > 0) follower.draw();
  }
  // Returns the gray level of every number that a value can have.
  grays() {
    const grays = new Uint8ClampedArray(INVALID + 1), start = this.window.level - this.window.width / 2;
    const scale = this.window.width > 0 ? 255 / this.window.width : 0;
    for (let i = 0; i < INVALID; i++) grays[i] = Math.floor((this.low + this.step * i - start) * scale + 0.5);
    return grays;
  }
  draw() {
    const grays = this.grays(), before = this.before && this.split > 0 ? this.before : null;
    const graysBefore = before ? before.grays() : null;
    this.planes.forEach((plane, k) => {
      const { width, height, numbers, canvas } = plane, context = canvas.getContext("2d");
      const out = context.createImageData(width, height), other = before && before.planes[this.swept && !before.swept ? 0 : k];
      const edge = other ? Math.round(this.split * width) : 0;
      for (let i = 0; i < numbers.length; i++) {
        const old = i % width < edge, number = old ? other.numbers[i] : numbers[i];
        const gray = old ? graysBefore[number] : grays[number];
        for (let c = 0; c < 3; c++) out.data[4 * i + c] = number === INVALID ? EMPTY[c] : gray;
        out.data[4 * i + 3] = 255;
      }
      context.putImageData(out, 0, 0);
      if (edge > 0 && edge < width) {
        context.fillStyle = "#ffe08a";
        context.fillRect(edge, 0, 1, height);
      }
    });
  }
  add(plane, k) {
    this.planes[k] = plane;
    const output = this.element.querySelector("output");
    plane.canvas.addEventListener("pointermove", (event) => {
      const box = plane.canvas.getBoundingClientRect();
      const x = Math.min(plane.width - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * plane.width)));
      const y = Math.min(plane.height - 1, Math.max(0, Math.floor((event.clientY - box.top) / box.height * plane.height)));
      const number = plane.numbers[y * plane.width + x];
      const value = number === INVALID ? "no value" : `${+(this.low + this.step * number).toPrecision(6)} ${this.unit}`;
      output.textContent = `column ${x}, row ${y}: ${value}`;
    });
  }
}

const cards = Array.from(document.querySelectorAll("article.image"), (element) => new Card(element));
let waiting = 0;
cards.forEach((card) => {
  const before = card.element.dataset.before;
  if (before !== undefined) {
    card.before = cards[+before];
    card.before.followers.push(card);
  }
  card.element.querySelectorAll(".frame").forEach((frame, k) => {
    waiting++;
    decode(frame, (plane) => {
      card.add(plane, k);
      if (--waiting > 0) return;
      cards.forEach((each) => each.draw());
      document.documentElement.classList.add("ready");
    });
  });
});
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
