"""The site: it is built without a warning, has every page and public name, asks no network.

One build serves all tests. Users without mkdocs skip what needs it.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import pytest

import pullback as pb
from tests.house.sources import ROOT

DOCS = ROOT / "docs"
SCRIPT = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=["']?(\w+:)?//""")
SECONDS = 240


def script(name: str) -> ModuleType:
    """A script of the docs' folder, with its neighbours in reach."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(DOCS))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(DOCS))
    return module


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; of several workers, the first builds and the others wait."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    built, said = shared / "site", shared / "site.txt"
    try:
        (shared / "site.lock").mkdir()
    except FileExistsError:
        end = time.monotonic() + SECONDS
        while not said.exists() and time.monotonic() < end:
            time.sleep(0.2)
    else:
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(built)],
            cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"},
        )
        text = "" if done.returncode == 0 else done.stdout + done.stderr
        (shared / "site.part").write_text(text, encoding="utf-8")
        (shared / "site.part").rename(said)
    assert said.read_text(encoding="utf-8") == ""
    return built


def test_the_site_is_built_without_a_warning(site: Path) -> None:
    assert "own the gradient" in (site / "index.html").read_text(encoding="utf-8")


def test_every_page_is_on_the_site_and_in_the_navigation(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    pages = [p.relative_to(DOCS).with_suffix(".html").as_posix() for p in DOCS.rglob("*.md")]
    pages.remove("README.html")
    assert [p for p in pages if not (site / p).is_file()] == []
    assert [p for p in pages if p != "index.html" and f'href="{p}"' not in home] == []


def test_the_list_for_readers_of_the_repository_has_every_page() -> None:
    text = (DOCS / "README.md").read_text(encoding="utf-8")
    pages = [p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md")]
    missing = [p for p in pages if f"]({p})" not in text and "/" not in p]
    assert sorted(missing) == ["README.md"]


def test_links_of_the_site_lead_to_files(site: Path) -> None:
    broken = set()
    for page in site.rglob("*.html"):
        for link in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text(encoding="utf-8")):
            if link == "/" or re.match(r"\w+:", link):
                continue
            if not (page.parent / unquote(link)).exists():
                broken.add((page.relative_to(site).as_posix(), link))
    assert not broken


def test_a_file_outside_the_docs_is_a_page(site: Path) -> None:
    text = (site / "custom_gradients.html").read_text(encoding="utf-8")
    assert 'href="source/pullback/ops/index.html"' in text
    assert (site / "source/pullback/ops/index.html").is_file()
    text = (site / "source/examples/guided_backpropagation.py.html").read_text("utf-8")
    assert 'class="k">def<' in text


def test_every_public_name_has_its_entry(site: Path) -> None:
    made = script("make_reference")
    assert len(made.addresses()) > 400
    texts = {
        page.stem: page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.html")
    }
    missing = [
        name for name, address in made.addresses().items()
        if f'id="{address.partition("#")[2]}"' not in texts[address.partition(".md")[0]]
    ]
    assert not missing
    known = set(made.addresses())
    assert [
        name for name in made.public("pullback")
        if not {f"pullback.{name}", f"pullback.errors.{name}"} & known
        and f"pb.{name}</code>" not in texts["arrays"]
    ] == []
    assert {"pullback.vmap", "pullback.nn.Linear", "pullback.errors.ShapeError"} <= known


def test_docstrings_of_methods_are_rendered(site: Path) -> None:
    raw = {}
    for page in (site / "reference").glob("*.html"):
        text = re.sub(r"(?s)<(code|pre|script)\b.*?</\1>", "", page.read_text(encoding="utf-8"))
        if found := re.findall(r"(?m)^.*(?:\]\(|`|\\_).*$", text):
            raw[page.stem] = found[:3]
    assert not raw


def test_an_anchor_leads_to_one_place(site: Path) -> None:
    twice = {
        (page.relative_to(site).as_posix(), name)
        for page in site.rglob("*.html")
        for name, times in Counter(re.findall(r' id="([^"]+)"', page.read_text("utf-8"))).items()
        if times > 1
    }
    assert not twice


def test_a_link_that_names_a_file_shows_the_title_of_its_page(site: Path) -> None:
    assert "](v1.md)" in (DOCS / "graphs.md").read_text(encoding="utf-8")
    text = (site / "graphs.html").read_text(encoding="utf-8")
    assert '<a href="v1.html">Running TensorFlow 1 code</a>' in text


def test_pages_lead_to_the_reference_of_what_they_use(site: Path) -> None:
    text = (site / "howto/clip_and_penalise.html").read_text(encoding="utf-8")
    foot = text.partition("<strong>In the reference:</strong>")[2].partition("</p>")[0]
    assert 'href="../reference/optim.html#optim-clip_grad_norm_"' in foot
    assert 'href="../reference/transformations.html#hvp"' in foot
    assert "tanh" not in foot
    text = (site / "howto/from_jax.html").read_text(encoding="utf-8")
    assert 'transformations.html#linearize"><code>pb.linearize</code></a>' in text


def test_nothing_is_asked_of_a_network(site: Path) -> None:
    found = {
        (page.name, match[0]) for page in site.rglob("*.html")
        for match in SCRIPT.finditer(page.read_text(encoding="utf-8"))
        if 'rel="canonical"' not in match[0]
    }
    assert not found
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(https?:)?//", sheet.read_text(encoding="utf-8"))


class Slow(BaseHTTPRequestHandler):
    """A picture that never comes: a page waits for it, and its scripts have their time."""

    def do_GET(self) -> None:
        time.sleep(6)
        self.send_error(404)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.mark.needs("chromium")
def test_search_finds_without_a_server(site: Path, tmp_path: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    slow = f'<img src="http://127.0.0.1:{server.server_port}/a.png"></body>'
    page = site / "waiting.htm"
    text = (site / "index.html").read_text(encoding="utf-8").replace("</body>", slow)
    page.write_text(text, encoding="utf-8")
    try:
        done = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
             f"--user-data-dir={tmp_path}", f"{page.as_uri()}?q=straight_through"],
            capture_output=True, text=True, timeout=120, check=True,
        )
    finally:
        page.unlink()
        server.shutdown()
        server.server_close()
    found = done.stdout.partition('class="md-search-result__list"')[2].partition("</ol>")[0]
    assert "reference/writing.html?h=straight_through#straight_through" in found


def test_a_docstring_becomes_markdown() -> None:
    markdown = script("docstrings").markdown
    doc = "x * y_ of `op`.\n\na, b  one;\n      or None\nThe rest.\n\n>>> 1\n1\n\n>>> 2\n2"
    assert [line for line in markdown(doc, {"op": "p.md"}.get).split("\n") if line] == [
        "x \\* y\\_ of [`op`](p.md).", "| | |", "|---|---|", "| `a`, `b` | one; or None |",
        "The rest.", "```pycon", ">>> 1", "1", "```", "```pycon", ">>> 2", "2", "```",
    ]


def test_parts_are_reached_from_the_front_page() -> None:
    parts = [p.module.removeprefix("pullback.") for p in script("make_reference").PARTS]
    code = "import pullback as pb; from operator import attrgetter\n" + "".join(
        f"attrgetter({part!r})(pb)\n" for part in parts)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_every_entry_of_the_library_has_an_example() -> None:
    made, missing = script("make_reference"), []
    for name, address in made.addresses().items():
        module, _, last = name.rpartition(".")
        value = getattr(importlib.import_module(module), last)
        if address.startswith(("door_", "errors.")):
            continue
        doc = inspect.getdoc(value) or ""
        if ">>>" not in doc and "see `" not in doc and "\n    " not in doc:
            missing.append(name)
    assert not missing


def test_names_in_docstrings_exist() -> None:
    made, missing = script("make_reference"), []
    for name in made.addresses():
        module, _, last = name.rpartition(".")
        doc = inspect.getdoc(getattr(importlib.import_module(module), last)) or ""
        for said in re.findall(r"`(?:pb|pullback)\.([\w.]+)`", doc):
            value: object = pb
            for part in said.split("."):
                value = getattr(value, part, None)
            if value is None:
                missing.append((name, said))
    assert not missing


def test_signatures_are_short_and_without_annotations() -> None:
    made = script("make_reference")
    assert made.signature("pb.exp", pb.exp) == "pb.exp(x, /)"
    lines = made.signature("pb.conv_transpose2d", pb.conv_transpose2d).splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= made.WIDE


def test_the_picture_of_the_one_graph_is_what_its_page_draws(tmp_path: Path) -> None:
    text = (DOCS / "explanation/one_graph.md").read_text(encoding="utf-8")
    code = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(code)], cwd=tmp_path, timeout=120, check=False,
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    words = [re.findall(r">([^<>\n]+)</text>", p.read_text(encoding="utf-8")) for p in (
        tmp_path / "one_graph.svg", DOCS / "pictures/one_graph.svg")]
    assert words[0] == words[1]
    assert {"exp", "multiply", "sum"} <= set(words[0])
