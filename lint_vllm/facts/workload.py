"""What the server must carry, as somebody stated it: command line, comment, settings; and what clients beside it ask for.

Nothing is derived from flags here (an explicit small ``--max-num-seqs`` is the budget engine's business), nor from
benchmarks: they try a server out, they do not say what it must carry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lint_vllm.facts import Workload
from lint_vllm.facts.comments import CommentFacts, as_integer
from lint_vllm.facts.repository import NearbyFile, Repository
from lint_vllm.frozen import dataclass
from lint_vllm.known import Known
from lint_vllm.launch import Launch
from lint_vllm.patterns import pattern
from lint_vllm.settings import Stated
from lint_vllm.source import SourceFile, Span

_CLIENT_FILES = (".sh", ".bash", ".py", ".js", ".ts", ".json", ".yaml", ".yml", ".http", ".md", ".ipynb")
_MODEL = pattern(r"\\?[\"']?model(?:_name)?\\?[\"']?[ \t]*[:=][ \t]*\\?[\"'](?P<model>[^\"'\\\s]{1,200})\\?[\"']")
_LIMIT = pattern(r"\\?[\"']?max_(?:completion_)?tokens\\?[\"']?[ \t]*[:=][ \t]*(?P<tokens>\d{1,7})")
_WINDOW = 1500
"""A request body: how far from the model's name its limit may stand, characters."""
_CLIENT_SIGN = pattern(r"/v1/(?:chat/)?completions|/v1/responses|openai|litellm|\bcurl\b|requests\.post|httpx")


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """A request that a file sends to an OpenAI-compatible server. ``path`` is for people."""

    model: str
    max_tokens: int | None
    path: str
    span: Span | None = None
    """The model's name, in files that are at hand as sources."""


def resolve_workload(
    launch: Launch, options: Stated, comments: CommentFacts, settings: Stated, repository: Repository, names: Iterable[str] = ()
) -> Workload:
    """``names``: what clients may call the served model (``--served-model-name``, else the model id)."""
    output = _stated("output-tokens", options.output_tokens, comments, settings.output_tokens) or _sampling_limit(launch)
    return Workload(
        concurrency=_stated("concurrency", options.concurrency, comments, settings.concurrency),
        context_tokens=_stated("context-tokens", options.context_tokens, comments, settings.context_tokens),
        context_tokens_p50=_stated("context-tokens-p50", options.context_tokens_p50, comments, settings.context_tokens_p50),
        output_tokens=output or _largest_output(repository, frozenset(names)),
        task=_task(options, comments, settings),
    )


def _stated(key: str, option: int | None, comments: CommentFacts, setting: int | None) -> Known[int] | None:
    if option is not None:
        return Known(option, f"--{key}")
    comment = comments.integer(key)
    if comment is not None and comment.value > 0:
        return comment
    return None if setting is None else Known(setting, "settings")


def _task(options: Stated, comments: CommentFacts, settings: Stated) -> Known[str] | None:
    if options.task is not None:
        return Known(options.task, "--task")
    comment = comments.get("task")
    if comment is not None:
        return Known(comment.value.lower(), comment.origin, comment.span)
    return None if settings.task is None else Known(settings.task, "settings")


def _sampling_limit(launch: Launch) -> Known[int] | None:
    """The largest ``SamplingParams(max_tokens=...)`` of a Python program."""
    limits = [(n, hint) for hint in launch.hints if hint.kind == "max-tokens" and (n := as_integer(hint.value))]
    if not limits:
        return None
    number, hint = max(limits, key=lambda pair: pair[0])
    return Known(number, "max_tokens of SamplingParams", hint.span)


def _largest_output(repository: Repository, names: frozenset[str]) -> Known[int] | None:
    """The largest ``max_tokens`` that a client in the same folder sends with the served model's name."""
    if not names:
        return None
    best: ClientRequest | None = None
    for request in nearby_requests(repository):
        if request.model in names and request.max_tokens and (best is None or request.max_tokens > (best.max_tokens or 0)):
            best = request
    return (
        None
        if best is None or best.max_tokens is None
        else Known(best.max_tokens, f"max_tokens of a client request in {best.path}")
    )


def nearby_requests(repository: Repository) -> tuple[ClientRequest, ...]:
    """The client requests in the linted file's folder."""
    return repository.remember(
        "client requests", lambda: tuple(r for file in repository.beside(_CLIENT_FILES) for r in requests_in_text(file))
    )


def requests_in_text(file: NearbyFile) -> Iterator[ClientRequest]:
    """Requests of one file: a model's name with the limit that stands nearest to it, up to the next model's name."""
    yield from _requests(file.text, file.path, None)


def requests_in(source: SourceFile) -> Iterator[ClientRequest]:
    """The same for the linted file, with spans."""
    yield from _requests(source.text, source.path, source)


def _requests(text: str, path: str, source: SourceFile | None) -> Iterator[ClientRequest]:
    if "model" not in text or _CLIENT_SIGN.search(text) is None:
        return
    models = list(_MODEL.finditer(text))
    limits = [(m.start(), int(m["tokens"])) for m in _LIMIT.finditer(text)]
    at = 0
    for index, match in enumerate(models):
        before = models[index - 1].end() if index else 0
        after = models[index + 1].start() if index + 1 < len(models) else len(text)
        low, high = max(before, match.start() - _WINDOW), min(after, match.end() + _WINDOW)
        while at < len(limits) and limits[at][0] < low:
            at += 1
        near = [limits[k] for k in range(at, min(at + 20, len(limits))) if limits[k][0] < high]
        nearest = min(near, key=lambda found: abs(found[0] - match.start()), default=None)
        span = None if source is None else source.span(match.start("model"), match.end("model"))
        yield ClientRequest(match["model"], None if nearest is None else nearest[1], path, span)
