"""A client in the same file names another model than the server.

Why: the API matches the `model` of a request against the served names exactly. Without `--served-model-name` that is the
model as given to the server, a path included; anything else gets 404.
Instead: `--served-model-name` with the name clients use.
Wrong when: the request goes to another server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_vllm.edits import add_flag
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, Span, rule
from lint_vllm.source import SourceFile

_REQUEST = re.compile(
    r"""["']model["']\s*:\s*\\?["'](?P<json>[\w./:@+-]+)\\?["']"""
    r"""|\.(?:create|parse|stream)\(\s*(?:[\w]+\s*=\s*[^,()=]{1,80},\s*){0,4}model\s*=\s*["'](?P<python>[\w./:@+-]+)["']"""
)
_ASKS = re.compile(r"/v1\b/?(chat/)?(completions|responses|embeddings)?|openai", re.IGNORECASE)
_CLIENTS = (".py", ".sh", ".ipynb", ".js", ".ts")


@rule(
    code="DEP071",
    name="served-name",
    severity=Severity.INFO,
    since="0.1",
    docs=True,
    sources=("vllm-project/vllm#3486", "OpenBMB/MiniCPM-V#451"),
    bad=(
        Bad(
            'vllm serve /models/Qwen3-8B &\ncurl localhost:8000/v1/completions -d \'{"model": "Qwen3-8B"}\'\n',
            mark="Qwen3-8B",
        ),
    ),
    good=(
        Good(
            "vllm serve Qwen/Qwen3-8B &\n",
            files={"ask.py": 'from openai import OpenAI\nc.chat.completions.create(model="gpt-5")\n'},
        ),
        Good('vllm serve /models/Qwen3-8B --served-model-name q &\ncurl localhost:8000/v1/completions -d \'{"model": "q"}\'\n'),
        Good('vllm serve "$MODEL" &\ncurl localhost:8000/v1/completions -d \'{"model": "q"}\'\n'),
    ),
)
def served_name(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    if facts.siblings or not isinstance(args.model, str) or not args.complete or args.form == "python":
        return
    given = args.value("served_model_name")
    names = set(given) if isinstance(given, (list, tuple)) and given else {given} if isinstance(given, str) else {args.model}
    if args.value("lora_modules") or any(not isinstance(name, str) for name in names):
        return
    known = {_last_part(str(name)) for name in (*names, args.model)}
    for source in _clients(facts):
        if not _ASKS.search(source.text):
            continue
        for match in _REQUEST.finditer(source.text):
            group = "json" if match["json"] else "python"
            name, span = match[group], Span(source, match.start(group), match.end(group))
            if name in names or _last_part(name) not in known or (span.source is facts.launch.source and _within(facts, span)):
                continue
            yield Finding(
                span,
                f"the request names {name}, the server serves {', '.join(sorted(str(n) for n in names))}: the answer is 404",
                fixes=(
                    Fix(
                        f"serve it under this name: --served-model-name {name}",
                        edits=add_flag(args, "--served-model-name", name) if given is None else (),
                        applicability=Applicability.UNSAFE,
                    ),
                ),
            )
            return


def _last_part(name: str) -> str:
    return name.rstrip("/").rsplit("/", 1)[-1].lower()


def _within(facts: Facts, span: Span) -> bool:
    """Whether a request stands inside the command itself."""
    words = facts.launch.words
    return bool(words) and facts.launch.command.start <= span.start < words[-1].span.end


def _clients(facts: Facts) -> Iterator[SourceFile]:
    """The file itself, then programs beside it that are the only ones to start or ask a server."""
    yield facts.launch.source
    if facts.launch.passage == "doc" or facts.launch.wrapper is not None:
        return
    files = [f for f in facts.repository.beside(_CLIENTS) if f.path.rsplit("/", 1)[-1] != facts.launch.path.rsplit("/", 1)[-1]]
    if len(files) > 8 or any(_STARTS.search(f.text) for f in files):
        return
    for file in files:
        source = facts.repository.read(file.path.rsplit("/", 1)[-1])
        if source is not None and re.search(r"localhost|127\.0\.0\.1|://\w+:\d{4}", source.text):
            yield source


_STARTS = re.compile(r"vllm serve|vllm\.entrypoints|vllm-openai|\bLLM\(")
