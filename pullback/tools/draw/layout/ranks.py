"""Assigns items to layers: edges lead downwards, and are short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

Pair = tuple[int, int]


def ranked(numbers: Sequence[int], pairs: Sequence[Pair]) -> tuple[list[int], set[Pair]]:
    """The layer of each item, from 0, and the pairs that lead upwards.

    numbers  the preferred order of items, where edges do not decide
    pairs    (tail, head) of edges, as positions in `numbers`

    >>> ranked([0, 1, 2], [(0, 1), (1, 2), (2, 0)])
    ([0, 1, 2], {(2, 0)})

    An item without incoming edges is placed just above the item it leads to:

    >>> ranked([0, 1, 2, 3], [(0, 1), (1, 2), (3, 2)])
    ([0, 1, 2, 1], set())
    """
    weights = Counter(pairs)
    order = _ordered(numbers, list(weights))
    place = {item: position for position, item in enumerate(order)}
    backwards = {(a, b) for a, b in weights if place[a] > place[b]}
    heads: list[list[tuple[int, int]]] = [[] for _ in numbers]
    tails: list[list[tuple[int, int]]] = [[] for _ in numbers]
    for (a, b), weight in weights.items():
        upper, lower = (b, a) if (a, b) in backwards else (a, b)
        heads[upper].append((lower, weight))
        tails[lower].append((upper, weight))
    ranks = [0] * len(numbers)
    for item in order:
        ranks[item] = max((ranks[t] + 1 for t, _ in tails[item]), default=0)
    _lowered(ranks, order, heads, tails)
    return ranks, backwards


def _ordered(numbers: Sequence[int], pairs: Sequence[Pair]) -> list[int]:
    """Items in topological order; a cycle starts with its lowest number."""
    waits = [0] * len(numbers)
    heads: list[list[int]] = [[] for _ in numbers]
    for a, b in pairs:
        heads[a].append(b)
        waits[b] += 1
    ready = [(numbers[i], i) for i, count in enumerate(waits) if not count]
    heapify(ready)
    left = sorted(range(len(numbers)), key=lambda i: (numbers[i], i), reverse=True)
    done = [False] * len(numbers)
    order: list[int] = []
    while len(order) < len(numbers):
        if ready:
            item = heappop(ready)[1]
        else:
            while done[left[-1]]:
                left.pop()
            item = left.pop()
        if done[item]:
            continue
        done[item] = True
        order.append(item)
        for head in heads[item]:
            waits[head] -= 1
            if not waits[head] and not done[head]:
                heappush(ready, (numbers[head], head))
    return order


def _lowered(
    ranks: list[int], order: Sequence[int], heads: Sequence[Sequence[tuple[int, int]]],
    tails: Sequence[Sequence[tuple[int, int]]],
) -> None:
    """Lowers items to shorten edges: constants go just above the operation that uses them."""
    for item in reversed(order):
        gain = sum(w for _, w in heads[item]) - sum(w for _, w in tails[item])
        if heads[item] and gain > 0:
            ranks[item] = min(ranks[h] for h, _ in heads[item]) - 1
    least = min(ranks, default=0)
    if least:
        ranks[:] = [r - least for r in ranks]
