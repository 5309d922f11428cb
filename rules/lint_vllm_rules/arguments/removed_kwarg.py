"""A keyword or name that the Python API of the release does not have.

Why: `LLM(...)`, `EngineArgs(...)` and `AsyncEngineArgs(...)` raise TypeError on an unknown keyword, before anything is loaded;
an import of a name that left ends in ImportError.
Instead: the keyword's successor; pure no-ops are deleted.
Wrong when: a subclass takes the keyword.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.arguments.causes import setting_at
from lint_vllm.arguments.history import keyword_history, successor_of
from lint_vllm.arguments.python_names import removed_imports
from lint_vllm.edits import remove_elements
from lint_vllm.judgement import softened
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Problem, Severity, rule


@rule(
    code="ARG023",
    name="removed-kwarg",
    severity=Severity.ERROR,
    since="0.1",
    sources=("data set flags/python.jsonl", "hiyouga/LlamaFactory#9503", "data set flags/names.json"),
    bad=(
        Bad(
            "from vllm import LLM\n\nllm = LLM(model='Qwen/Qwen3-8B', swap_space=4)\n",
            name="run.py",
            mark="swap_space",
            facts={"vllm_version": "0.33.0"},
        ),
        Bad(
            "from vllm import LLM\nfrom vllm.sampling_params import GuidedDecodingParams\n\nllm = LLM(model='Qwen/Qwen3-8B')\n",
            name="run.py",
            mark="GuidedDecodingParams",
            facts={"vllm_version": "0.14.0"},
        ),
    ),
    good=(
        Good("from vllm import LLM\n\nllm = LLM(model='Qwen/Qwen3-8B', max_model_len=4096)\n", name="run.py"),
        Good("from vllm import LLM\n\nllm = LLM(model='Qwen/Qwen3-8B', **options)\n", name="run.py"),
        Good(
            "from vllm import LLM\n\ntry:\n    from vllm.sampling_params import StructuredOutputsParams\nexcept ImportError:\n"
            "    from vllm.sampling_params import GuidedDecodingParams\n\nllm = LLM(model='Qwen/Qwen3-8B')\n",
            name="run.py",
            facts={"vllm_version": "0.14.0"},
        ),
    ),
)
def removed_kwarg(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    if args.form != "python":
        return
    for gone in removed_imports(args.launch.source, facts.release.table):
        yield Finding(
            gone.span,
            f"{gone.module} has no {gone.name} since {gone.removed}: ImportError in vLLM {facts.release.version} ({facts.release.origin})",
            fixes=(Fix(f"use {gone.words}"),),
            severity=softened(facts, Severity.ERROR),
        )
    owner = args.launch.python_callable or "LLM"
    for problem in args.problems:
        if not problem.is_error or problem.kind not in ("unknown", "removed"):
            continue
        name = (problem.flag or problem.span.text).lstrip("-").replace("-", "_")
        history = keyword_history(owner, name)
        removed = problem.removed_in or (history.removed_before(facts.release.table) if history is not None else None)
        coming = problem.introduced_in
        when = f" since {removed}" if removed else f" before {coming}" if coming else ""
        yield Finding(
            problem.span,
            f"{owner} does not take {name}{when}: TypeError in vLLM {facts.release.version} ({facts.release.origin}) before anything is loaded",
            fixes=tuple(_ways(args, problem, name)),
            severity=softened(facts, Severity.ERROR),
        )


def _ways(args: ArgumentSet, problem: Problem, name: str) -> Iterator[Fix]:
    successor = successor_of("--" + name.replace("_", "-"))
    if successor is None:
        yield (
            Fix("leave it out") if not problem.suggestions else Fix(f"write {problem.suggestions[0].lstrip('-').replace('-', '_')}")
        )
        return
    setting = setting_at(args, problem.span)
    inverse = successor.flag.lstrip("-").replace("-", "_") if successor.flag is not None else None
    if inverse is not None and setting is not None and isinstance(setting.literal, bool) and _opposite(name, inverse):
        key, value = setting.name.editable, setting.value.editable if setting.value is not None else None
        if key is not None and value is not None:
            edits = (Edit(key, inverse), Edit(value, str(not setting.literal)))
            yield Fix(f"write {inverse}={not setting.literal}", edits=edits, applicability=Applicability.SAFE)
            return
    removal = (
        remove_elements([setting.name.span.to(setting.value.span)]) if setting is not None and setting.value is not None else ()
    )
    safe = successor.delete_is_safe and bool(removal)
    yield Fix(
        successor.words,
        edits=removal if successor.delete_is_safe else (),
        applicability=Applicability.SAFE if safe else Applicability.DISPLAY,
    )


def _opposite(old: str, new: str) -> bool:
    return old.removeprefix("disable_") == new.removeprefix("enable_") != old
