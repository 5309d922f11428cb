"""The name ``lint_vllm.budget`` is a package and a function of the public API."""

from __future__ import annotations

import lint_vllm
import lint_vllm.budget.account
from lint_vllm.settings import Stated


def test_the_package_answers_as_the_function_does() -> None:
    launch = ["vllm", "serve", "Qwen/Qwen2.5-7B-Instruct"]
    account = lint_vllm.budget(launch, facts=Stated(gpu="NVIDIA H100 80GB HBM3"), isolated=True)
    assert account.outcome == "starts"
