"""Which vLLM release a launch runs, and where that is known from.

Precedence: ``--vllm-version``; comment in the file; what the file says (image tag, pin); settings; what the repository
says (lock and requirements files, a Dockerfile beside it); the newest known release.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

from lint_vllm.facts import Release, version_key
from lint_vllm.facts.comments import CommentFacts
from lint_vllm.facts.images import ImageFacts, facts_of_reference, image_facts
from lint_vllm.facts.pins import pins_in_text, resolve_requirement
from lint_vllm.facts.repository import MAX_CONFIG, Repository
from lint_vllm.launch import Hint, Launch
from lint_vllm.patterns import pattern
from lint_vllm.settings import Stated
from lint_vllm.source import SourceFile, Span

_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock")
_RANGES = ("pyproject.toml", "environment.yml", "environment.yaml", "conda.yaml", "Pipfile", "setup.cfg", "setup.py")
_REQUIREMENTS = pattern(r"(?:requirements|constraints)[\w.-]*\.(?:txt|in|lock)|[\w.-]*[-_.]?requirements\.(?:txt|in)")
_DOCKERFILE = pattern(r"(?:[\w.-]*\.)?(?:Dockerfile|Containerfile)(?:\.[\w.-]+)?")
_FROM = pattern(r"^[ \t]*FROM[ \t]+(?:--platform=\S+[ \t]+)?(?P<image>\S+)", re.MULTILINE | re.IGNORECASE)
_ARGUMENT = pattern(r"^[ \t]*ARG[ \t]+(?P<name>\w+)=[\"']?(?P<value>[^\s\"']+)", re.MULTILINE | re.IGNORECASE)

_UNNUMBERED = ("0.1.dev", "0.0.0", "dev")
"""What setuptools-scm calls a build of a tree without tags."""


def known_releases() -> tuple[str, ...]:
    """The releases whose flags are known, oldest first."""
    from lint_vllm.arguments.tables import known_releases as releases

    return releases()


def resolve_release(launch: Launch, options: Stated, comments: CommentFacts, settings: Stated, repository: Repository) -> Release:
    """The release of a launch; always an answer, whose ``certainty`` says how much it is worth."""
    if options.vllm_version and version_key(options.vllm_version):
        return release(options.vllm_version, options.release_origin or "--vllm-version")
    stated = comments.get("vllm-version")
    if stated is not None and version_key(stated.value):
        return release(stated.value, stated.origin, stated.span)
    image = image_facts(launch.image)
    here = _from_file(launch, image)
    if here is not None:
        return here
    if settings.vllm_version and version_key(settings.vllm_version):
        return release(settings.vllm_version, "settings")
    if image is not None and image.id != "other":
        return _unpinned(launch, image)
    if _in_unnamed_image(launch):  # what is installed beside the file is not what the image holds
        return newest("the image is named elsewhere: the newest known release is assumed")
    return _from_repository(launch, repository) or newest("no release is stated: the newest known is assumed")


def _in_unnamed_image(launch: Launch) -> bool:
    """Whether a cluster runs the launch in an image that a template or another file names."""
    image, deployment = launch.image, launch.deployment
    return image is not None and image.unknown is not None and deployment is not None and deployment.kind in ("pod", "helm")


def release(version: str, origin: str, span: Span | None = None, certainty: str = "stated") -> Release:
    """A release by its number, with the flag table it is read by."""
    from lint_vllm.arguments.tables import table_release

    plain, _, local = version.strip().lstrip("v").partition("+")
    if plain.startswith(_UNNUMBERED):
        return newest(f"{origin}; {version} is a build without a release number, the newest known is assumed", span=span)
    if local and certainty == "stated" and ".dev" not in plain:
        certainty = "vendor"
    table, relation = table_release(plain)
    if relation == "newer":
        return Release(plain, table, f"{origin}; newer than the tables, which end at {table}", "newer", span)
    if relation == "older":
        return Release(plain, table, f"{origin}; older than the tables, which begin at {table}", "assumed", span)
    return Release(plain, table, origin, certainty, span)


def newest(origin: str, certainty: str = "assumed", span: Span | None = None) -> Release:
    """The newest known release."""
    last = known_releases()[-1]
    return Release(last, last, origin, certainty, span)


def _from_file(launch: Launch, image: ImageFacts | None) -> Release | None:
    in_dockerfile = launch.deployment is not None and launch.deployment.kind == "dockerfile"
    if launch.image is None or in_dockerfile or launch.pins or not (image is None or image.version):
        found = _pin(launch, after=launch.image.span if launch.image is not None else None)
        if found is not None:
            return found
    if image is None or image.version is None or launch.image is None:
        return None
    span = launch.image.tag_span or launch.image.span
    if image.official:
        return release(image.version, "image tag", span)
    return release(image.version, f"image tag of {launch.image.name}", span, "vendor")


def _pin(launch: Launch, after: Span | None) -> Release | None:
    """The pin that holds for the launch: the nearest above it, else the first below."""
    pins = _whole_pins(launch.pins) or _file_pins(launch.source)
    if after is not None and after.source is launch.source:
        pins = tuple(p for p in pins if p.span.source is after.source and p.span.start > after.start)
    at = launch.command.start
    above = [p for p in pins if p.span.source is not launch.source or p.span.start <= at]
    for pin in (*reversed(above), *(p for p in pins if p not in above)):
        found = _pinned(pin.value, "pin in the file", pin.span)
        if found is not None:
            return found
    return None


def _whole_pins(pins: tuple[Hint, ...]) -> tuple[Hint, ...]:
    """Pins that an extractor saw, with everything the requirement says (extras, further bounds); other packages left out."""
    whole = []
    for pin in pins:
        around = next((p for p in _file_pins(pin.span.source) if p.span.contains(pin.span)), None)
        if around is not None:
            whole.append(around)
        elif plain := re.fullmatch(r"vllm(?:\[[^\]]*\])?[ \t]*(?P<spec>[=~<>!].*)", pin.value):
            whole.append(replace(pin, value=f"vllm{plain['spec']}"))
    return tuple(whole)


@lru_cache(maxsize=4)
def _file_pins(source: SourceFile) -> tuple[Hint, ...]:
    return pins_in_text(source) if "vllm" in source.text else ()


def _pinned(requirement: str, where: str, span: Span | None = None) -> Release | None:
    pinned = resolve_requirement(requirement, known_releases())
    if pinned.version is None or not version_key(pinned.version):
        return None
    if pinned.exact:
        return release(pinned.version, where, span)
    certainty = "stated" if pinned.narrow else "assumed"
    return release(pinned.version, f"newest release that {requirement} admits ({where})", span, certainty)


def _unpinned(launch: Launch, image: ImageFacts) -> Release:
    reference = launch.image
    assert reference is not None
    span = reference.tag_span or reference.span
    if image.official and reference.tag is not None:
        return newest(f"image tag {reference.tag} moves or names no release: the newest known is assumed", "floating", span)
    if image.official and reference.digest is not None:
        return newest("the image is pinned by a digest that is not known: the newest known release is assumed", "assumed", span)
    if image.official:
        return newest("the image has no tag, so it is the latest: the newest known release is assumed", "floating", span)
    if image.moving and reference.tag in (None, "latest", "nightly", "main", "stable"):
        return newest(f"the tag of {reference.name} moves: the newest known release is assumed", "floating", span)
    return newest(f"the tag of {reference.name} tells no vLLM release: the newest known is assumed", "assumed", span)


def _from_repository(launch: Launch, repository: Repository) -> Release | None:
    for folder in repository.upward():
        for path in _pin_files(repository.names(folder), folder):
            text = repository.text(path, MAX_CONFIG)
            if text is None or "vllm" not in text or _is_linted(path, launch):
                continue
            found = repository.remember(f"release {path}", partial(_in_file(path), text, repository.name_of(path)))
            if found is not None:
                return found
    return None


def _is_linted(path: Path, launch: Launch) -> bool:
    return path.name == Path(launch.path).name and path == Path(launch.path).absolute()


def _pin_files(names: tuple[str, ...], folder: Path) -> Iterator[Path]:
    present = set(names)
    yield from (folder / name for name in _LOCKS if name in present)
    yield from (folder / name for name in names if _REQUIREMENTS.fullmatch(name))
    yield from (folder / name for name in _RANGES if name in present)
    yield from (folder / name for name in names if _DOCKERFILE.fullmatch(name))


def _in_file(path: Path) -> Callable[[str, str], Release | None]:
    return _in_dockerfile if _DOCKERFILE.fullmatch(path.name) else _in_requirements


def _in_requirements(text: str, name: str) -> Release | None:
    found = (_pinned(pin.value, name) for pin in pins_in_text(SourceFile.of(text, name)))
    return next((r for r in found if r is not None), None)


def _in_dockerfile(text: str, name: str) -> Release | None:
    pinned = _in_requirements(text, name)
    if pinned is not None:
        return pinned
    values = {m["name"]: m["value"] for m in _ARGUMENT.finditer(text)}
    for match in reversed(list(_FROM.finditer(text))):
        reference = re.sub(r"\$\{?(\w+)(?::-[^}]*)?\}?", lambda m: values.get(m[1], m[0]), match["image"])
        image = facts_of_reference(reference)
        if image is not None and image.version is not None:
            return release(image.version, f"FROM in {name}", None, "stated" if image.official else "vendor")
    return None
