// Drawing --------------------------------------------------------------------------------------

function made(parent, tag, attributes, text) {
  const element = document.createElementNS(XMLNS, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

const things = levels.flatMap((level, number) => level.items.flatMap(([kind, key], item) => (
  kind === "box" || kind === "group" ? [{ level: number, item, key, group: kind === "group",
    element: null }] : [])));

// Elements are created when they become visible.
function elementOf(thing) {
  if (thing.element !== null) return thing.element;
  thing.element = made(get("boxes"), "g", {});
  thing.element.innerHTML = (thing.group ? levels : boxes)[thing.key].svg;
  const { group, key, element: { firstElementChild: shape } } = thing;
  const more = group ? { "data-level": key, "aria-expanded": false, "aria-label": levels[key].name }
    : { "aria-label": boxes[key].title };
  for (const [name, value] of Object.entries({ tabindex: 0, role: "button", ...more }))
    shape.setAttribute(name, value);
  listen(thing);
  marked(thing);
  return thing.element;
}

function drawFrames() {
  levels.forEach((level, number) => {
    if (!number || level.hider >= 0) return;
    const [x, y] = level.origin, [width, height] = level.place.size;
    made(get("frames"), "rect", { class: `group ${level.depth % 2 ? "odd" : "even"}`, x, y, width,
      height, rx: 8 });
    const name = made(get("names"), "text", { class: "name", x: x + 10, y: y + 17,
      "data-level": number, tabindex: 0, role: "button", "aria-expanded": true },
      `▾ ${level.name}`);
    name.addEventListener("click", () => fold(number, true));
  });
}

function drawLines() {
  const alike = new Map(), ends = new Map(), crowds = new Map();
  edges.forEach((edge, n) => {
    const points = edge.way.flatMap((stop, position) => passed(edge, stop, position === 0));
    if (!points.length) return;
    const path = pathOf(points), key = path + edge.look;
    if (!alike.has(key)) alike.set(key, { path, numbers: [] });
    alike.get(key).numbers.push(n);
    const end = points.at(-1), at = end.map(short).join();
    const group = levels[edge.way.at(-1)[0]].hider;
    if (!crowds.has(group)) crowds.set(group, new Set());
    crowds.get(group).add(at);
    if (edge.labelled) ends.set(at, { edge, end, group });
  });
  for (const { path, numbers } of alike.values()) {
    const look = edges[numbers[0]].look, line = lines[look];
    const element = made(get("lines"), "path", { class: "edge", d: path, fill: "none",
      stroke: line.color, "stroke-width": line.width + (numbers.length > 1 ? 0.6 : 0),
      "stroke-dasharray": line.dash, "marker-end": `url(#arrow-${look})` });
    element.edges = numbers;
    made(element, "title", {}, [...new Set(numbers.map((n) => `${boxes[edges[n].tail].key} → ${
      boxes[edges[n].head].key} ${data.labels[edges[n].label][0]}`))].join("\n"));
  }
  for (const { edge, end: [x, y], group } of ends.values())
    if (group < 0 || crowds.get(group).size <= sizes.labelled)
      made(get("labels"), "g", { transform: `translate(${x} ${y + (edge.down ? -11 : 17)})` })
        .innerHTML = data.labels[edge.label][1];
}

function draw() {
  arrange();
  for (const thing of things) {
    const { level, item, key, group } = thing;
    const seen = levels[level].hider < 0 && (!group || levels[key].closed);
    if (!seen && thing.element === null) continue;
    const { style } = elementOf(thing);
    style.display = seen ? "" : "none";
    if (seen)
      thing.element.setAttribute("transform", `translate(${corner(level, item).map(short)})`);
  }
  for (const id of ["frames", "names", "lines", "labels"]) get(id).replaceChildren();
  drawFrames();
  drawLines();
}

// Moving ---------------------------------------------------------------------------------------

let zoom = 1, shift = [0, 0];
let untouched = true;  // the user has not moved it since it was fitted

function show(touched = true) {
  untouched = !touched;
  world.setAttribute("transform", `translate(${shift}) scale(${zoom})`);
}

// Fits the picture, but keeps text readable: a long picture starts at its top.
function fit(least = 0.65) {
  const [width, height] = levels[0].place.size, frame = view.getBoundingClientRect();
  const across = (frame.width - 48) / width, down = (frame.height - 48) / height;
  const whole = Math.min(1.2, across, down);
  zoom = Math.max(0.03, whole, Math.min(least, across));
  shift = [(frame.width - width * zoom) / 2, Math.max(24, (frame.height - height * zoom) / 2)];
  show(false);
}

// Scrolls the focused element into view.
function reveal(element) {
  const frame = view.getBoundingClientRect(), own = element.getBoundingClientRect();
  if (own.left >= frame.left && own.right <= frame.right
      && own.top >= frame.top && own.bottom <= frame.bottom) return;
  shift = [shift[0] + (frame.left + frame.right - own.left - own.right) / 2,
           shift[1] + (frame.top + frame.bottom - own.top - own.bottom) / 2];
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
  const after = corner(...levels[number].in);  // the clicked element keeps its position
  shift = shift.map((v, i) => v + (before[i] - after[i]) * zoom);
  show();
}

function foldAll(closed) {
  levels.slice(1).forEach((level) => { level.closed = closed; });
  draw();
  mark();
  fit();
}

// Same as a click; a group that was folded or unfolded keeps the focus.
function press(element) {
  const { level } = element.dataset;
  moved = false;
  element.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  const seen = [...view.querySelectorAll(`[data-level="${level}"]`)];
  if (level) seen.find((e) => e.isConnected && e.parentNode.style.display !== "none")?.focus();
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
view.addEventListener("focusin", ({ target }) => {
  if (target !== view && target.matches(":focus-visible")) reveal(target);
});
view.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
  if (event.key === "+") zoomMiddle(1.25);
  else if (event.key === "-") zoomMiddle(0.8);
  else if (event.key === "0") fit(0);
  else if (["Enter", " "].includes(event.key) && event.target !== view) press(event.target);
  else if (step[event.key]) { shift = shift.map((v, i) => v + step[event.key][i]); show(); }
  else return;
  event.preventDefault();
});

// Details and search --------------------------------------------------------------------------

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

function listen({ element, key, group }) {
  if (group) {
    element.addEventListener("click", () => { if (!moved) fold(key, false); });
    return;
  }
  for (const kind of ["pointerenter", "focusin"])
    element.addEventListener(kind, () => { if (kept === null && !drag) tell(key); });
  for (const kind of ["pointerleave", "focusout"])
    element.addEventListener(kind, () => { if (kept === null) tell(null); });
  element.addEventListener("click", () => { if (!moved) keep(key); });
}

let searching = false, found = new Set(), holding = new Set();

function marked({ element, key, group }) {
  const match = group ? holding.has(key) : found.has(key);
  element.firstElementChild.classList.toggle("match", searching && match);
  element.firstElementChild.classList.toggle("here", !group && matches[current] === key);
  element.classList.toggle("faded", searching && !match);
}

function mark() {
  searching = get("search").value.trim() !== "";
  found = new Set(matches);
  holding = new Set();
  for (const match of matches)
    for (let at = levelOf.get(match)[0]; at > 0 && !holding.has(at); at = levels[at].in[0])
      holding.add(at);
  for (const thing of things) if (thing.element !== null) marked(thing);
  get("found").textContent = !searching ? "" : !matches.length ? "nothing found"
    : current < 0 ? `${matches.length} found` : `${current + 1} of ${matches.length}`;
}

const levelOf = new Map();
for (const { level, item, key, group } of things) if (!group) levelOf.set(key, [level, item]);

const texts = boxes.map(
  (box) => [box.key, box.title, ...box.rows].join(" ").toLowerCase());

function search() {
  const words = get("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  current = -1;
  matches = !words.length ? [] : boxes.map((box, n) => n).filter(
    (n) => words.every((word) => texts[n].includes(word)));
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
get("fit").addEventListener("click", () => fit(0));
draw();
fit();
new ResizeObserver(() => { if (untouched) fit(); }).observe(view);
