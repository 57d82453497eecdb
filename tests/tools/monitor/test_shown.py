"""What a monitor shows: in the terminal, as a picture, as a page in a browser."""

from __future__ import annotations

import io
import subprocess

import numpy as np
import pytest
from rich.console import Console

import pullback as pb
from pullback.errors import ArgumentError
from pullback.tools.monitor import monitor


def trained(live, steps=30):
    net = pb.nn.Sequential(pb.nn.Linear(3, 8), pb.nn.ReLU(), pb.nn.Linear(8, 1))
    optimizer = pb.optim.SGD(net.parameters(), lr=0.05)
    x = pb.tensor(np.random.default_rng(0).normal(size=(16, 3)).astype("float32"))
    with monitor(net, optimizer=optimizer, live=live, every=2) as seen:
        for _ in range(steps):
            loss = pb.mean((net(x) - 1) ** 2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen.step(loss)
    return seen


def test_lines_where_there_is_no_terminal(capsys):
    trained(True)
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("step 1 · loss ")
    assert out[-1].startswith("step 30 · loss ")


def test_a_live_table_in_a_terminal():
    text = io.StringIO()
    trained(Console(file=text, force_terminal=True, width=110, height=30))
    assert "update/weight" in text.getvalue()
    assert "0.weight" in text.getvalue()


@pytest.mark.full
def test_pictures(tmp_path):
    seen = trained(False)
    seen.save(tmp_path / "new" / "a.png")
    png = (tmp_path / "new" / "a.png").read_bytes()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(png) > 20_000
    with pytest.raises(ArgumentError, match=r"ends in \.png"):
        seen.save(tmp_path / "a.gif")


@pytest.mark.full
@pytest.mark.needs("chromium")
def test_the_page_opens_in_a_browser(tmp_path):
    page = tmp_path / "a.html"
    trained(False).save(page)
    assert "http" not in page.read_text("utf-8").replace("http://www.w3.org", "")
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu",
         f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=90, check=True,
    )
    assert done.stdout.count("<svg") == 1
    assert "<td>0.weight</td>" in done.stdout
