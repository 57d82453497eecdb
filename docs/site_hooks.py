"""What `mkdocs build` does besides: the reference, the files outside `docs/`, search from disk.

Pages link to files of the repository as they lie (`../pullback/core/README.md`), so the links
work wherever the repository is shown. On the site these files are pages under `source/`.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import make_reference
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
SOURCE = "source"

LINK = re.compile(
    r"(^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)|`[^`\n]+`)"
    r"|(?P<file>\[[\w/]+\.md)?\]\((?!\w+:)(?P<to>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)",
    re.MULTILINE | re.DOTALL,
)
"""Code, which is left alone, or the end of a relative link, whole where it shows a file's name."""

LANGUAGES = {".py": "python", ".toml": "toml", ".yml": "yaml", ".js": "js", ".css": "css"}

NAME = re.compile(r"(?<!\[)`((?:pb|pullback)\.[\w.]+)(\([^`\n]*\))?`(?!\])")
"""A public name between backticks that is no link yet."""

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
USED = re.compile(r"\bpb\.((?:[a-z]+\.)?\w+)|(?<![\w.])((?:nn|optim|graphs|solvers)\.[A-Za-z]\w+)")
"""A name that code uses: of the front page, or of a part that was imported by its name."""

PLAIN = ("elementwise.md", "arrays.md", "neural.md", "random.md")
"""Pages whose names stand in every program."""

TABLES = ("index.md", "operations.md", "door_names.md", "limits.md", "words.md", "design.md")
"""Pages that are no programs."""

HOME = {"docs/README.md": "docs/index.md"}
"""Pages that are there for readers of the repository -> their like on the site."""


def slug(text: str, separator: str) -> str:
    """The anchor of a heading, as viewers of repositories make it."""
    kept = re.sub(r"[^\w\- ]", "", re.sub(r"<[^>]*>", "", text).strip().lower())
    return kept.replace(" ", separator)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Anchors are the same on the site and in the repository; every page is in the navigation."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug
    pages = {p.relative_to(config.docs_dir).as_posix() for p in Path(config.docs_dir).rglob("*.md")}
    left = sorted(pages - set(named(config.nav)) - {p.removeprefix("docs/") for p in HOME})
    howto = next(part["How-to"] for part in config.nav if "How-to" in part)
    howto += [{"More": left}] if left else []
    return config


def named(nav: Any) -> Iterator[str]:
    """The pages that a part of the navigation names."""
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from named(part)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the reference, and every file of the repository that a page leads to."""
    for name, text in make_reference.pages().items():
        files.append(File.generated(config, f"reference/{name}", content=text))
    for path in outside(config):
        files.append(File.generated(config, page_of(path), content=source_page(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links from where a file lies in the repository to where its page is on the site."""
    here = page.file.src_uri
    if here.startswith("reference/") and page.file.generated_by:
        if here.startswith("reference/door_"):
            page.meta["search"] = {"boost": 0.2}  # the library's own names come first
        return markdown
    if here.startswith(f"{SOURCE}/"):
        page.meta["search"] = {"exclude": True}

    def moved(found: re.Match[str]) -> str:
        if found["to"] is None:
            return found[0]
        path = target(repository_path(here), found["to"])
        to, shown = page_of(path), f"[{title(path)}" if found["file"] else ""
        to = posixpath.relpath(to, posixpath.dirname(here) or ".")
        return f"{shown}]({to}{found['anchor'] or ''})"

    if here.startswith(f"{SOURCE}/") or here in TABLES:
        return LINK.sub(moved, markdown)
    up = posixpath.relpath("reference", posixpath.dirname(here) or ".")
    return with_reference(LINK.sub(moved, markdown), up)


def with_reference(markdown: str, up: str) -> str:
    """Names lead to their entries, and the page ends with those that its programs use."""
    def entry(name: str, shown: str) -> str:
        address = make_reference.link(name)
        return f"[`{shown}`]({up}/{address})" if address else f"`{shown}`"

    lines, fenced = [], False
    for line in markdown.split("\n"):
        fenced ^= line.startswith("```")
        plain = fenced or line.startswith(("#", "    "))
        lines.append(line if plain else NAME.sub(
            lambda m: entry(m[1], m[1] + (m[2] or "")), line))
    names = [entry(f"pb.{name}", name) for name in used(markdown)]
    return "\n".join([*lines, "", f"**In the reference:** {', '.join(names)}." if names else ""])


