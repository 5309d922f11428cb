"""The JSON schema of the settings, with the options of every installed rule."""

from __future__ import annotations

from typing import Any

from lint_vllm.registry import rules
from lint_vllm.rule import Rule
from lint_vllm.selection import option_types
from lint_vllm.settings_model import json_schema


def settings_schema() -> dict[str, Any]:
    return json_schema({rule.code: options_schema(rule) for rule in rules() if option_types(rule.options)})


def options_schema(rule: Rule) -> dict[str, Any]:
    from pydantic import TypeAdapter

    properties: dict[str, Any] = {}
    for name, annotation in option_types(rule.options).items():
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        default = adapter.dump_python(getattr(rule.options, name), mode="json")
        properties[name.replace("_", "-")] = {**adapter.json_schema(), "default": default}
    return {"type": "object", "title": rule.name, "properties": properties, "additionalProperties": False}
