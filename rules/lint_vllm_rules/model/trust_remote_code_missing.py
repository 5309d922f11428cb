"""The model's repository ships code that is needed to load it.

Why: its configuration class or tokenizer is Python code in the repository, which neither vLLM nor transformers of the release has.
Without `--trust-remote-code` the start is refused when the model or its tokenizer is loaded.
Instead: review the code, pin it with `--code-revision`, then add the flag.
Wrong when: the local copy was converted to a class that transformers has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lint_vllm.edits import add_flag
from lint_vllm.examples import compose
from lint_vllm.facts.model import Model
from lint_vllm.facts.served import architecture_of, brings_code, knows_type, served_span
from lint_vllm.judgement import official_image
from lint_vllm.model_report import model_of, model_place, sure
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_CONFIG = """{"architectures": ["AcmeForCausalLM"], "model_type": "acme", "auto_map": {"AutoConfig": "configuration_acme.AcmeConfig"},
 "num_attention_heads": 32, "hidden_size": 4096, "num_hidden_layers": 2}
"""


@rule(
    code="MDL054",
    name="trust-remote-code-missing",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 transformers_utils/config.py HFConfigParser", "vllm-project/vllm#9531", "vllm-project/recipes#116"),
    bad=(
        Bad("vllm serve OpenGVLab/InternVL2-8B\n", mark="OpenGVLab/InternVL2-8B", facts={"vllm_version": "0.6.6"}),
        Bad(
            compose("--model=moonshotai/Kimi-K2-Instruct", "--tensor-parallel-size=8", image="vllm/vllm-openai:v0.11.2"),
            name="compose.yaml",
            mark="moonshotai/Kimi-K2-Instruct",
        ),
        Bad("vllm serve ./acme\n", mark="./acme", files={"acme/config.json": _CONFIG}, facts={"vllm_version": "0.33.0"}),
    ),
    good=(
        Good("vllm serve OpenGVLab/InternVL2-8B --trust-remote-code\n", facts={"vllm_version": "0.6.6"}),
        Good('vllm serve OpenGVLab/InternVL2-8B "$MORE"\n', facts={"vllm_version": "0.6.6"}),
        Good("vllm serve deepseek-ai/DeepSeek-V3 --tensor-parallel-size 8\n", facts={"vllm_version": "0.33.0"}),
        Good("vllm serve Qwen/Qwen3-8B\n", facts={"vllm_version": "0.33.0"}),
    ),
)
def trust_remote_code_missing(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    model = model_of(facts)
    if model is None or args.given("trust_remote_code") or not args.complete or args.given("hf_config_path"):
        return
    if args.launch.wrapper is not None and args.launch.form != "env":
        return
    what = _needed(model, facts.release.version)
    if what is None or (not _own_folder(model) and args.given("tokenizer") and what == "tokenizer"):
        return
    # outside the official images a newer transformers may have the class
    open_end = (
        what == "configuration" and not official_image(facts) and knows_type(model.model_type, facts.release.version, upgraded=True)
    )
    edits = add_flag(args, "--trust-remote-code")
    yield Finding(
        model_place(args),
        f"the {what} of {model.id} is code of its repository: without --trust-remote-code the start is refused when it is loaded",
        fixes=(
            Fix(
                "review the repository's code, then add --trust-remote-code",
                edits,
                Applicability.UNSAFE if edits else Applicability.DISPLAY,
                "runs code of the repository",
            ),
        ),
        severity=sure(facts, model, Severity.WARNING if open_end else Severity.ERROR),
    )


def _needed(model: Model, release: str) -> str | None:
    """What is code of the repository, ``None`` where nothing is, or nobody knows."""
    reads = knows_type(model.model_type, release)
    if _own_folder(model):
        mapped = model.config.get("auto_map")
        return "configuration" if isinstance(mapped, Mapping) and "AutoConfig" in mapped and reads is False else None
    code = brings_code(model)
    if code == "tokenizer":
        return "tokenizer"
    if code == "config" and reads is False:
        architecture = architecture_of(model)
        span = served_span(architecture) if architecture is not None else None
        return "configuration" if span is not None and span.holds(release) else None
    return None


def _own_folder(model: Model) -> bool:
    """Whether the configuration was read as it is, not rebuilt from the catalogue (which holds no ``auto_map``)."""
    return model.record is None
