"""Docstrings in the house's form, as Markdown.

The form: paragraphs; aligned tables of arguments (a name, two spaces or more, what it means,
continued under that); examples with `>>>`; code that is set in by four spaces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

ROW = re.compile(r"(\S(?:.*?\S)?) {2,}(\S.*)")
CODE = re.compile(r"(``.+?``|`[^`\n]+`)")
SPECIAL = re.compile(r"([\\*_<>\[\]{}#~^|])")

Link = Callable[[str], str | None]
"""From what stands between backticks to an address, or None."""


def blocks(doc: str) -> Iterator[list[str]]:
    """The parts between empty lines, where an example is one part with its output."""
    block: list[str] = []
    for line in doc.expandtabs().splitlines():
        if line.strip():
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def escaped(text: str, link: Link) -> str:
    """Plain text, in which nothing but backticks means something."""
    parts = CODE.split(text)
    for number, part in enumerate(parts):
        if number % 2:
            inner = part.strip("`")
            address = link(inner)
            parts[number] = f"[`{inner}`]({address})" if address else f"`{inner}`"
        else:
            parts[number] = SPECIAL.sub(r"\\\1", part)
    return "".join(parts)


def cell(lines: list[str], link: Link) -> str:
    """What stands beside a name; rows of a table inside it begin lines of their own."""
    text = ""
    for line in lines:
        apart = "<br>" if ROW.fullmatch(line.strip()) and text else " "
        text += apart * bool(text) + escaped(re.sub(r" {2,}", " ", line.strip()), link)
    return text


def name_cell(name: str) -> str:
    """Names as code, one by one; an expression as a whole."""
    names = [n.strip() for n in name.split(", ")]
    if all(re.fullmatch(r"\*{0,2}\w+", n) for n in names):
        return ", ".join(f"`{n}`" for n in names)
    return f"`{name}`".replace("|", "\\|")


def table(lines: list[str], link: Link) -> tuple[list[str], int]:
    """The rows at the beginning of some lines, as a table, and how many lines they were."""
    rows: list[tuple[str, list[str]]] = []
    used = 0
    for line in lines:
        row = ROW.fullmatch(line)
        if row and not line.startswith(" "):
            rows.append((row[1], [row[2]]))
        elif line.startswith("  ") and rows:
            rows[-1][1].append(line)
        else:
            break
        used += 1
    if not rows:
        return [], 0
    head = ["| | |", "|---|---|"]
    return [*head, *(f"| {name_cell(n)} | {cell(text, link)} |" for n, text in rows), ""], used


def text_block(lines: list[str], link: Link) -> Iterator[str]:
    """A paragraph, with tables where lines are aligned."""
    paragraph: list[str] = []
    while lines:
        rows, used = table(lines, link)
        if used:
            yield from (escaped("\n".join(paragraph), link), "", *rows)
            paragraph, lines = [], lines[used:]
        else:
            paragraph.append(lines[0])
            lines = lines[1:]
    yield from (escaped("\n".join(paragraph), link), "")


def markdown(doc: str, link: Link = lambda text: None) -> str:
    """A docstring as Markdown; `link` knows where names between backticks are explained."""
    lines: list[str] = []
    for block in blocks(doc):
        example = next((n for n, line in enumerate(block) if line.startswith(">>>")), None)
        if block[0].startswith("    "):
            lines += ["```python", *(line[4:] for line in block), "```", ""]
            continue
        lines += text_block(block[:example], link)
        if example is not None:
            lines += ["```pycon", *block[example:], "```", ""]
    return "\n".join(lines)
