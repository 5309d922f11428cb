"""The checkpoint has no chat template.

Why: tool calls, reasoning and chat go through the chat endpoint, which needs a template. Base checkpoints have none, and since
transformers 4.44 there is no default: chat requests get HTTP 400.
Instead: the instruct variant, `--chat-template FILE`, or the tokenizer mode of the family.
Wrong when: the template lies in a file of its own that vLLM finds, or only completions are used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_vllm.facts.conversation import untemplated
from lint_vllm.facts.models import mounts_of
from lint_vllm.model_report import model_place
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_CHAT = (
    "enable_auto_tool_choice",
    "tool_call_parser",
    "reasoning_parser",
    "response_role",
    "chat_template_content_format",
    "enable_reasoning",
)
_TEMPLATES = ("chat_template.jinja", "chat_template.json", "additional_chat_templates")
_CONFIG = '{"architectures": ["LlamaForCausalLM"], "model_type": "llama"}\n'
_TOOLS = "--enable-auto-tool-choice --tool-call-parser"


@rule(
    code="MDL053",
    name="chat-template-missing",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm-project/vllm#39279", "vllm-project/vllm#17977", "vllm-project/vllm#29849"),
    bad=(
        Bad(f"vllm serve google/gemma-4-31B {_TOOLS} gemma4\n", mark="google/gemma-4-31B"),
        Bad(
            f"vllm serve ./tuned {_TOOLS} llama3_json\n",
            mark="./tuned",
            files={"tuned/config.json": _CONFIG, "tuned/tokenizer_config.json": '{"tokenizer_class": "PreTrainedTokenizerFast"}\n'},
        ),
        Bad(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.33.0\n    ipc: host\n    gpus: all\n"
            "    command: --model meta-llama/Llama-3.1-8B --enable-auto-tool-choice --tool-call-parser llama3_json\n",
            name="compose.yaml",
            mark="meta-llama/Llama-3.1-8B",
        ),
    ),
    good=(
        Good(f"vllm serve google/gemma-4-31B-it {_TOOLS} gemma4\n"),
        Good(f"vllm serve google/gemma-4-31B {_TOOLS} gemma4 --chat-template ./gemma4.jinja\n"),
        Good(f'vllm serve "$MODEL" {_TOOLS} gemma4\n'),
        Good("vllm serve google/gemma-4-31B\n"),
    ),
)
def chat_template_missing(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    if args.given("chat_template") or not isinstance(args.model, str) or not args.complete or args.model_span is None:
        return
    if not any(args.given(dest) for dest in _CHAT) and not _asks_to_chat(args):
        return
    mode = args.value("tokenizer_mode")
    folder = facts.repository.model_folder(args.model, mounts_of(facts.launch))
    if folder is not None:
        tokenizer = folder.tokenizer_config
        if tokenizer is None or tokenizer.get("chat_template") or mode not in (None, "auto", "slow"):
            return
        if any(facts.repository.locate(f"{folder.path}/{name}", facts.repository.root) is not None for name in _TEMPLATES):
            return
        instead = "a template given with --chat-template"
    else:
        found = untemplated(args.model)
        if found is None or mode not in (None, "auto", "slow"):
            return
        if found.tools_only and not args.given("enable_auto_tool_choice"):
            return
        instead = found.instead
    yield Finding(
        model_place(args),
        f"{args.model} has no chat template, and {'its flags are' if any(args.given(d) for d in _CHAT) else 'this file has requests'} for "
        "the chat endpoint: chat requests get HTTP 400",
        fixes=(
            Fix(f"use {instead}", applicability=Applicability.DISPLAY),
            Fix("pass --chat-template FILE", applicability=Applicability.DISPLAY),
        ),
    )


def _asks_to_chat(args: ArgumentSet) -> bool:
    """Whether the file itself sends chat requests to this model."""
    text = args.launch.source.text
    if args.launch.passage == "doc" or args.form == "python" or ("chat/completions" not in text and "chat.completions" not in text):
        return False
    served = args.value("served_model_name")
    names = [str(n) for n in (served if isinstance(served, (list, tuple)) else [served or args.model])]
    return any(re.search(rf"""model\\?["']?\s*[:=]\s*\\?["']{re.escape(name)}\\?["']""", text) for name in names)
