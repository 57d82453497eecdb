"""Datasets, loaders, random streams and files."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict, namedtuple

import numpy as np
import pytest


def test_loaders_of_tensors(torch):
    d = torch.utils.data
    data = d.TensorDataset(torch.arange(7.0), torch.arange(7))
    assert len(data) == 7
    loader = d.DataLoader(data, batch_size=3)
    assert [x.tolist() for x, _ in loader] == [[0, 1, 2], [3, 4, 5], [6]]
    assert len(loader) == 3
    assert len(list(d.DataLoader(data, batch_size=3, drop_last=True))) == 2
    order = [y.item() for _, y in d.DataLoader(data, shuffle=True)]
    assert sorted(order) == list(range(7))
    seeded = [
        torch.cat([y for _, y in d.DataLoader(
            data, 2, shuffle=True, generator=torch.Generator().manual_seed(5))]).tolist()
        for _ in range(2)
    ]
    assert seeded[0] == seeded[1]
    pairs = d.DataLoader(data, batch_size=None)
    assert [int(y) for _, y in pairs] == list(range(7))
    firsts = d.DataLoader(data, 2, collate_fn=lambda batch: [int(y) for _, y in batch])
    assert list(firsts) == [[0, 1], [2, 3], [4, 5], [6]]
    with pytest.raises(ValueError, match="sampler"):
        d.DataLoader(data, shuffle=True, sampler=d.SequentialSampler(data))


Pair = namedtuple("Pair", "x y")


def test_collating(torch):
    collate = torch.utils.data.default_collate
    batch = collate([{"x": np.ones(2, np.float32), "n": 1, "s": "a", "p": Pair(1.0, [True])},
                     {"x": np.zeros(2, np.float32), "n": 2, "s": "b", "p": Pair(2.0, [False])}])
    assert batch["x"].dtype == torch.float32
    assert batch["x"].tolist() == [[1, 1], [0, 0]]
    assert batch["n"].tolist() == [1, 2]
    assert batch["s"] == ["a", "b"]
    assert batch["p"].x.dtype == torch.float64
    assert batch["p"].y[0].tolist() == [True, False]
    with pytest.raises(TypeError):
        collate([object()])


def test_datasets(torch):
    d = torch.utils.data

    class Squares(d.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return i * i

    class Stream(d.IterableDataset):
        def __iter__(self):
            return iter(range(5))

    both = Squares() + d.Subset(Squares(), [3, 0])
    assert isinstance(both, d.ConcatDataset)
    assert [both[i] for i in range(len(both))] == [0, 1, 4, 9, 9, 0]
    assert both[-2] == 9
    assert [b.tolist() for b in d.DataLoader(Stream(), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert len(list(d.ChainDataset([Stream(), Stream()]))) == 10
    assert d.StackDataset(a=Squares(), b=range(4))[2] == {"a": 4, "b": 2}
    one, two = d.random_split(range(10), [0.75, 0.25], generator=torch.Generator().manual_seed(0))
    assert sorted([*one, *two]) == list(range(10))
    assert (len(one), len(two)) == (8, 2)
    with pytest.raises(ValueError, match="length"):
        d.random_split(range(10), [3, 3])


def test_samplers(torch):
    d = torch.utils.data
    batches = d.BatchSampler(d.SequentialSampler(range(5)), 2, drop_last=True)
    assert list(batches) == [[0, 1], [2, 3]]
    assert sorted(d.SubsetRandomSampler([4, 7, 9])) == [4, 7, 9]
    assert len(list(d.RandomSampler(range(3), replacement=True, num_samples=20))) == 20
    assert sorted(d.RandomSampler(range(3), num_samples=3)) == [0, 1, 2]
    drawn = list(d.WeightedRandomSampler([0.0, 1.0, 3.0], 4000))
    assert 0 not in drawn
    assert 0.7 < drawn.count(2) / 4000 < 0.8
    assert sorted(d.WeightedRandomSampler([1.0, 1.0, 3.0], 3, replacement=False)) == [0, 1, 2]


def test_random_streams(torch):
    torch.manual_seed(7)
    assert torch.initial_seed() == 7
    state = torch.get_rng_state()
    assert state.dtype == torch.uint8
    first = torch.randn(3).tolist()
    torch.set_rng_state(state)
    with torch.random.fork_rng():
        assert torch.randn(3).tolist() == first
    assert torch.randn(3).tolist() == first
    g = torch.Generator()
    g.manual_seed(11)
    assert g.initial_seed() == 11
    saved = g.get_state()
    one = torch.rand(4, generator=g).tolist()
    g.set_state(saved)
    assert torch.rand(4, generator=g).tolist() == one
    assert torch.randperm(9, generator=torch.Generator().manual_seed(1)).tolist() == torch.randperm(
        9, generator=torch.Generator().manual_seed(1)).tolist()
    assert isinstance(torch.seed(), int)
    assert torch.default_generator.initial_seed() == torch.initial_seed()


def test_what_is_saved_is_loaded(torch, tmp_path):
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    net(torch.randn(5, 3)).square().sum().backward()
    optimizer.step()
    shared = torch.ones(2)
    checkpoint = {
        "model": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "loss": 0.5,
        "names": ["a", None, True], ("tuple", 1): (1 + 2j, float("inf")),
        "twice": [shared, shared], "wide": torch.tensor([1j], dtype=torch.complex128),
        "order": OrderedDict(b=1, a=2), 5: torch.arange(3), "p": torch.nn.Parameter(torch.ones(1)),
    }
    path = tmp_path / "checkpoint.pt"
    torch.save(checkpoint, path)
    found = torch.load(path, map_location="cpu", weights_only=True)
    assert list(found) == list(checkpoint)
    assert found[("tuple", 1)] == (1 + 2j, float("inf"))
    assert found["names"] == ["a", None, True]
    assert found["twice"][0] is found["twice"][1] or torch.equal(*found["twice"])
    assert found["wide"].dtype == torch.complex128
    assert isinstance(found["p"], torch.nn.Parameter)
    assert found["p"].requires_grad
    assert list(found["order"]) == ["b", "a"]
    other = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    other.load_state_dict(found["model"])
    again = torch.optim.Adam(other.parameters(), lr=9.0)
    again.load_state_dict(found["optimizer"])
    x = torch.randn(5, 3)
    for module, o in ((net, optimizer), (other, again)):
        o.zero_grad()
        module(x).square().sum().backward()
        o.step()
    assert torch.equal(net[0].weight, other[0].weight)
    assert int(found["model"]["1.num_batches_tracked"]) == 1


def test_files_in_memory_and_wrong_files(torch):
    file = io.BytesIO()
    torch.save([torch.ones(2)], file)
    file.seek(0)
    assert torch.load(file)[0].tolist() == [1, 1]
    for content in (pickle.dumps({"a": print}, protocol=2), b"nonsense"):
        with pytest.raises((RuntimeError, pickle.UnpicklingError)):
            torch.load(io.BytesIO(content))


def test_here_pickles_are_named_and_modules_refused(tmp_path):
    import pullback.torch as torch

    with pytest.raises(RuntimeError, match="pickle"):
        torch.load(io.BytesIO(pickle.dumps({"a": 1})))
    with pytest.raises(TypeError, match="state_dict"):
        torch.save(torch.nn.Linear(1, 1), tmp_path / "net.pt")
    assert list(tmp_path.iterdir()) == []
