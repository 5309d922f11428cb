"""What is known about container images: which vLLM release a tag holds, its entry point, device and CUDA build.

Source: ``data/image_releases.json``, every row with its own sources. What nobody published stays unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, cast

from lint_vllm.facts import version_key
from lint_vllm.frozen import dataclass
from lint_vllm.launch import Image
from lint_vllm.packaged import data_text

EntryPoint = Literal["api_server", "vllm serve", "command", "own"]


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """An image that carries vLLM.

    ``version`` is the vLLM release its tag stands for, ``None`` where the tag moves or does not tell. ``moving``: the tag
    is ``latest``, a nightly, a branch, or absent. ``entrypoint``: ``api_server``, ``vllm serve``, ``command`` (arguments
    are a command of their own), ``own`` (another program), ``None`` where not known. ``device``: ``cuda``, ``rocm``,
    ``cpu``, ``xpu``, ``tpu``, ``hpu``, ``neuron``, ``ascend``. ``cuda`` is the toolkit the build uses, ``archs`` the
    compute capabilities it was compiled for. ``official``: published by the vLLM project, whose tags are its releases.
    """

    id: str
    version: str | None
    moving: bool
    official: bool
    entrypoint: EntryPoint | None
    device: str | None
    cuda: str | None = None
    archs: tuple[tuple[int, int], ...] = ()
    serves: bool = True
    sources: tuple[str, ...] = ()

    @property
    def driver(self) -> tuple[str, str] | None:
        """The oldest Linux drivers for the CUDA build: (of the same major version, native one); ``None`` where unknown."""
        if self.cuda is None:
            return None
        drivers = _data()["drivers"]
        compatible, native = drivers["compatible"].get(self.cuda.split(".")[0]), drivers["native"].get(self.cuda)
        return None if compatible is None else (compatible, native or compatible)

    def runs_on(self, capability: tuple[int, int]) -> bool | None:
        """Whether compiled kernels exist for a compute capability; ``None`` where the build is not known.

        Machine code runs on later minor versions of the same major one (CUDA programming guide, binary compatibility).
        """
        if not self.archs:
            return None
        major, minor = capability
        return any(built == major and sub <= minor for built, sub in self.archs)


def image_facts(image: Image | None) -> ImageFacts | None:
    """What is known of an image; ``None`` for one that is not known to carry vLLM, or whose name is not known."""
    if image is None or image.unknown is not None or not image.name:
        return None
    return _facts(image.name, image.tag, image.digest)


def facts_of_reference(reference: str) -> ImageFacts | None:
    """The same for a reference as text: ``registry:5000/vllm/vllm-openai:v0.9.1@sha256:...``."""
    name, tag, digest = split_reference(reference)
    return _facts(name, tag, digest)


def split_reference(reference: str) -> tuple[str, str | None, str | None]:
    """Name, tag and digest of an image reference."""
    name, _, digest = reference.partition("@")
    slash = name.rfind("/")
    colon = name.find(":", slash + 1)
    if colon < 0:
        return name, None, digest or None
    return name[:colon], name[colon + 1 :], digest or None


def same_software(name: str) -> str:
    """The path of an image without its registry: ``docker.io/vllm/vllm-openai`` and a mirror of it are the same."""
    parts = name.lower().split("/")
    if len(parts) > 1 and (any(c in parts[0] for c in ".:") or parts[0] == "localhost"):
        host, rest = parts[0], parts[1:]
        return "/".join(["dkr.ecr", *rest]) if ".dkr.ecr." in host and len(rest) == 1 else "/".join(rest)
    return "/".join(parts)


def built_for(release: str) -> tuple[tuple[int, int], ...]:
    """Compute capabilities that the project's own CUDA builds of a release (wheel and image) hold machine code for."""
    archs = ""
    for entry in _data()["builds"]["vllm-cuda"]["history"]:
        if version_key(entry["since"]) <= version_key(release):
            archs = entry["archs"]
    return tuple((int(a.split(".")[0]), int(a.split(".")[1])) for a in archs.split())


@cache
def _facts(name: str, tag: str | None, digest: str | None) -> ImageFacts | None:
    path = same_software(name)
    for row in _data()["images"]:
        if any(path == known or path.endswith("/" + known) for known in row["paths"]):
            return _known(row, tag, digest)
    return _generic(path, tag)


def _known(row: Mapping[str, Any], tag: str | None, digest: str | None) -> ImageFacts:
    version, key = _version(row, tag or "")
    builds = _data()["builds"].get(row.get("builds"))
    cuda, archs = row.get("cuda", {}).get(key), ""
    if builds is not None and version is not None:
        for entry in builds["history"]:
            if version_key(entry["since"]) <= version_key(version):
                cuda, archs = entry["cuda"], entry["archs"]
    stated = re.search(r"(?:^|[-_.])cu(?:da)?(\d{2})\.?(\d)(?!\d)", tag or "")
    if stated is not None and row.get("device") == "cuda":
        cuda = f"{stated[1]}.{stated[2]}"
    return ImageFacts(
        id=row["id"],
        version=version,
        moving=version is None and (tag is not None or digest is None),
        official=bool(row.get("official")),
        entrypoint=_entrypoint(row, version),
        device=row.get("device"),
        cuda=cuda,
        archs=tuple((int(a.split(".")[0]), int(a.split(".")[1])) for a in archs.split()),
        serves=bool(row.get("serves", True)),
        sources=tuple(row.get("sources", ())),
    )


def _version(row: Mapping[str, Any], tag: str) -> tuple[str | None, str]:
    """The vLLM release of a tag, and the part of the tag by which tables are keyed."""
    if (pattern := row.get("tag")) is not None and (found := _compiled(pattern).match(tag)) is not None:
        groups = found.groupdict()
        return groups.get("version") or groups.get("version2"), tag
    table: Mapping[str, str] = row.get("tags", {})
    plain = tag.removeprefix("v")
    for key in sorted(table, key=len, reverse=True):
        if _compiled(re.escape(key) + r"(?!\.?\d)").match(plain):
            return table[key], key
    return None, tag


def _entrypoint(row: Mapping[str, Any], version: str | None) -> EntryPoint | None:
    history = row.get("entrypoint", ())
    value = None
    for since, entry in history:
        if version is None or version_key(since) <= version_key(version):
            value = entry
    return cast("EntryPoint | None", value)


def _generic(path: str, tag: str | None) -> ImageFacts | None:
    """An image nobody listed whose own name says vLLM: its tag counts when it is written as a vLLM release."""
    rules = _data()["generic"]
    last = path.rsplit("/", 1)[-1]
    if "vllm" not in last:
        return None
    device = next((value for word, value in rules["devices"].items() if word in last or word in (tag or "").lower()), None)
    found = _compiled(rules["tag"]).match(tag or "") if last in rules["names"] else None
    return ImageFacts(
        id="other",
        version=None if found is None else found["version"],
        moving=False,
        official=False,
        entrypoint=None,
        device=device,
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@cache
def _data() -> Mapping[str, Any]:
    text = data_text("image_releases.json")
    return cast("Mapping[str, Any]", json.loads(text))