def used(markdown: str) -> list[str]:
    """The public names that the programs of a page use, but for plain operations."""
    code = "\n".join(BLOCK.findall(markdown))
    imported = re.findall(r"\w+", " ".join(re.findall(r"^from pullback import (.+)$", code, re.M)))
    found: dict[str, None] = {}
    for of_front, of_part in USED.findall(code):
        if of_part and of_part.partition(".")[0] not in imported:
            continue
        address = make_reference.link(f"pb.{of_front or of_part}")
        if address and not address.startswith(PLAIN):
            found[of_front or of_part] = None
    return list(found)


def on_post_build(config: MkDocsConfig) -> None:
    """Search without a server: the index and the worker as scripts, which a file may load.

    And a page for wrong addresses that is right in any folder; the theme's is for a root only.
    """
    site = Path(config.site_dir)
    (site / "assets/404.html").replace(site / "404.html")
    index = (site / "search/search_index.json").read_text(encoding="utf-8")
    (site / "search/search_index.js").write_text(f"var __index = {index}", encoding="utf-8")
    (worker,) = (site / "assets/javascripts/workers").glob("search.*.js")
    text = json.dumps(worker.read_text(encoding="utf-8")).replace("</", "<\\/")
    shim = (ROOT / "docs/assets/search_worker.js").read_text(encoding="utf-8")
    (site / "search/search_worker.js").write_text(
        f"const searchWorker = {text}\n{shim}", encoding="utf-8"
    )


def title(path: str) -> str:
    """The heading of a page of the repository, for a link that names its file there."""
    with (ROOT / path).open(encoding="utf-8") as page:
        return page.readline().removeprefix("# ").strip()


def target(path: str, link: str) -> str:
    """The path in the repository that a link of a file leads to."""
    found = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
    return HOME.get(found, found)


def page_of(path: str) -> str:
    """The place on the site of a file of the repository, by its source."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if (ROOT / path).is_dir():
        return f"{SOURCE}/{path}/index.md"
    return f"{SOURCE}/{path}" if path.endswith(".md") else f"{SOURCE}/{path}.md"


def repository_path(page: str) -> str:
    """The path in the repository of a page; a folder's page stands in the folder."""
    return page.removeprefix(f"{SOURCE}/") if page.startswith(f"{SOURCE}/") else f"docs/{page}"


def links(path: str) -> Iterator[str]:
    """The paths in the repository that a file or folder leads to."""
    if (ROOT / path).is_dir():
        yield from (f"{path}/{p.name}" for p in sorted((ROOT / path).glob("*.py")))
    elif path.endswith(".md"):
        text = (ROOT / path).read_text(encoding="utf-8")
        yield from (target(path, m["to"]) for m in LINK.finditer(text) if m["to"])


def outside(config: MkDocsConfig) -> list[str]:
    """The files and folders outside `docs/` that pages lead to, at first or second hand."""
    pages = [f"docs/{p.relative_to(config.docs_dir).as_posix()}"
             for p in sorted(Path(config.docs_dir).rglob("*.md"))]
    found: dict[str, None] = {}
    waiting = [p for p in pages if p not in HOME]
    while waiting:
        for path in links(waiting.pop()):
            if not path.startswith("docs/") and path not in found and (ROOT / path).exists():
                found[path] = None
                waiting.append(path)
    return sorted(found)


def source_page(path: str) -> str:
    """A file or folder of the repository as a page."""
    place = ROOT / path
    if path.endswith(".md"):
        return place.read_text(encoding="utf-8")
    if place.is_dir():
        rows = [f"- [`{p.rpartition('/')[2]}`]({p.rpartition('/')[2]})" for p in links(path)]
        return "\n".join([f"# `{path}/`", "", *rows, ""])
    language = LANGUAGES.get(place.suffix, "text")
    return f"# `{path}`\n\n~~~~~~ {language}\n{place.read_text(encoding='utf-8')}~~~~~~\n"

