"""Environment variables that vLLM does not read.

Why: vLLM takes its settings from arguments. Names such as MAX_MODEL_LEN belong to wrappers (worker images, adapters); in
vLLM's own image they have no effect, and the defaults apply unnoticed. An unknown VLLM_ name only draws a warning.
Instead: the argument (`--max-model-len`), or `VLLM_...` as the release knows it.
Wrong when: a script in the image reads the variable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_vllm.edits import remove_env
from lint_vllm.examples import pod
from lint_vllm.judgement import names_an_option, official_image, reads_variable, uses_image_entry_point
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_ARGUMENTS = re.compile(r"_(?:ARGS|ARGUMENTS|OPTIONS|OPTS|FLAGS|MODEL_NAME|MODEL_ID|MODEL_PATH)$")
# Names of other serving programs (text-generation adapters, worker images) that look like engine settings.
_FOREIGN = frozenset({
    "MAX_SEQUENCE_LENGTH", "MAX_NEW_TOKENS", "NUM_GPUS", "NUM_SHARD", "MAX_INPUT_LENGTH", "MAX_TOTAL_TOKENS", "MAX_BATCH_SIZE",
    "MODEL_NAME", "MODEL_ID", "DTYPE_STR", "QUANTIZE", "MAX_CONCURRENT_REQUESTS", "GPU_COUNT", "TP_SIZE", "MAX_BATCH_PREFILL_TOKENS",
})  # fmt: skip


@rule(
    code="DEP043",
    name="env-not-an-engine-arg",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm-project/vllm#10517",),
    bad=(
        Bad(
            pod("Qwen/Qwen3-8B", container="env:\n  - name: MAX_MODEL_LEN\n    value: '8192'"),
            name="pod.yaml",
            mark="MAX_MODEL_LEN",
        ),
        Bad("docker run --gpus all --ipc=host -e NUM_GPUS=2 vllm/vllm-openai:v0.33.0 Qwen/Qwen3-8B\n", mark="NUM_GPUS"),
    ),
    good=(
        Good(
            pod("Qwen/Qwen3-8B", "--max-model-len=$(MAX_MODEL_LEN)", container="env:\n  - name: MAX_MODEL_LEN\n    value: '8192'"),
            name="pod.yaml",
        ),
        Good(pod("$(MODEL)", container="env:\n  - name: HF_HOME\n    value: /cache"), name="pod.yaml"),
    ),
)
def env_not_an_engine_arg(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    deployment = facts.launch.deployment
    unit = deployment is not None and deployment.kind == "systemd" and facts.launch.form in ("vllm serve", "api_server")
    if not unit and (not official_image(facts) or not uses_image_entry_point(facts)):
        return
    text = facts.launch.source.text
    for name, variable in facts.launch.env.items():
        if unit and not name.startswith("VLLM_"):
            continue
        if variable.name.unknown is not None or re.search(rf"\$[({{]?{re.escape(name)}\b", text):
            continue
        flag = name.lower().replace("_", "-")
        bare = flag.removeprefix("vllm-")
        if name.startswith("VLLM_"):
            if reads_variable(name) or not (names_an_option(facts, bare) or _ARGUMENTS.search(name)):
                continue
            flag = bare
        elif name not in _FOREIGN and (not names_an_option(facts, flag) or "_" not in name or name.startswith("HF_")):
            continue
        advice = f"pass --{flag} instead" if names_an_option(facts, flag) else "pass the matching vLLM argument instead"
        yield Finding(
            variable.name.value_span,
            f"vLLM does not read {name}: in its own image the variable has no effect and the default applies",
            fixes=(
                Fix(advice),
                Fix(
                    "delete it", edits=remove_env(variable), applicability=Applicability.UNSAFE, cost="nothing, as it does nothing"
                ),
            ),
        )
