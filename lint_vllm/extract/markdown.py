"""Markdown and reStructuredText: the code in fences, in literal blocks and after prompts, each read as its own file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from lint_vllm.extract.context import Context, Extraction, Follower, Unreadable
from lint_vllm.extract.registry import TELLTALE
from lint_vllm.extract.shell_values import Scope, masked, names
from lint_vllm.frozen import dataclass
from lint_vllm.launch import Launch
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile, Text

_FENCE = pattern(r"^(?P<indent>[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]*)?)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^\r\n]*)\r?$", re.MULTILINE)
_INLINE = pattern(r"```(?!`)[ \t]*(?:(?:bash|sh|shell|console)[ \t]+)?(?P<code>[^`\s][^`\r\n]*)```")
_DIRECTIVE = pattern(
    r"^(?P<indent>[ \t]*)(?:\.\.[ \t]+(?:code-block|code|sourcecode|prompt|parsed-literal|tab-code)::[ \t]*(?P<language>\S*)[^\r\n]*|(?P<plain>[^\r\n]*)::)[ \t]*\r?$",
    re.MULTILINE,
)
_PROMPT = pattern(r"^(?P<prompt>[ \t]*(?:\([\w.-]+\)[ \t]*)?(?:[\w.@~:/-]*[$#%]|(?<![ \t]{4})>|PS[^>\r\n]*>|❯|➜)[ \t]+)(?=\S)")
_LOGGED = pattern(
    r"[ \t]*(?:\([\w ]+pid=\d+[^)]*\)[ \t]*)?(?:\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|(?:INFO|DEBUG|WARNING|ERROR)[ \t:]+(?:\d\d-\d\d|\[))"
)
"""A line that a program printed with its time or level in front."""
_SHELL = names(
    "bash sh shell console zsh shell-session shellsession terminal cmd batch dos powershell pwsh ps1 ps text txt plaintext output none ksh bat"
)
_KINDS = {
    **dict.fromkeys(("yaml", "yml", "helm", "compose"), "yaml"),
    **dict.fromkeys(("python", "py", "python3", "ipython", "pycon"), "python"),
    **dict.fromkeys(("dockerfile", "docker", "containerfile"), "dockerfile"),
    **dict.fromkeys(("ini", "systemd", "service", "unit", "desktop"), "systemd"),
    **dict.fromkeys(("env", "dotenv", "properties"), "env"),
    **dict.fromkeys(("makefile", "make"), "makefile"),
    **dict.fromkeys(("hcl", "terraform", "tf"), "hcl"),
    **dict.fromkeys(("json", "jsonc"), "json"),
    "toml": "toml",
    "nix": "nix",
    "just": "justfile",
}
_MAX_FENCES = 2000


@dataclass(frozen=True, slots=True)
class Fence:
    """One block of code: its language in lower case, its text without the indent of the block, and where it begins."""

    language: str
    code: Text
    info: str = ""


def extract(source: SourceFile, follow: Follower | None = None) -> Extraction:
    """The launches in the code of a document; all have ``passage="doc"``."""
    return launches_in_document(Text.of(source), Context(source, passage="doc", follow=follow))


def launches_in_document(text: Text, context: Context) -> Extraction:
    """The launches in the code blocks of a document, each block on its own."""
    launches: list[Launch] = []
    problems: tuple[Unreadable, ...] = ()
    scope = Scope()
    restructured = context.source.path.lower().endswith(".rst") or ".. code-block::" in text.value
    blocks = [*fences(text), *(literal_blocks(text) if restructured else ())]
    for number, fence in enumerate(blocks):
        if number >= _MAX_FENCES:
            reason = f"the document has more than {_MAX_FENCES:,} blocks of code; this one and later ones were not read"
            problems = (Unreadable(fence.code.span, reason),)
            break
        inside = replace(context, passage="doc", follow=None)
        for launch in _read(fence, inside, scope):
            deployment = launch.deployment
            if deployment is not None:
                deployment = replace(deployment, scope=f"{deployment.scope}/block {number}")
            launches.append(replace(launch, passage="doc", deployment=deployment))
    launches.sort(key=lambda launch: launch.command.start)
    return Extraction(tuple(launches), problems)


_WORTH = pattern(r"vllm|--tensor-parallel-size|--max-model-len|option_", re.IGNORECASE)
_TOLD = pattern(TELLTALE.pattern.decode(), re.IGNORECASE)


def _worth_reading(value: str, kind: str = "") -> bool:
    """Python is worth a look for vLLM's own keywords alone; of other kinds, fragments would look like launches."""
    return (_TOLD if kind == "python" else _WORTH).search(value) is not None


def fences(text: Text) -> Iterator[Fence]:
    """Fenced blocks, also those in lists, quotes and admonitions, and fences that open and close on one line."""
    value = text.value
    at = 0
    opening = _FENCE.search(value)
    while True:
        if opening is not None and opening.start() < at:
            opening = _FENCE.search(value, at)
        inline = _INLINE.search(value, at, opening.start() if opening else len(value))
        if inline is not None:
            yield Fence("bash", text[inline.start("code") : inline.end("code")].strip())
            at = inline.end()
            continue
        if opening is None:
            return
        mark = opening.group("mark")
        info = opening.group("info")
        if mark[0] == "`" and "`" in info:
            inline = _INLINE.match(value, opening.start("mark"), opening.end())
            if inline is not None:
                yield Fence("bash", text[inline.start("code") : inline.end("code")].strip())
            at = opening.end()
            continue
        closing = re.compile(rf"^[ \t>]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*\r?$", re.MULTILINE).search(value, opening.end())
        start = min(opening.end() + 1, len(value))
        stop = closing.start() if closing is not None else len(value)
        language = re.match(r"[\{\s.]*([\w+-]*)", info)
        yield Fence(language.group(1).lower() if language else "", _undented(text[start : max(start, stop)]), info)
        if closing is None:
            return
        at = closing.end()


