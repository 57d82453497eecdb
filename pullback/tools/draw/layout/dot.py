"""A picture in the Graphviz language; Graphviz computes its own layout."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .looks import FAINT, GROUND, LINES, LOOKS
from .picture import Box, Path, Picture, seen_as
from .sizes import lines_of, title_of

_SHAPES = {"plain": "box", "pill": "box", "double": "box", "cut": "octagon", "band": "box"}
_STYLES = {"pill": "rounded", "band": "diagonals"}


def dot(picture: Picture, closed: Collection[Path] = ()) -> str:
    """Returns the text of a Graphviz graph; groups are clusters, closed groups single nodes.

    >>> from pullback.tools.draw.layout import Box, Edge
    >>> print(dot(Picture([Box("a", "a"), Box("b", "b")], [Edge("a", "b", label="[3]")])))
    digraph {
      node [fontname="monospace" fontsize=10 style=filled]
      edge [fontname="monospace" fontsize=8]
      "a" [label="a" shape=box style="filled" fillcolor="#ffffff" color="#5b6675" penwidth=1.3]
      "b" [label="b" shape=box style="filled" fillcolor="#ffffff" color="#5b6675" penwidth=1.3]
      "a" -> "b" [color="#7b8794" penwidth=1.3 label="[3]"]
    }
    <BLANKLINE>
    """
    names = _names(picture, closed)
    lines = ["digraph {"]
    if picture.title:
        lines.append(f"  label={quoted(picture.title)} labelloc=t")
    lines += ['  node [fontname="monospace" fontsize=10 style=filled]',
              '  edge [fontname="monospace" fontsize=8]']
    lines += _inside(picture, closed, names)
    lines += _edges(picture, names)
    return "\n".join([*lines, "}", ""])


def quoted(text: str) -> str:
    """A string in Graphviz syntax: keeps line breaks, escapes everything else.

    >>> quoted("two" + chr(10) + "lines")
    '"two\\\\nlines"'
    """
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + plain.replace("\r", " ").replace("\n", "\\n") + '"'


def _names(picture: Picture, closed: Collection[Path]) -> dict[str, str]:
    """Key of a box -> the name of the node that represents it."""
    found = {}
    for box in picture.boxes:
        path = seen_as(box, closed)
        found[box.key] = box.key if path is None else _group_name(path)
    return found


def _group_name(path: Path) -> str:
    return "group: " + " / ".join(path)


def _inside(
    picture: Picture, closed: Collection[Path], names: dict[str, str]
) -> Iterator[str]:
    """Nodes in nested clusters; a cluster starts where its first box comes."""
    inner: dict[Path, dict[Path | Box, None]] = {(): {}}
    for box in picture.boxes:
        path = seen_as(box, closed)
        group = box.group if path is None else path
        for depth in range(len(group)):
            inner.setdefault(group[:depth], {})[group[: depth + 1]] = None
        if path is None:
            inner.setdefault(group, {})[box] = None
    yield from _part(picture, closed, inner, ())


def _part(
    picture: Picture, closed: Collection[Path], inner: dict[Path, dict[Path | Box, None]],
    at: Path,
) -> Iterator[str]:
    pad = "  " * (len(at) + 1)
    for part in inner.get(at, ()):
        if isinstance(part, Box):
            yield pad + _node(part)
        elif part in closed:
            label = f"{part[-1]}\n{picture.contents(part)}"
            look = picture.strongest(part)
            color, width = (LOOKS[look].line, 2) if look else (FAINT, 1)
            yield (f'{pad}{quoted(_group_name(part))} [label={quoted(label)} shape=box3d '
                   f'fillcolor="{GROUND[1]}" color="{color}" penwidth={width}]')
        else:
            yield f"{pad}subgraph {quoted('cluster ' + ' / '.join(part))} {{"
            yield f'{pad}  label={quoted(part[-1])} color="{FAINT}" bgcolor="{GROUND[0]}"'
            yield from _part(picture, closed, inner, part)
            yield f"{pad}}}"


def _node(box: Box) -> str:
    look = LOOKS[box.look]
    styles = ["filled", *([_STYLES[look.shape]] if look.shape in _STYLES else [])]
    styles += ["dashed"] if look.dash else []
    more = " peripheries=2" if look.shape == "double" else ""
    label = "\n".join([title_of(box), *lines_of(box)])
    return (
        f"{quoted(box.key)} [label={quoted(label)} shape={_SHAPES[look.shape]} "
        f'style="{",".join(styles)}" fillcolor="{look.fill}" color="{look.line}" '
        f"penwidth={look.width:g}{more}]"
    )


def _edges(picture: Picture, names: dict[str, str]) -> Iterator[str]:
    """The edges; drops duplicates, which closed groups cause."""
    written: set[tuple[str, str, str]] = set()
    for edge in picture.edges:
        tail, head = names[edge.tail], names[edge.head]
        key = (tail, head, edge.look)
        folded = (tail, head) != (edge.tail, edge.head)
        if (folded and key in written) or (tail == head and folded):
            continue
        written.add(key)
        line = LINES[edge.look]
        more = " style=dashed" if line.dash else ""
        more += f" label={quoted(edge.label)}" if edge.label else ""
        yield (f'  {quoted(tail)} -> {quoted(head)} [color="{line.color}" '
               f"penwidth={line.width:g}{more}]")
