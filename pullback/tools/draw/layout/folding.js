// Where everything is, for the groups that are folded now. Python places the items of each level
// once (places.py). When a group becomes smaller, the layers below it move up; when it becomes
// larger than the room that it has, its level is stretched there, and nothing changes its order.
const packed = Uint8Array.from(atob(document.getElementById("data").textContent),
  (letter) => letter.charCodeAt(0));
const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
const data = await new Response(unpacked).json();
const { sizes, lines, levels } = data;
const boxes = data.boxes.map(([key, title, rows, detail, size, svg]) => (
  { key, title, rows, detail, size, svg }));
const edges = data.edges.map(([tail, head, label, look, labelled, down, from, to, way]) => (
  { tail, head, label, look, labelled: Boolean(labelled), down: Boolean(down), from, to, way }));
const get = (id) => document.getElementById(id);
const view = get("view"), world = get("world"), detail = get("detail");
const XMLNS = "http://www.w3.org/2000/svg";
const layerOf = (level, item) => level.items[item][2];
const what = (level, item) => level.items[item][0];

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

// Maps Python's x in a level to the x now: makes room for each group that became larger.
function stretch(level) {
  const ends = [];
  level.items.forEach(([kind, key, , x], item) => {
    if (kind !== "group") return;
    const { room } = levels[key], group = { wide: extent(level, item)[0], left: 0 };
    if (group.wide > room)
      ends.push({ at: x - room / 2, group, left: true }, { at: x + room / 2, group });
  });
  ends.sort((a, b) => a.at - b.at);
  const points = [[0, 0]];
  for (const { at, group, left } of ends) {
    const [from, to] = points.at(-1), now = to + at - from;
    if (left) group.left = now;
    if (at === from) points.pop();
    points.push([at, left ? now : Math.max(now, group.left + group.wide)]);
  }
  return (x) => {
    let above = points.findIndex(([from]) => from > x);
    if (above < 1) above = above < 0 ? points.length : 1;
    const [from, to] = points[above - 1], [end, last] = points[above] ?? [from + 1, to + 1];
    return to + (x - from) * (last - to) / (end - from);
  };
}

function placed(level) {
  const across = stretch(level), heights = level.gaps.map(() => 0);
  const x = level.items.map(([kind, key, layer, at], item) => {
    heights[layer] = Math.max(heights[layer], extent(level, item)[1]);
    const room = kind === "group" ? levels[key].room / 2 : 0;
    return (across(at - room) + across(at + room)) / 2;
  });
  const top = [], bottom = [];
  level.gaps.forEach((gap, n) => {
    top.push((bottom.at(-1) ?? 0) + gap);
    bottom.push(top.at(-1) + heights[n]);
  });
  return { x, top, bottom, lanes: across(level.lanes), size: [across(level.wide), bottom.at(-1)] };
}

function corner(number, item) {
  const level = levels[number], [left, top] = level.origin;
  return [left + level.place.x[item] - extent(level, item)[0] / 2,
          top + level.place.top[layerOf(level, item)]];
}

function arrange() {
  levels.forEach((level, number) => { level.hider = hiderOf(number); });
  for (const level of [...levels].reverse()) if (level.hider < 0) level.place = placed(level);
  levels[0].origin = [0, 0];
  for (const level of levels.slice(1)) if (level.hider < 0) level.origin = corner(...level.in);
}

// Paths ----------------------------------------------------------------------------------------

function portShift({ closed, ports, place }, port) {
  return closed ? ports[port] : place.x[port] - place.size[0] / 2;
}

function border(number, item, x, down, leaves) {
  const level = levels[number], top = corner(number, item)[1];
  const bottom = top + extent(level, item)[1];
  const edge = level.origin[1] + level.place.bottom[layerOf(level, item)];
  if (leaves) return down ? [[x, bottom], [x, edge]] : [[x, top]];
  if (down) return [[x, top - sizes.straight], [x, top]];
  return [[x, edge + sizes.straight], [x, edge], [x, bottom]];
}

function passed(edge, [number, item, lane, arrives], first) {
  const level = levels[number], down = edge.down;
  if (what(level, item) === "port" && lane < 0 && (level.hider < 0 || level.hider === number)) {
    const [outer, group] = level.in;
    const x = levels[outer].origin[0] + levels[outer].place.x[group] + portShift(level, item);
    return border(outer, group, x, down, !arrives);
  }
  if (level.hider >= 0) return [];
  const [left, top] = level.origin, place = level.place, layer = layerOf(level, item);
  if (lane >= 0) {
    const below = Boolean(arrives) !== down;
    return [[left + place.lanes + lane * sizes.lane,
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
