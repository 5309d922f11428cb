from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lint_vllm.facts.comments import comment_facts
from lint_vllm.facts.release import known_releases, resolve_release
from lint_vllm.facts.repository import Repository
from lint_vllm.launch import Hint
from lint_vllm.settings import Stated

from .conftest import make_launch

NOTHING = Stated()

NEWEST = known_releases()[-1]


def found(
    text: str, repository: Repository, options: Stated = NOTHING, settings: Stated = NOTHING, **launch: Any
) -> tuple[str, str, str]:
    started = make_launch(text, **launch)
    release = resolve_release(started, options, comment_facts(started), settings, repository)
    return release.version, release.table, release.certainty


@pytest.mark.parametrize(
    ("text", "extra", "expected"),
    [
        ("vllm serve m", {}, (NEWEST, NEWEST, "assumed")),
        ("vllm serve m", {"options": Stated(vllm_version="0.9.1")}, ("0.9.1", "0.9.1", "stated")),
        ("# lint-vllm: vllm=0.9.2\nvllm serve m", {"settings": Stated(vllm_version="0.8.0")}, ("0.9.2", "0.9.2", "stated")),
        ("# lint-vllm: vllm=0.9.2\nvllm serve m", {"options": Stated(vllm_version="0.9.1")}, ("0.9.1", "0.9.1", "stated")),
        ("pip install vllm==0.9.1\nvllm serve m", {"settings": Stated(vllm_version="0.8.0")}, ("0.9.1", "0.9.1", "stated")),
        ("pip install vllm\nvllm serve m", {"settings": Stated(vllm_version="0.8.0")}, ("0.8.0", "0.8.0", "stated")),
        ("pip install 'vllm>=0.8'\nvllm serve m", {}, (NEWEST, NEWEST, "assumed")),
        ("pip install 'vllm>=0.8,<0.9'\nvllm serve m", {}, ("0.8.5", "0.8.5", "stated")),
        ("pip install 'vllm>=0.8,<0.10'\nvllm serve m", {}, ("0.9.2", "0.9.2", "assumed")),
        ("pip install vllm==0.9.0\nvllm serve m\npip install vllm==0.8.0", {}, ("0.9.0", "0.9.0", "stated")),
        ("docker run vllm/vllm-openai:v0.9.1 m", {"image": "vllm/vllm-openai:v0.9.1"}, ("0.9.1", "0.9.1", "stated")),
        ("docker run vllm/vllm-openai:v0.9.0.1 m", {"image": "vllm/vllm-openai:v0.9.0.1"}, ("0.9.0.1", "0.9.0", "stated")),
        ("docker run vllm/vllm-openai:latest m", {"image": "vllm/vllm-openai:latest"}, (NEWEST, NEWEST, "floating")),
        ("docker run vllm/vllm-openai m", {"image": "vllm/vllm-openai"}, (NEWEST, NEWEST, "floating")),
        (
            "docker run vllm/vllm-openai:latest m",
            {"image": "vllm/vllm-openai:latest", "settings": Stated(vllm_version="0.9.1")},
            ("0.9.1", "0.9.1", "stated"),
        ),
        ("docker run vllm/vllm-openai@sha256:0 m", {"image": "vllm/vllm-openai@sha256:0"}, (NEWEST, NEWEST, "assumed")),
        ("docker run nvcr.io/nvidia/vllm:26.03-py3", {"image": "nvcr.io/nvidia/vllm:26.03-py3"}, ("0.17.1", "0.17.1", "vendor")),
        ("docker run lmcache/vllm-openai:v0.3.1", {"image": "lmcache/vllm-openai:v0.3.1"}, (NEWEST, NEWEST, "assumed")),
        ("vllm serve m", {"options": Stated(vllm_version="99.0")}, ("99.0", NEWEST, "newer")),
        ("vllm serve m", {"options": Stated(vllm_version="0.5.5")}, ("0.5.5", known_releases()[0], "assumed")),
        ("vllm serve m", {"options": Stated(vllm_version="nonsense")}, (NEWEST, NEWEST, "assumed")),
    ],
)
def test_precedence_in_the_file(
    text: str, extra: dict[str, Any], expected: tuple[str, str, str], repository: Callable[..., Repository]
) -> None:
    assert found(text, repository(), **extra) == expected


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({"requirements.txt": "torch\nvllm==0.9.1\n"}, "0.9.1"),
        ({"requirements-gpu.txt": "vllm==0.9.1\n"}, "0.9.1"),
        ({"requirements.txt": "vllm>=0.8\n", "uv.lock": '[[package]]\nname = "vllm"\nversion = "0.10.0"\n'}, "0.10.0"),
        ({"pyproject.toml": '[project]\ndependencies = ["vllm>=0.8,<0.9"]\n'}, "0.8.5"),
        ({"environment.yml": "dependencies:\n  - vllm=0.9.1\n"}, "0.9.1"),
        ({"Pipfile.lock": '{"default": {"vllm": {"hashes": [], "version": "==0.9.1"}}}'}, "0.9.1"),
        ({"Dockerfile": "FROM vllm/vllm-openai:v0.9.1\nCOPY . .\n"}, "0.9.1"),
        ({"Dockerfile": "ARG TAG=v0.9.1\nFROM vllm/vllm-openai:${TAG}\n"}, "0.9.1"),
        ({"deploy/requirements.txt": "vllm==0.9.2\n", "requirements.txt": "vllm==0.9.1\n"}, "0.9.2"),
        ({"requirements.txt": "# vllm==0.9.1\nvllm\n"}, NEWEST),
        ({"other/requirements.txt": "vllm==0.9.1\n"}, NEWEST),
    ],
)
def test_repository(files: dict[str, str], version: str, repository: Callable[..., Repository]) -> None:
    here = repository("deploy/run.sh", **files)
    assert found("vllm serve m", here)[0] == version


def test_an_image_with_a_moving_tag_is_not_what_the_requirements_pin(repository: Callable[..., Repository]) -> None:
    here = repository(**{"requirements.txt": "vllm==0.9.1\n"})
    assert found("docker run vllm/vllm-openai:latest m", here, image="vllm/vllm-openai:latest")[2] == "floating"


def test_origins_have_places(repository: Callable[..., Repository]) -> None:
    launch = make_launch("pip install vllm==0.9.1\nvllm serve m")
    release = resolve_release(launch, Stated(), comment_facts(launch), Stated(), repository())
    assert release.span is not None
    assert release.span.text == "vllm==0.9.1"
    assert release.origin == "pin in the file"
    in_file = resolve_release(
        make_launch("vllm serve m"), Stated(), comment_facts(launch), Stated(), repository(**{"requirements.txt": "vllm==0.9.1"})
    )
    assert in_file.origin == "requirements.txt"


def test_pins_that_an_extractor_saw(repository: Callable[..., Repository]) -> None:
    text = "pip install 'vllm[audio]>=0.8,<0.9' vllm-omni==0.15.0\nvllm serve m"
    launch = make_launch(text)
    at, other = text.index("0.8"), text.index("0.15.0")
    seen = (
        Hint("pip", "vllm[audio]>=0.8", launch.source.span(at, at + 3)),
        Hint("pip", "vllm-omni==0.15.0", launch.source.span(other, other + 6)),
    )
    assert found(text, repository(), pins=seen) == ("0.8.5", "0.8.5", "stated")
    assert found(text, repository(), pins=seen[1:])[0] == "0.8.5"
