"""A user without a home cannot write the caches.

Why: a container that runs as an arbitrary user has `/` as its home: hub downloads go to /.cache/huggingface, compiled kernels
to /.cache/vllm and /.triton, and none of them can be written. Start-up stops with "permission denied".
Instead: HOME (or HF_HOME, VLLM_CACHE_ROOT and TRITON_CACHE_DIR) on a writable volume.
Wrong when: the image has a home for that user.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lint_vllm.examples import pod
from lint_vllm.judgement import first_line, is_container, official_image
from lint_vllm.launch import Deployment, EnvVar
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_USER = "securityContext:\n  runAsUser: 1000740000\n"


@rule(
    code="DEP081",
    name="cache-not-writable",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm-project/vllm#20127", "llm-d/llm-d-kv-cache#83"),
    bad=(
        Bad(pod("Qwen/Qwen3-8B", spec=_USER), name="pod.yaml"),
        Bad("docker run --gpus all --user 1000:1000 vllm/vllm-openai:v0.33.0 Qwen/Qwen3-8B\n"),
    ),
    good=(
        Good(pod("Qwen/Qwen3-8B", spec=_USER, container="env:\n  - name: HOME\n    value: /cache"), name="pod.yaml"),
        Good(pod("Qwen/Qwen3-8B", spec="securityContext:\n  runAsUser: {{ .Values.uid }}\n"), name="pod.yaml"),
        Good(pod("Qwen/Qwen3-8B"), name="pod.yaml"),
    ),
)
def cache_not_writable(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    deployment = facts.launch.deployment
    if deployment is None or not is_container(deployment) or not official_image(facts) or not deployment.env_complete:
        return
    user, env = deployment.run_as_user, facts.launch.env
    if deployment.read_only_root is not None:
        yield from _on_a_read_only_root(args, facts, deployment)
        return
    if user is None and deployment.run_as_non_root is None:
        return
    if user is not None and (user.unknown is not None or user.value.split(":")[0] in ("0", "root", "")):
        return
    who = f"user {user.value}" if user is not None else "the arbitrary user of runAsNonRoot"
    home = env.get("HOME")
    if home is not None and (home.value is None or home.value.unknown is not None or home.value.value not in ("", "/")):
        return
    missing = []
    if not any(n in env for n in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME")) and not _local(args):
        missing.append("HF_HOME")
    if not any(n in env for n in ("VLLM_CACHE_ROOT", "XDG_CACHE_HOME")):
        missing.append("VLLM_CACHE_ROOT")
    if not missing:
        return
    yield Finding(
        first_line(deployment.span),
        f"{who} has no home in the image: without {' and '.join(missing)} (or HOME) caches go to /.cache, which it cannot write",
        fixes=(Fix("set HOME to a writable volume"),),
    )


def _on_a_read_only_root(args: ArgumentSet, facts: Facts, deployment: Deployment) -> Iterator[Finding]:
    """Every cache must lie on a volume, whoever the user is."""
    if not deployment.mounts_complete:
        return
    env = facts.launch.env
    user = deployment.run_as_user
    root = deployment.run_as_non_root is None and (user is None or user.value in ("0", "root"))
    home = _folder(env, "HOME", "/root" if root else "")  # others have / as their home
    caches = {
        "HF_HOME": _folder(env, "HF_HOME", f"{home}/.cache/huggingface"),
        "VLLM_CACHE_ROOT": _folder(env, "VLLM_CACHE_ROOT", f"{home}/.cache/vllm"),
    }
    if _local(args):
        del caches["HF_HOME"]
    if any(folder is None for folder in caches.values()):
        return
    targets = [m.target.rstrip("/") for m in deployment.mounts if not m.read_only]
    bare = {name: folder for name, folder in caches.items() if not any(f"{folder}/".startswith(f"{t}/") for t in targets)}
    if not bare:
        return
    yield Finding(
        first_line(deployment.span),
        f"the root file system is read-only and no volume holds {' and '.join(str(f) for f in bare.values())} ({', '.join(bare)}): "
        "caches cannot be written",
        fixes=(Fix("mount a writable volume there, or point HOME to one"),),
    )


def _folder(env: Mapping[str, EnvVar], name: str, default: str) -> str | None:
    """The folder that a variable names; ``None`` where it cannot be known."""
    variable = env.get(name)
    if variable is None:
        return None if "None" in default else default
    return variable.value.value if variable.value is not None and variable.value.unknown is None else None


def _local(args: ArgumentSet) -> bool:
    return isinstance(args.model, str) and args.model.startswith("/")
