// The same computations as places.py, repeated when a group is folded.
const packed = Uint8Array.from(atob(document.getElementById("data").textContent),
  (letter) => letter.charCodeAt(0));
const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
const data = await new Response(unpacked).json();
const { sums, paint, lines, looks } = data;
const boxes = data.boxes.map(([key, title, rows, look, detail, size, more]) => (
  { key, title, rows, look, detail, size, more }));
const edges = data.edges.map(([tail, head, label, look, labelled, down, from, to, way]) => (
  { tail, head, label: data.labels[label], look, labelled: Boolean(labelled), down: Boolean(down),
    from, to, way }));
const levels = data.levels;
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

// Paths ----------------------------------------------------------------------------------------

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
