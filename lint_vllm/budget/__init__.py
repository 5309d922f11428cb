"""The shared engine: weights, KV cache and measured items of one launch, and the verdict.

``from lint_vllm import budget`` means the function of the public API. Once any part of this package is imported, Python binds the
package to that name instead, so the package can be called as well and passes the call on.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Package(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> Any:
        return import_module("lint_vllm.api").budget(*args, **options)


sys.modules[__name__].__class__ = _Package
