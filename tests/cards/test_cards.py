"""Names people give to cards, and what memory they stand for."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lint_vllm.budget.quantity import GIB
from lint_vllm.facts.cards import cards_with_memory, find_card, local_card, notes, read_nvidia_smi, with_memory
from lint_vllm.known import Unknown


@pytest.mark.parametrize(
    ("name", "card"),
    [
        ("4090", "NVIDIA GeForce RTX 4090"),
        ("RTX4090", "NVIDIA GeForce RTX 4090"),
        ("rtx-4090", "NVIDIA GeForce RTX 4090"),
        ("2x 4090", "NVIDIA GeForce RTX 4090"),
        ("NVIDIA GeForce RTX 4090 48GB (modified)", "NVIDIA GeForce RTX 4090 (48GB mod)"),
        ("RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 4090 Laptop GPU"),
        ("L4", "NVIDIA L4"),
        ("l40s-48gb", "NVIDIA L40S"),
        ("NVIDIA-H100-80GB-HBM3", "NVIDIA H100 80GB HBM3"),
        ("H100 NVL", "NVIDIA H100 NVL"),
        ("nvidia-tesla-t4", "Tesla T4"),
        ("nvidia-tesla-a100", "NVIDIA A100-SXM4-40GB"),
        ("p5.48xlarge", "NVIDIA H100 80GB HBM3"),
        ("RTX A6000", "NVIDIA RTX A6000"),
        ("RTX 6000 Ada", "NVIDIA RTX 6000 Ada Generation"),
        ("DGX Spark", "NVIDIA GB10"),
        ("AMD Strix Halo (gfx1151)", "Radeon 8060S Graphics"),
        ("mi300x", "AMD Instinct MI300X"),
        ("H100 MIG 3g.40gb", "NVIDIA H100 80GB HBM3 MIG 3g.40gb"),
        ("NVIDIA Jetson AGX Thor 128GB", "NVIDIA Thor"),
    ],
)
def test_one_card(name: str, card: str) -> None:
    found = find_card(name)
    assert found is not None
    assert (found.name, found.members) == (card, ())


@pytest.mark.parametrize(
    ("name", "members"),
    [("H100", 3), ("A100", 4), ("A100-80GB", 2), ("a100 40gb", 2), ("V100", 2), ("8xH100", 3), ("A100:8", 4), ("MIG 1g.10gb", 3)],
)
def test_a_family_is_the_interval_over_its_members(name: str, members: int) -> None:
    family = find_card(name)
    assert family is not None
    assert len(family.members) == members
    for member in family.members:
        card = find_card(member)
        assert card is not None
        assert family.total.low <= card.total.low <= card.total.high <= family.total.high


@pytest.mark.parametrize("name", ["", "gpu", "GPU 24GB", "some card", "4", "x" * 500, "RTX 9999", "NVIDIA", "H100X"])
def test_unknown_names_stay_unknown(name: str) -> None:
    assert find_card(name) is None


def test_under_wsl_the_total_is_larger_and_less_of_it_free() -> None:
    linux, wsl = find_card("RTX 5090"), find_card("RTX 5090 (WSL2)")
    assert linux is not None
    assert wsl is not None
    assert linux.ceiling is not None
    assert wsl.ceiling is not None
    assert wsl.total.likely > linux.total.likely
    assert wsl.ceiling.high < 0.96 < linux.ceiling.likely


def test_a_stated_memory_narrows_a_family() -> None:
    family = find_card("H100")
    narrowed = with_memory(family, 79.11)
    assert "NVL" not in " ".join(narrowed.members or (narrowed.name,))
    assert narrowed.total.is_exact
    assert narrowed.capability == (9, 0)


def test_a_memory_without_a_name_is_a_card_of_unknown_capability() -> None:
    card = with_memory(None, 47.4)
    assert card.total.likely == pytest.approx(47.4 * GIB)
    assert card.capability is None
    assert card.modelled


def test_the_ceiling_follows_the_stated_memory() -> None:
    card = with_memory(find_card("RTX 4090"), 23.64)
    assert card.ceiling is not None
    assert 0.97 < card.ceiling.low < card.ceiling.likely < card.ceiling.high < 1


def test_cards_with_a_printed_total() -> None:
    assert "NVIDIA L4" in {card.name for card in cards_with_memory(22.03)}


def test_unified_memory_is_said() -> None:
    card = find_card("GB10")
    assert card is not None
    assert card.unified_memory
    assert "share one memory" in notes(card)[0]


def test_nvidia_smi_is_read() -> None:
    found = read_nvidia_smi("NVIDIA GeForce RTX 4090, 24564\nNVIDIA GeForce RTX 4090, 24564\n")
    assert not isinstance(found, Unknown)
    assert found[0].name == "NVIDIA GeForce RTX 4090"
    assert found[1] == 2


def test_an_unlisted_card_takes_the_memory_that_nvidia_smi_shows() -> None:
    found = read_nvidia_smi("NVIDIA Future 9000, 49152\n")
    assert not isinstance(found, Unknown)
    assert found[0].total.high == 49152 * 2**20
    assert found[0].total.low < found[0].total.likely < found[0].total.high


def test_the_local_card_is_read_from_nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'NVIDIA L4, 23034'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = local_card()
    assert not isinstance(found, Unknown)
    assert (found[0].name, found[1]) == ("NVIDIA L4", 1)
    program.write_text("#!/bin/sh\necho 'no driver' >&2\nexit 9\n")
    assert local_card() == Unknown("nvidia-smi failed: no driver")
    monkeypatch.setenv("PATH", "/nowhere")
    assert isinstance(local_card(), Unknown)


@pytest.mark.parametrize("listing", ["", "\n", "no comma here"])
def test_an_empty_listing_is_unknown(listing: str) -> None:
    assert isinstance(read_nvidia_smi(listing), Unknown)


def test_every_name_and_alias_of_the_table_finds_its_card() -> None:
    for line in resources.files("lint_vllm").joinpath("data/gpus.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        for spelling in (row["name"], *row.get("aliases", ())):
            found = find_card(spelling)
            assert found is not None, spelling
            assert row["name"] == found.name or row["name"] in found.members or _covers(found.name, row), spelling


def _covers(name: str, row: dict[str, object]) -> bool:
    found, own = find_card(name), find_card(str(row["name"]))
    return found is not None and own is not None and found.total.low <= own.total.low <= own.total.high <= found.total.high


def test_totals_are_ordered_and_below_what_is_sold() -> None:
    for line in resources.files("lint_vllm").joinpath("data/gpus.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        low, likely, high = row["total"]
        assert 0 < low <= likely <= high
        if row.get("gb"):
            assert likely <= row["gb"] * 1024


@given(st.text(max_size=80))
def test_no_name_crashes(name: str) -> None:
    find_card(name)


@given(st.text(max_size=200))
def test_no_listing_crashes(listing: str) -> None:
    read_nvidia_smi(listing)
