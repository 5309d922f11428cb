"""CPU time of lint-vllm beside yamllint and other linters, measured alternately in one run."""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PLAIN = "".join(f"key{n}:\n  - one\n  - {{a: 1, b: [x, y]}}\n" for n in range(40))
COMPOSE = """---
services:
  llm:
    image: vllm/vllm-openai:v0.33.0
    ipc: host
    command:
      - --model=Qwen/Qwen2.5-7B-Instruct
      - --max-model-len=16384
      - --gpu-memory-utilization=0.98
      - --tensor-paralel-size=1
    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              count: 1
              capabilities: [gpu]
"""


@dataclass(frozen=True)
class Case:
    """``arguments`` by tool; the first tool is compared with the second, whose time x ``ceiling`` is the limit."""

    title: str
    ceiling: float
    arguments: dict[str, Sequence[str]]


def cpu_seconds(command: Sequence[str], cwd: str, bytecode: str) -> float:
    """``bytecode`` is a folder for compiled modules: every tool is measured with warm byte code, as after an installation."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = bytecode
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=cwd, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cases(tools: dict[str, str]) -> list[Case]:
    def both(lint_vllm: Sequence[str], *others: str) -> dict[str, Sequence[str]]:
        wanted = {"lint-vllm": lint_vllm, "yamllint": others}
        for name in ("check-jsonschema", "zizmor", "hadolint", "shellcheck"):
            if name in tools and others == ("--version",):
                wanted[name] = others
        return wanted

    return [
        Case("--version", 2, both(["--version"], "--version")),
        Case("one file without vLLM", 2, both(["check", "plain.yaml"], "plain.yaml")),
        Case("one small file with findings", 3, both(["check", "--gpu", "RTX 4090", "compose.yaml"], "compose.yaml")),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--check", action="store_true", help="exit 1 when a ratio is above its ceiling")
    parser.add_argument("--tree", type=Path, help="also time a whole folder")
    options = parser.parse_args()
    here = os.path.dirname(sys.executable)
    path = os.pathsep.join([here, os.environ.get("PATH", "")])
    names = ("lint-vllm", "yamllint", "check-jsonschema", "zizmor", "hadolint", "shellcheck")
    tools = {name: found for name in names if (found := shutil.which(name, path=path))}
    missing = {"lint-vllm", "yamllint"} - set(tools)
    if missing:
        print(f"not installed: {', '.join(sorted(missing))}", file=sys.stderr)
        return 2
    slow = False
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as bytecode:
        Path(folder, "plain.yaml").write_text(PLAIN)
        Path(folder, "compose.yaml").write_text(COMPOSE)
        for case in cases(tools):
            times: dict[str, float] = {}
            for turn in range(options.runs + 1):
                for tool, arguments in case.arguments.items():
                    seconds = cpu_seconds([tools[tool], *arguments], folder, bytecode)
                    if turn:  # the first turn fills caches
                        times[tool] = min(seconds, times.get(tool, seconds))
            ratio = times["lint-vllm"] / times["yamllint"]
            slow |= ratio > case.ceiling
            shown = ", ".join(f"{tool} {1000 * seconds:.0f} ms" for tool, seconds in times.items())
            print(f"{case.title}: {ratio:.2f} x yamllint (ceiling {case.ceiling:g}); {shown}")
        if options.tree is not None:
            seconds = cpu_seconds([tools["lint-vllm"], "check", "--isolated", "--format", "json", str(options.tree)], ".", bytecode)
            number = sum(len(files) for _, _, files in os.walk(options.tree))
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
            print(f"{options.tree}: {seconds:.2f} s CPU, {number / seconds:,.0f} files/s, peak {peak} MiB")
    return int(options.check and slow)


if __name__ == "__main__":
    sys.exit(main())
