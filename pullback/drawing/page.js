"use strict";
// The same sums as places.py, done anew when a group is folded; then moving, searching, telling.
const data = JSON.parse(document.getElementById("data").textContent);
const { sums, paint, levels, boxes, edges, lines } = data;
const get = (id) => document.getElementById(id);
const view = get("view"), world = get("world"), detail = get("detail");
const XMLNS = "http://www.w3.org/2000/svg";
const layerOf = (level, item) => level.items[item][2];
const what = (level, item) => level.items[item][0];
const slim = (level, item) => what(level, item) === "bend" || what(level, item) === "port";

// Places ---------------------------------------------------------------------------------------

function hiderOf(number) {
  let found = -1;
  for (let at = number; at > 0; at = levels[at].in[0]) if (levels[at].closed) found = at;
  return found;
}

function extent(level, item) {
  const [kind, key] = level.items[item];
  if (kind === "box") return boxes[key].size;
  if (kind !== "group") return [0, 0];
  return levels[key].closed ? levels[key].size : levels[key].place.size;
}

function portShift(number, port) {
  const level = levels[number];
  return level.closed ? level.ports[port] : level.place.x[port] - level.place.size[0] / 2;
}

const shiftOf = (end) => Array.isArray(end) ? portShift(end[0], end[1]) : end;

function spread(x, layer, wish, weights, margins) {
  const shifts = [], pools = [];
  let total = 0;
  layer.forEach((item, p) => {
    total += margins[item] + (p ? margins[layer[p - 1]] : 0);
    shifts.push(total);
  });
  layer.forEach((item, p) => {
    pools.push([(wish[p] - shifts[p]) * weights[p], weights[p], 1]);
    while (pools.length > 1) {
      const last = pools[pools.length - 1], before = pools[pools.length - 2];
      if (before[0] * last[1] <= last[0] * before[1]) break;
      pools.pop();
      for (let i = 0; i < 3; i++) before[i] += last[i];
    }
  });
  let p = 0;
  for (const [wishes, weight, count] of pools)
    for (let i = 0; i < count; i++, p++) x[layer[p]] = wishes / weight + shifts[p];
}

function upright(level, x) {
  const found = new Map();
  for (const chain of level.chains) {
    const middle = chain.map((item) => x[item]).sort((a, b) => a - b)[Math.floor(chain.length / 2)];
    for (const item of chain) found.set(item, middle);
  }
  return found;
}

function across(level, widths) {
  const upper = level.items.map(() => []), lower = level.items.map(() => []);
  for (const [above, below, start, end] of level.segments) {
    const shift = shiftOf(end) - shiftOf(start);
    const weight = sums.weights[slim(level, above) + slim(level, below)];
    upper[below].push([above, -shift, weight]);
    lower[above].push([below, shift, weight]);
  }
  const x = level.items.map(() => 0);
  const margins = widths.map((w) => w / 2 + (w ? sums.between / 2 : sums.beside));
  const all = (layer, value) => layer.map(() => value);
  for (const layer of level.layers) spread(x, layer, all(layer, 0), all(layer, 1), margins);
  for (let sweep = 0; sweep < sums.sweeps; sweep++) {
    const straight = sweep >= sums.sweeps - sums.last ? upright(level, x) : new Map();
    const sides = sweep >= sums.sweeps - sums.last ? [upper, lower] : [[upper, lower][sweep % 2]];
    for (const layer of sweep % 2 ? [...level.layers].reverse() : level.layers) {
      const wish = [], weights = [];
      for (const item of layer) {
        if (straight.has(item)) {
          wish.push(straight.get(item));
          weights.push(sums.upright);
          continue;
        }
        let mean = 0, total = 0;
        for (const side of sides) for (const [other, shift, w] of side[item]) {
          mean += w * (x[other] + shift);
          total += w;
        }
        wish.push(total ? mean / total : x[item]);
        weights.push(total || 0.1);
      }
      spread(x, layer, wish, weights, margins);
    }
  }
  return x;
}

function gap(level, number, slope) {
  const inner = level.path.length > 0, last = level.layers.length - 1;
  if (number === 1 && !level.layers[0].length) return inner ? sums.head : 0;
  if (number === last && !level.layers[number].length) return inner ? sums.foot : 0;
  return sums.gap + Math.min(sums.steepest, sums.slope * slope);
}