def literal_blocks(text: Text) -> Iterator[Fence]:
    """The indented blocks of reStructuredText behind ``.. code-block::`` and ``::``."""
    value = text.value
    for found in _DIRECTIVE.finditer(value):
        indent = len(found.group("indent").expandtabs())
        at = found.end() + 1
        start = at
        stop = at
        while at < len(value):
            end = value.find("\n", at)
            end = len(value) if end < 0 else end
            line = value[at:end]
            if line.strip():
                if len(line.expandtabs()) - len(line.expandtabs().lstrip()) <= indent:
                    break
                if stop == start and re.match(r"\s*:[\w-]+:", line):
                    start = stop = end + 1
                    at = end + 1
                    continue
                stop = end
            at = end + 1
        if stop > start:
            yield Fence((found.group("language") or "").lower(), _undented(text[start:stop]))


def _undented(text: Text) -> Text:
    """A block without the blanks (and quote marks) that all its lines begin with."""
    lines = text.value.splitlines(keepends=True)
    filled = [line for line in lines if line.strip()]
    if not filled:
        return text
    common = re.match(r"[ \t]*(?:>[ \t]?)*[ \t]*", filled[0])
    prefix = common.group() if common else ""
    for line in filled:
        while prefix and not line.startswith(prefix):
            prefix = prefix[:-1]
    if not prefix:
        return text
    parts: list[Text] = []
    at = 0
    for line in lines:
        cut = len(prefix) if line.startswith(prefix) else len(line) - len(line.lstrip(" \t>"))
        cut = min(cut, len(line.rstrip("\r\n")))
        parts.append(text[at + cut : at + len(line)])
        at += len(line)
    return Text.join(parts, text[:0])


def _read(fence: Fence, context: Context, scope: Scope) -> list[Launch]:
    kind = _KINDS.get(fence.language)
    if kind is None and fence.language and fence.language not in _SHELL:
        return []
    if kind is None:
        kind = "shell" if fence.language not in ("", "text", "txt", "plaintext", "none") else _guessed(fence.code.value)
    if kind == "shell":
        mark = _CONTINUATIONS.get(fence.language)
        return _shell(_continued(fence.code, mark) if mark else fence.code, context, scope)
    if not _worth_reading(fence.code.value, kind):
        return []
    from lint_vllm.extract.passages import launches_in_passage

    return launches_in_passage(kind, fence.code, context)


def _continued(code: Text, mark: str) -> Text:
    """A script of Windows as a shell would have it: its mark at the end of a line stands for a backslash."""
    parts: list[Text] = []
    at = 0
    for found in re.finditer(re.escape(mark) + r"(?=[ \t]*\r?\n)", code.value):
        place = code[found.start() : found.end()]
        parts += [code[at : found.start()], Text.placed("\\", place.span)]
        at = found.end()
    return Text.join([*parts, code[at:]], code[:0])


_CONTINUATIONS = {**dict.fromkeys(("powershell", "pwsh", "ps1", "ps"), "`"), **dict.fromkeys(("cmd", "bat", "batch", "dos"), "^")}


def _guessed(code: str) -> str:
    if re.search(r"^FROM\s+\S+", code, re.MULTILINE) and re.search(r"^(?:CMD|ENTRYPOINT|RUN|ENV|COPY)\s", code, re.MULTILINE):
        return "dockerfile"
    if re.search(r"^\[(?:Unit|Service|Container)\]", code, re.MULTILINE):
        return "systemd"
    if re.search(r"^\s*(?:from\s+vllm\S*\s+import|import\s+vllm)\b", code, re.MULTILINE):
        return "python"
    first = next((line for line in code.splitlines() if line.strip() and not line.lstrip().startswith("#")), "")
    if re.match(r"\s*(?:- )?[A-Za-z_][\w.-]*:(?:\s|$)", first) and "::" not in first:
        return "yaml"
    return "shell"


def _shell(code: Text, context: Context, scope: Scope) -> list[Launch]:
    """Commands of one fence; a reader has typed the fences before it into the same shell."""
    from lint_vllm.extract.shell import walk_script

    if not _worth_reading(code.value) and not re.search(r"^\s*(?:[$#>]\s+)?(?:export\s+)?[A-Z]\w*=", code.value, re.MULTILINE):
        return []
    return walk_script(masked(without_prompts(code)), context, scope)


def without_prompts(code: Text) -> Text:
    """A console session as the script it was: lines of a log are output; with prompts in it, all lines without one are."""
    lines: list[Text] = []
    at = 0
    logged = False
    for raw in code.value.splitlines(keepends=True):
        if _LOGGED.match(raw):
            logged = True
        else:
            lines.append(code[at : at + len(raw)])
        at += len(raw)
    if logged:
        code = Text.join(lines, code[:0])
    prompted = [_PROMPT.match(line.value) for line in lines]
    if not any(p is not None and not p.group().strip().startswith("#") for p in prompted):
        return code
    parts: list[Text] = []
    continued = False
    for line, prompt in zip(lines, prompted, strict=True):
        if continued:
            more = re.match(r"[ \t]*>[ \t]", line.value)
            parts.append(line[more.end() :] if more else line)
        elif prompt is not None and not prompt.group().strip().startswith("#"):
            parts.append(line[prompt.end() :])
        elif line.value.lstrip().startswith("#"):
            parts.append(line)
        else:
            continue
        continued = parts[-1].value.rstrip("\r\n").endswith("\\")
    return Text.join(parts, code[:0])


__all__ = ["Fence", "extract", "fences", "launches_in_document", "literal_blocks", "without_prompts"]
