#!/usr/bin/env python3
"""Write what vLLM releases serve: architectures, parsers, and quantization methods with their floors, by release.

usage: build_model_support.py VLLM TRANSFORMERS

VLLM and TRANSFORMERS are folders with one folder a release (named by its version), each an unpacked wheel; a file named
``date`` in it holds the day the wheel was built. Only the files read here need to be there: vllm/model_executor/models/registry.py,
vllm/model_executor/layers/quantization/, vllm/transformers_utils/config.py, the tool and reasoning parsers, METADATA;
transformers' models/auto/*.py. Everything is read with ``ast``, nothing is imported.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent.parent / "lint_vllm" / "data"
DTYPES = {"half": "float16", "float16": "float16", "bfloat16": "bfloat16", "float32": "float32"}


def key(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", version.replace("post", "")))


def releases(folder: Path) -> list[str]:
    return sorted((p.name for p in folder.iterdir() if p.is_dir()), key=key)


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module([], [])


def assigned(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def keys_of(value: ast.AST) -> set[str]:
    """Constant keys of dictionaries, and keyword names, of an expression."""
    found: set[str] = set()
    for node in ast.walk(value):
        if isinstance(node, ast.Dict):
            found |= {k.value for k in node.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)}
        elif isinstance(node, ast.Call):
            found |= {k.arg for k in node.keywords if k.arg}
    return found


def ranges(folder: Path, read: Callable[[Path], Iterable[str]]) -> dict[str, list[str]]:
    """Name -> [first release, first release without it again]; a gap counts as present."""
    known = releases(folder)
    seen: dict[str, list[int]] = {}
    for n, release in enumerate(known):
        for name in read(folder / release):
            seen.setdefault(name, []).append(n)
    return {name: [known[at[0]], *([known[at[-1] + 1]] if at[-1] + 1 < len(known) else [])] for name, at in sorted(seen.items())}


def architectures(release: Path) -> set[str]:
    tree = parse(release / "vllm/model_executor/models/registry.py")
    if not tree.body:
        tree = parse(release / "vllm/model_executor/models/__init__.py")
    found: set[str] = set()
    for name, value in assigned(tree):
        if name.endswith("_MODELS") and "PREVIOUSLY" not in name and "OOT" not in name and "UNSUPPORTED" not in name:
            found |= keys_of(value)
    return {name for name in found if re.fullmatch(r"[A-Z]\w+", name)}


def multimodal(release: Path) -> set[str]:
    """Architectures that take images, audio or video."""
    tree = parse(release / "vllm/model_executor/models/registry.py")
    return {k for name, value in assigned(tree) if name == "_MULTIMODAL_MODELS" for k in keys_of(value)}


def own_types(release: Path) -> set[str]:
    """Model types whose configuration class vLLM brings."""
    tree = parse(release / "vllm/transformers_utils/config.py")
    return {k for name, value in assigned(tree) if name.startswith("_CONFIG_REGISTRY") for k in keys_of(value)}


def parsers(kind: str) -> Callable[[Path], set[str]]:
    """Names that ``--tool-call-parser`` or ``--reasoning-parser`` takes."""

    def read(release: Path) -> set[str]:
        found: set[str] = set()
        for folder in (f"vllm/{kind}_parsers", "vllm/reasoning", f"vllm/entrypoints/openai/{kind}_parsers"):
            if kind == "tool" and folder == "vllm/reasoning":
                continue
            for path in sorted((release / folder).glob("*.py")):
                tree = parse(path)
                for name, value in assigned(tree):
                    if name.endswith("_PARSERS_TO_REGISTER"):
                        found |= keys_of(value)
                for node in ast.walk(tree):
                    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "register_module":
                        named = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "name")]
                        found |= {
                            c.value for a in named for c in ast.walk(a) if isinstance(c, ast.Constant) and isinstance(c.value, str)
                        }
        return found

    return read


def known_types(release: Path) -> set[str]:
    """Model types that a transformers release knows."""
    found: set[str] = set()
    for name in ("configuration_auto.py", "auto_mappings.py"):
        found |= {k for k, _ in pairs(parse(release / name), "CONFIG_MAPPING_NAMES")}
    return found


def pairs(tree: ast.AST, table: str) -> Iterator[tuple[str, str]]:
    for name, value in assigned(tree):
        if name == table:
            for node in ast.walk(value):
                if isinstance(node, ast.Tuple) and len(node.elts) == 2:
                    a, b = node.elts
                    if (
                        isinstance(a, ast.Constant)
                        and isinstance(b, ast.Constant)
                        and isinstance(a.value, str)
                        and isinstance(b.value, str)
                    ):
                        yield a.value, b.value


def admitted(metadata: str, date: str, transformers: Mapping[str, str]) -> tuple[str, str]:
    """The newest transformers that a release admits: of those that were there when it was built, and of all."""
    line = next(
        (m[1] for m in re.finditer(r"^Requires-Dist: transformers\b([^;\n]*)$", metadata, re.MULTILINE) if "extra" not in m[0]), ""
    )
    rules = re.findall(r"(<=?|!=|>=|==)\s*([\d.]+)(\.\*)?", line)

    def fits(version: str) -> bool:
        for sign, bound, star in rules:
            v, b = key(version), key(bound)
            if (sign == "<" and not v < b) or (sign == "<=" and not v <= b) or (sign == ">=" and not v >= b):
                return False
            if sign == "!=" and (v[: len(b)] == b if star else v == b):
                return False
        return True

    there = [v for v in sorted(transformers, key=key) if fits(v)]
    return next((v for v in reversed(there) if transformers[v] <= date), there[0]), there[-1]


def class_facts(folder: Path) -> dict[str, tuple[list[str], dict[str, Any]]]:
    """Class -> (bases, {capability, dtypes} as far as its methods return constants)."""
    found: dict[str, tuple[list[str], dict[str, Any]]] = {}
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(parse(path)):
            if not isinstance(node, ast.ClassDef):
                continue
            facts: dict[str, Any] = {}
            for item in node.body:
                if not isinstance(item, ast.FunctionDef):
                    continue
                returned = [r.value for r in ast.walk(item) if isinstance(r, ast.Return) and r.value is not None]
                if item.name == "get_min_capability" and len(returned) == 1 and isinstance(returned[0], ast.Constant):
                    facts["min"] = returned[0].value
                if item.name == "get_supported_act_dtypes" and len(returned) == 1 and isinstance(returned[0], ast.List):
                    facts["dtypes"] = [
                        DTYPES[e.attr] for e in returned[0].elts if isinstance(e, ast.Attribute) and e.attr in DTYPES
                    ]
            found.setdefault(node.name, ([b.id for b in node.bases if isinstance(b, ast.Name)], facts))
    return found


def floors(release: Path) -> dict[str, dict[str, Any]]:
    """Method -> {min: capability x 10, dtypes} of one release."""
    folder = release / "vllm/model_executor/layers/quantization"
    classes = class_facts(folder)
    methods: dict[str, str] = {}
    for _, value in assigned(parse(folder / "__init__.py")):
        if isinstance(value, ast.Dict):
            for k, v in zip(value.keys, value.values, strict=True):
                if isinstance(k, ast.Constant) and isinstance(v, ast.Name):
                    methods[str(k.value)] = v.id

    def fact(name: str, what: str) -> Any:
        bases, facts = classes.get(name, ([], {}))
        return facts[what] if what in facts else next((f for f in (fact(b, what) for b in bases) if f is not None), None)

    return {method: {"min": fact(name, "min"), "dtypes": fact(name, "dtypes")} for method, name in sorted(methods.items())}


def floor_history(folder: Path) -> dict[str, list[list[Any]]]:
    """Method -> [[since, min, dtypes], ...]; an entry without numbers: the method left. What a method computes is null."""
    history: dict[str, list[list[Any]]] = {}
    for release in releases(folder):
        now = floors(folder / release)
        for method in {*history, *now}:
            entry = [now[method]["min"], now[method]["dtypes"]] if method in now else []
            past = history.setdefault(method, [])
            if (not past or past[-1][1:] != entry) and (past or entry):
                past.append([release, *entry])
    return dict(sorted(history.items()))


def write(name: str, content: Mapping[str, Any]) -> None:
    """One line an entry, so that a refresh shows what moved."""
    parts = []
    for k, v in content.items():
        if isinstance(v, dict):
            rows = ",\n".join(f"  {json.dumps(a)}: {json.dumps(b)}" for a, b in v.items())
            parts.append(f" {json.dumps(k)}: {{\n{rows}\n }}")
        else:
            parts.append(f" {json.dumps(k)}: {json.dumps(v)}")
    (DATA / name).write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def main(vllm: Path, transformers: Path) -> None:
    known = releases(vllm)
    dates = {r: (transformers / r / "date").read_text().strip() for r in releases(transformers)}
    built: dict[str, list[str]] = {}
    for release in known:
        date = (vllm / release / "date").read_text().strip()
        built[release] = [date, *admitted((vllm / release / "METADATA").read_text(encoding="utf-8"), date, dates)]
    newest = releases(transformers)[-1]
    auto = parse(transformers / newest / "modeling_auto.py")
    types = {t: r[0] for t, r in ranges(transformers, known_types).items()}
    served = ranges(vllm, architectures)
    named = dict(pairs(auto, "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"))
    # a conditional-generation class is what a multimodal checkpoint of the type names
    named |= dict(pairs(auto, "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES"))
    source = f"wheels of vllm {known[0]} to {known[-1]} and transformers {releases(transformers)[0]} to {newest}"
    write(
        "model_support.json",
        {
            "note": "architectures, own_types: name -> [first release, first release without it]. The first release read "
            f"({known[0]}) stands for itself and everything before. releases: release -> [day of build, newest transformers that it "
            "admits and that was there, newest of all that it admits]. types: model type -> first transformers release that knows it.",
            "source": source,
            "releases": built,
            "architectures": served,
            "multimodal": sorted(ranges(vllm, multimodal)),
            "own_types": ranges(vllm, own_types),
            "types": dict(types.items()),
            "architecture_of": {t: a for t, a in sorted(named.items()) if a in served},
        },
    )
    write(
        "parsers.json",
        {
            "note": "names that --tool-call-parser and --reasoning-parser take: name -> [first release, first release without it]",
            "source": source,
            "tool": ranges(vllm, parsers("tool")),
            "reasoning": ranges(vllm, parsers("reasoning")),
        },
    )
    write(
        "quantization_floors.json",
        {
            "note": "quantization methods: [[since release, least compute capability x 10, activation dtypes], ...]; an entry without "
            "numbers says that the method left, null that it depends on more than the release. get_min_capability and get_supported_act_dtypes of model_executor/layers/quantization.",
            "source": source,
            "methods": floor_history(vllm),
        },
    )


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