function placed(level) {
  const place = { top: [], bottom: [] }, inner = level.path.length > 0;
  const widths = level.items.map((_, n) => extent(level, n)[0]);
  const x = across(level, widths);
  const left = Math.min(...x.map((v, n) => v - widths[n] / 2), Infinity);
  const side = inner ? sums.side : 0;
  place.x = x.map((v) => v - left + side);
  const right = Math.max(...place.x.map((v, n) => v + widths[n] / 2), 0);
  place.lanes = right + (level.lanes ? 2 * sums.lane : 0);
  let wide = place.lanes + level.lanes * sums.lane + side;
  if (inner) wide = Math.max(wide, level.path.at(-1).length * sums.title + 3 * sums.side);
  const slopes = level.layers.map(() => 0);
  for (const [above, below, start, end] of level.segments) {
    const dx = place.x[above] + shiftOf(start) - place.x[below] - shiftOf(end);
    const at = layerOf(level, above);
    slopes[at] = Math.max(slopes[at], Math.abs(dx));
  }
  let y = 0;
  level.layers.forEach((layer, number) => {
    if (number) y += gap(level, number, slopes[number - 1]);
    place.top.push(y);
    y += Math.max(0, ...layer.map((item) => extent(level, item)[1]));
    place.bottom.push(y);
  });
  place.size = [wide, y];
  return place;
}

function corner(number, item) {
  const level = levels[number], [left, top] = level.origin;
  return [left + level.place.x[item] - extent(level, item)[0] / 2,
          top + level.place.top[layerOf(level, item)]];
}

function arrange() {
  levels.forEach((level, number) => { level.hider = hiderOf(number); });
  for (let n = levels.length - 1; n >= 0; n--)
    if (levels[n].hider < 0) levels[n].place = placed(levels[n]);
  levels[0].origin = [0, 0];
  for (const level of levels.slice(1)) if (level.hider < 0) level.origin = corner(...level.in);
}

// Ways -----------------------------------------------------------------------------------------

function border(number, item, x, down, leaves) {
  const level = levels[number], top = corner(number, item)[1];
  const bottom = top + extent(level, item)[1];
  const edge = level.origin[1] + level.place.bottom[layerOf(level, item)];
  if (leaves) return down ? [[x, bottom], [x, edge]] : [[x, top]];
  if (down) return [[x, top - sums.straight], [x, top]];
  return [[x, edge + sums.straight], [x, edge], [x, bottom]];
}

function passed(edge, [number, item, lane, arrives], first) {
  const level = levels[number], down = edge.down;
  if (what(level, item) === "port" && lane < 0 && (level.hider < 0 || level.hider === number)) {
    const [outer, group] = level.in;
    const x = levels[outer].origin[0] + levels[outer].place.x[group] + portShift(number, item);
    return border(outer, group, x, down, !arrives);
  }
  if (level.hider >= 0) return [];
  const [left, top] = level.origin, place = level.place, layer = layerOf(level, item);
  if (lane >= 0) {
    const below = Boolean(arrives) !== down;
    return [[left + place.lanes + lane * sums.lane,
             top + (below ? place.top[layer + 1] : place.bottom[layer - 1])]];
  }
  const x = left + place.x[item];
  if (what(level, item) === "bend") {
    const ys = [[x, top + place.top[layer]], [x, top + place.bottom[layer]]];
    return down ? ys : ys.reverse();
  }
  return border(number, item, x + (first ? edge.from : edge.to), down, first);
}

const short = (v) => String(Math.round(v * 10) / 10);

function pathOf(points) {
  let [x, y] = points[0], text = `M${short(x)} ${short(y)}`;
  for (const [nx, ny] of points.slice(1)) {
    const middle = short((y + ny) / 2);
    text += Math.abs(nx - x) < 0.05 ? `V${short(ny)}`
      : `C${short(x)} ${middle} ${short(nx)} ${middle} ${short(nx)} ${short(ny)}`;
    [x, y] = [nx, ny];
  }
  return text;
}

// Drawing --------------------------------------------------------------------------------------

function made(parent, tag, attributes, text) {
  const element = document.createElementNS(XMLNS, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

const placedElements = [...get("boxes").children].map((element) => {
  const [level, item] = element.dataset.at.split(" ").map(Number);
  return { element, level, item, group: what(levels[level], item) === "group" };
});

function drawFrames() {
  levels.forEach((level, number) => {
    if (!number || level.hider >= 0) return;
    const [x, y] = level.origin, [width, height] = level.place.size;
    made(get("frames"), "rect", { class: "group", x, y, width, height, rx: 8,
      fill: paint.ground[level.path.length % 2], stroke: paint.frame });
    const name = made(get("names"), "text", { class: "name", x: x + 10, y: y + 17,
      "font-size": 12, "font-weight": 600, fill: paint.faint, stroke: paint.ground[0],
      "stroke-width": 4, "paint-order": "stroke" }, `▾ ${level.path.at(-1)}`);
    name.addEventListener("click", () => fold(number, true));
  });
}

function drawLines() {
  const alike = new Map(), ends = new Map();
  edges.forEach((edge, n) => {
    const points = edge.way.flatMap((stop, position) => passed(edge, stop, position === 0));
    if (!points.length) return;
    const path = pathOf(points), key = path + edge.look;
    if (!alike.has(key)) alike.set(key, { path, numbers: [] });
    alike.get(key).numbers.push(n);
    if (edge.labelled) ends.set(points.at(-1).map(short).join(), [edge, points.at(-1)]);
  });
  for (const { path, numbers } of alike.values()) {
    const look = edges[numbers[0]].look, line = lines[look];
    const element = made(get("lines"), "path", { class: "edge", d: path, fill: "none",
      stroke: line.color, "stroke-width": line.width + (numbers.length > 1 ? 0.6 : 0),
      "stroke-dasharray": line.dash, "marker-end": `url(#arrow-${look})` });
    element.edges = numbers;
    made(element, "title", {}, [...new Set(numbers.map((n) => `${boxes[edges[n].tail].key} → ${
      boxes[edges[n].head].key} ${edges[n].label}`))].join("\n"));
  }
  for (const [edge, [x, end]] of ends.values()) drawLabel(edge, x, end + (edge.down ? -11 : 17));
}

function drawLabel(edge, x, y) {
  const width = edge.label.length * sums.small + 4;
  const label = made(get("labels"), "g", { class: "label" });
  made(label, "rect", { x: x - width / 2, y: y - 9, width, height: 11.5, rx: 2, fill: paint.paper,
    "fill-opacity": 0.9 });
  made(label, "text", { x, y, "font-size": 9.5, "text-anchor": "middle", fill: paint.faint },
    edge.label);
}

function draw() {
  arrange();
  for (const { element, level, item, group } of placedElements) {
    const seen = levels[level].hider < 0 && (!group || levels[levels[level].items[item][1]].closed);
    element.style.display = seen ? "" : "none";
    if (seen) element.setAttribute("transform", `translate(${corner(level, item).map(short)})`);
  }
  for (const id of ["frames", "names", "lines", "labels"]) get(id).replaceChildren();
  drawFrames();
  drawLines();
}

// Moving ---------------------------------------------------------------------------------------

let zoom = 1, shift = [0, 0];
const show = () => world.setAttribute("transform", `translate(${shift}) scale(${zoom})`);

function fit() {
  const [width, height] = levels[0].place.size, frame = view.getBoundingClientRect();
  zoom = Math.max(0.05, Math.min(1.2, (frame.width - 48) / width, (frame.height - 48) / height));
  if (zoom < 0.45) zoom = Math.max(zoom, Math.min(0.75, (frame.width - 48) / width));
  shift = [(frame.width - width * zoom) / 2, Math.max(24, (frame.height - height * zoom) / 2)];
  show();
}

function zoomAt(factor, x, y) {
  const next = Math.max(0.03, Math.min(6, zoom * factor));
  shift = [x - (x - shift[0]) * next / zoom, y - (y - shift[1]) * next / zoom];
  zoom = next;
  show();
}

function zoomMiddle(factor) {
  const frame = view.getBoundingClientRect();
  zoomAt(factor, frame.width / 2, frame.height / 2);
}

function fold(number, closed) {
  const before = corner(...levels[number].in);
  levels[number].closed = closed;
  draw();
  mark();
  const after = corner(...levels[number].in);  // what was clicked on stays where it is
  shift = shift.map((v, i) => v + (before[i] - after[i]) * zoom);
  show();
}

function foldAll(closed) {
  levels.slice(1).forEach((level) => { level.closed = closed; });
  draw();
  mark();
  fit();
}

let drag = null, moved = false;
view.addEventListener("wheel", (event) => {
  event.preventDefault();
  const frame = view.getBoundingClientRect();
  zoomAt(Math.exp(-event.deltaY * 0.0015), event.clientX - frame.left, event.clientY - frame.top);
}, { passive: false });
view.addEventListener("pointerdown", (event) => {
  drag = [event.clientX - shift[0], event.clientY - shift[1], event.clientX, event.clientY];
  moved = false;
});
window.addEventListener("pointermove", (event) => {
  if (!drag) return;
  if (Math.hypot(event.clientX - drag[2], event.clientY - drag[3]) > 3) moved = true;
  if (!moved) return;
  view.classList.add("moving");
  shift = [event.clientX - drag[0], event.clientY - drag[1]];
  show();
});
window.addEventListener("pointerup", () => { drag = null; view.classList.remove("moving"); });
view.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
  if (event.key === "+") zoomMiddle(1.25);
  else if (event.key === "-") zoomMiddle(0.8);
  else if (event.key === "0") fit();
  else if (step[event.key]) { shift = shift.map((v, i) => v + step[event.key][i]); show(); }
  else return;
  event.preventDefault();
});

// Telling and searching ------------------------------------------------------------------------

let kept = null, matches = [], current = -1;

function tell(box) {
  detail.hidden = box === null;
  if (box !== null) detail.firstElementChild.textContent = boxes[box].detail || boxes[box].key;
  for (const line of get("lines").children) {
    line.classList.toggle("lit", box !== null && line.edges.some(
      (n) => edges[n].tail === box || edges[n].head === box));
  }
}

function keep(box) {
  kept = kept === box ? null : box;
  detail.classList.toggle("kept", kept !== null);
  tell(kept);
}

for (const { element, level, item, group } of placedElements) {
  const key = levels[level].items[item][1];
  if (group) {
    element.addEventListener("click", () => { if (!moved) fold(key, false); });
    continue;
  }
  element.addEventListener("pointerenter", () => { if (kept === null && !drag) tell(key); });
  element.addEventListener("pointerleave", () => { if (kept === null) tell(null); });
  element.addEventListener("click", () => { if (!moved) keep(key); });
}

function mark() {
  const searching = get("search").value.trim() !== "", found = new Set(matches);
  for (const { element, level, item, group } of placedElements) {
    const key = levels[level].items[item][1];
    const match = group ? matches.some((m) => holds(key, m)) : found.has(key);
    element.firstElementChild.classList.toggle("match", searching && match);
    element.firstElementChild.classList.toggle("here", !group && matches[current] === key);
    element.classList.toggle("faded", searching && !match);
  }
  get("found").textContent = !searching ? "" : !matches.length ? "nothing found"
    : current < 0 ? `${matches.length} found` : `${current + 1} of ${matches.length}`;
}

const levelOf = new Map();
for (const { level, item, group } of placedElements)
  if (!group) levelOf.set(levels[level].items[item][1], [level, item]);

function holds(group, box) {
  for (let at = levelOf.get(box)[0]; at > 0; at = levels[at].in[0]) if (at === group) return true;
  return false;
}

function search() {
  const words = get("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  current = -1;
  matches = !words.length ? [] : boxes.map((box, n) => n).filter((n) => {
    const text = `${boxes[n].key} ${boxes[n].text}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  mark();
}

function next(step) {
  if (!matches.length) return;
  current = (current + step + matches.length) % matches.length;
  const [number, item] = levelOf.get(matches[current]);
  for (let at = number; at > 0; at = levels[at].in[0]) levels[at].closed = false;
  draw();
  mark();
  const [x, y] = corner(number, item), size = extent(levels[number], item);
  const frame = view.getBoundingClientRect();
  zoom = Math.max(zoom, 0.8);
  shift = [frame.width / 2 - (x + size[0] / 2) * zoom, frame.height / 2 - (y + size[1] / 2) * zoom];
  show();
}

get("search").addEventListener("input", search);
get("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") next(event.shiftKey ? -1 : 1);
  if (event.key === "Escape") { get("search").value = ""; search(); }
});
window.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== get("search")) {
    event.preventDefault();
    get("search").focus();
  } else if (event.key === "Escape" && kept !== null) keep(kept);
});
get("open").addEventListener("click", () => foldAll(false));
get("close").addEventListener("click", () => foldAll(true));
get("in").addEventListener("click", () => zoomMiddle(1.25));
get("out").addEventListener("click", () => zoomMiddle(0.8));
get("fit").addEventListener("click", fit);
draw();
fit();
