#!/usr/bin/env python3
"""Build the real argument parsers of one vLLM source tree and write down every option as JSON.

usage: dump_flags.py SOURCE RELEASE > table.json

SOURCE is a folder that holds ``vllm/`` (an unpacked sdist or wheel). Run it with a Python that has the third-party
packages of a recent vLLM (``tools/refresh-requirements.txt``). No GPU and no compiled kernels are needed: compiled modules
and third-party names that this environment lacks are replaced by inert stand-ins, vLLM's own Python code never is.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import contextlib
import dataclasses
import enum
import importlib
import importlib.metadata
import json
import os
import pathlib
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

COMPILED = re.compile(r"^vllm\.(.*\.)?(_\w*C\b|_\w*C_\w+|_version|cumem_allocator|vllm_flash_attn|third_party|_rs|_rust)")
SWITCHES = ("_StoreTrueAction", "_StoreFalseAction", "_StoreConstAction")
LOADERS = ("entrypoints.common.cli_args", "entrypoints.launchers.cli_args", "entrypoints.openai.cli_args")


# ---------------------------------------------------------------- stand-ins for what is not installed
class _StandInType(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return stand_in(name)

    def __or__(cls, other: Any) -> Any:
        return cls

    __ror__ = __or__

    def __getitem__(cls, item: Any) -> Any:
        return cls

    def __iter__(cls) -> Iterator[Any]:
        return iter(())

    def __lt__(cls, other: Any) -> bool:
        return False

    def __instancecheck__(cls, other: Any) -> bool:
        return False


def stand_in(name: str) -> Any:
    """A class that can be subclassed, called, subscripted, used as a decorator, and that does nothing."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        decorated = args[0] if len(args) == 1 and not kwargs else None
        return decorated if isinstance(decorated, types.FunctionType | type) else self

    def attribute(self: Any, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return stand_in(name)()

    body = {
        "__init__": lambda self, *args, **kwargs: None,
        "__call__": call,
        "__getattr__": attribute,
        "__getitem__": lambda self, item: self,
        "__iter__": lambda self: iter(()),
        "__len__": lambda self: 0,
        "__lt__": lambda self, other: False,
        "__gt__": lambda self, other: False,
        "__contains__": lambda self, item: False,
        "__enter__": lambda self: self,
        "__exit__": lambda self, *args: None,
        "__class_getitem__": classmethod(lambda cls, item: cls),
        "__module__": "stand_in",
    }
    return _StandInType(name, (), body)


class StandInModule(types.ModuleType):
    __path__: list[str] = []  # noqa: RUF012
    __version__ = "9.9.9"
    __file__ = "stand_in.py"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        value = stand_in(name)
        setattr(self, name, value)
        return value


class LenientImport:
    """``__import__`` (and ``import_module``) that replaces what is missing, but only for imports written in vLLM's own files outside ``try``."""

    def __init__(self) -> None:
        self.real = builtins.__import__
        self.real_by_name = importlib.import_module
        self.guarded: dict[str, list[tuple[int, int]]] = {}

    def __call__(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        importer = (globals or {}).get("__name__", "")
        if not importer.startswith("vllm"):
            return self.real(name, globals, locals, fromlist, level)
        try:
            module = self.real(name, globals, locals, fromlist, level)
        except ImportError:
            full = self._absolute(name, globals or {}, level)
            if self._optional() or (full.startswith("vllm") and not COMPILED.match(full)):
                raise
            module = self._invent(full, bool(fromlist))
        except Exception:
            if name.startswith("vllm") or level or self._optional():
                raise
            module = self._invent(name, bool(fromlist))
        top = getattr(module, "__name__", "vllm")
        if fromlist and (not top.startswith("vllm") or isinstance(module, StandInModule)):
            for item in fromlist:
                if item == "*" or self._has(module, item):
                    continue
                try:
                    self.real(f"{top}.{item}", None, None, ("x",), 0)
                except Exception:
                    if self._optional():
                        break
                    setattr(module, item, stand_in(item))
        return module

    def by_name(self, name: str, package: str | None = None) -> Any:
        try:
            return self.real_by_name(name, package)
        except ImportError:
            importer = sys._getframe(1).f_globals.get("__name__", "")
            if not importer.startswith("vllm") or name.startswith((".", "vllm")) or self._optional():
                raise
            return self._invent(name, True)

    @staticmethod
    def _has(module: Any, name: str) -> bool:
        try:
            return hasattr(module, name)
        except Exception:  # a lazy module whose own requirements are missing
            return False

    @staticmethod
    def _absolute(name: str, namespace: dict[str, Any], level: int) -> str:
        if not level:
            return name
        package = namespace.get("__package__") or namespace.get("__name__", "").rpartition(".")[0]
        return ".".join([*package.split(".")[: len(package.split(".")) - level + 1], name]).rstrip(".")

    @staticmethod
    def _invent(name: str, leaf: bool) -> Any:
        parts = name.split(".")
        for i in range(1, len(parts) + 1):
            path = ".".join(parts[:i])
            if path not in sys.modules:
                sys.modules[path] = StandInModule(path)
            if i > 1:
                setattr(sys.modules[".".join(parts[: i - 1])], parts[i - 1], sys.modules[path])
        return sys.modules[name if leaf else parts[0]]

    def _optional(self) -> bool:
        """Whether the import statement stands in a ``try`` that copes with its failure."""
        frame = sys._getframe(2)
        file = frame.f_code.co_filename
        if file not in self.guarded:
            ranges = []
            for node in ast.walk(ast.parse(pathlib.Path(file).read_text(encoding="utf-8"))):
                if isinstance(node, ast.Try) and any(not isinstance(h.body[0], ast.Raise) for h in node.handlers):
                    ranges.append((node.lineno, node.body[-1].end_lineno or node.lineno))
            self.guarded[file] = ranges
        return any(start <= frame.f_lineno <= end for start, end in self.guarded[file])


def prepare(source: str) -> None:
    """Let the source tree be imported: path, quiet environment, inert kernels, an H100-like card without a driver."""
    sys.path.insert(0, source)
    os.environ.update(
        VLLM_LOGGING_LEVEL="ERROR", VLLM_PLUGINS="", VLLM_NO_USAGE_STATS="1", HF_HUB_OFFLINE="1", VLLM_TARGET_DEVICE="cuda"
    )
    real_version = importlib.metadata.version

    def version(name: str) -> str:
        try:
            return real_version(name)
        except importlib.metadata.PackageNotFoundError:
            if not sys._getframe(1).f_globals.get("__name__", "").startswith("vllm"):
                raise
            return "9.9.9"

    importlib.metadata.version = version
    import torch

    inert = ("_C", "_moe_C", "_C_cache_ops", "_C_custom_ar")
    for namespace in inert:
        setattr(torch.ops, namespace, StandInModule(f"torch.ops.{namespace}"))
    real_register = torch.library.register_fake

    def register_fake(op: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(op, str) and op.split("::")[0] in inert:
            return lambda function: function
        return real_register(op, *args, **kwargs)

    torch.library.register_fake = register_fake
    with contextlib.suppress(ImportError):  # models that this transformers already knows by itself
        from transformers import AutoConfig

        AutoConfig.register = staticmethod(lambda *args, **kwargs: None)
    lenient = LenientImport()
    builtins.__import__ = lenient
    importlib.import_module = lenient.by_name
    import vllm

    if not os.path.realpath(vllm.__file__ or "").startswith(os.path.realpath(source)):
        raise SystemExit(f"another vllm is installed: {vllm.__file__}")
    import vllm.platforms as platforms

    platforms._current_platform = _card()


def _card() -> Any:
    from vllm.platforms import cuda
    from vllm.platforms.interface import DeviceCapability

    class Card(getattr(cuda, "NonNvmlCudaPlatform", cuda.CudaPlatform)):  # type: ignore[misc]
        @classmethod
        def get_device_capability(cls, device_id: int = 0) -> Any:
            return DeviceCapability(9, 0)

        @classmethod
        def has_device_capability(cls, capability: Any, device_id: int = 0) -> bool:
            wanted = capability if isinstance(capability, tuple) else divmod(capability, 10)
            return tuple(wanted) <= (9, 0)

        @classmethod
        def get_device_name(cls, device_id: int = 0) -> str:
            return "NVIDIA H100 80GB HBM3"

        @classmethod
        def get_device_total_memory(cls, device_id: int = 0) -> int:
            return 80 * 2**30

        @classmethod
        def device_count(cls) -> int:
            return 1

        @classmethod
        def is_fully_connected(cls, device_ids: Any) -> bool:
            return True

    return Card()


# ---------------------------------------------------------------- parsers
def parser_class() -> Any:
    try:
        from vllm.utils.argparse_utils import FlexibleArgumentParser
    except ImportError:
        from vllm.utils import FlexibleArgumentParser
    return FlexibleArgumentParser


def serve_parser() -> Any:
    parser = parser_class()
    try:
        from vllm.entrypoints.cli.serve import ServeSubcommand
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("vllm.entrypoints.cli"):
            raise
    else:
        return ServeSubcommand().subparser_init(parser(prog="vllm").add_subparsers(dest="subparser"))
    # up to 0.7 the sub-commands are built inside vllm/scripts.py main()
    from vllm import scripts

    class Built(Exception):
        pass

    def stop(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise Built(self)

    real, parser.parse_args = parser.parse_args, stop
    try:
        scripts.main()
    except Built as built:
        for action in built.args[0]._actions:
            if isinstance(action, argparse._SubParsersAction):
                return action.choices["serve"]
    finally:
        parser.parse_args = real
    raise SystemExit("vllm/scripts.py builds no serve parser")


def module_parser() -> Any:
    """The parser of ``python -m vllm.entrypoints.openai.api_server``."""
    for path in LOADERS:
        try:
            make = importlib.import_module(f"vllm.{path}").make_arg_parser
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("vllm.entrypoints"):
                raise
        else:
            return make(parser_class()(prog="api_server"))
    raise SystemExit("no make_arg_parser")


# ---------------------------------------------------------------- what is written down
def plain(value: Any) -> Any:
    """A JSON value of a default or choice; what JSON has no word for becomes ``{"is": name}``."""
    if isinstance(value, enum.Enum):
        return plain(value.value) if isinstance(value.value, str | int) else value.name
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return {"is": value.__name__ if isinstance(value, type) else type(value).__name__}


class Schema:
    """The configuration classes and enumerations that option values are made of, collected on the way."""

    def __init__(self) -> None:
        self.classes: dict[str, Any] = {}
        self.enums: dict[str, dict[str, Any]] = {}

    def converter(self, function: Any) -> str:
        """The ``type=`` of an option in words: ``int``, ``optional(int)``, ``checked(json)``, ``dataclass(EPLBConfig)``."""
        if function is None:
            return "str"
        if function is json.loads:
            return "json"
        name = getattr(function, "__name__", type(function).__name__)
        cells = {}
        if getattr(function, "__closure__", None):
            cells = dict(zip(function.__code__.co_freevars, (c.cell_contents for c in function.__closure__), strict=True))
        if name in ("_optional_type", "_parse_type"):
            inner = self.converter(cells["return_type"])
            return f"{'optional' if name == '_optional_type' else 'checked'}({inner})"
        defaults = [d for d in getattr(function, "__defaults__", None) or () if callable(d)]
        if name == "parse_dataclass" or (name == "<lambda>" and defaults and isinstance(defaults[0], type)):
            self.add(defaults[0])
            how = "dataclass" if name == "parse_dataclass" and not hasattr(defaults[0], "from_cli") else "keywords"
            how = "from_cli" if name == "parse_dataclass" and hasattr(defaults[0], "from_cli") else how
            return f"{how}({defaults[0].__name__})"
        if name == "<lambda>" and defaults and hasattr(defaults[0], "__self__"):
            return self.converter(defaults[0])
        if name in ("from_cli", "from_json"):
            owner = getattr(function, "__self__", None) or getattr(
                sys.modules[function.__module__], function.__qualname__.partition(".")[0]
            )
            self.add(owner)
            return f"{name}({owner.__name__})"
        if name == "<lambda>":
            return {"a_b,c": "folded", "['A-b', 'C']": "comma_list"}.get(str(function("A-b,C")), "str")
        return str(name)

    def add(self, cls: Any) -> None:
        name = cls.__name__
        if name in self.classes:
            return
        record: dict[str, Any] = {"extra": _extra(cls), "fields": {}}
        self.classes[name] = record
        try:
            hints = typing.get_type_hints(cls, include_extras=True)
        except Exception:
            hints = {}
        before = _validated(cls)
        for field, default, kept in _fields(cls):
            hint = hints.get(field)
            shape = self.shape(hint) if hint is not None else "any"
            entry: dict[str, Any] = {"type": shape, "default": default}
            entry.update(kept)
            if field in before or "*" in before:
                entry["validator"] = before.get(field, before.get("*"))
            record["fields"][field] = entry

    def shape(self, hint: Any) -> Any:
        """A type as JSON: ``"int"``, ``["list", "int"]``, ``["union", ...]``, ``["literal", ...]``, ``["class", name]``."""
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if hint is None or hint is type(None):
            return "none"
        if origin is typing.Annotated:
            return self.shape(args[0])
        if origin is typing.Union or origin is types.UnionType:
            return ["union", *(self.shape(arg) for arg in args)]
        if origin is typing.Literal:
            return ["literal", *(plain(arg) for arg in args)]
        if origin in (list, set, frozenset, tuple):
            items = [self.shape(arg) for arg in args if arg is not ...]
            if origin is tuple and ... not in args:
                return ["tuple", *items]
            return ["list", items[0] if items else "any"]
        if origin in (dict, typing.get_origin(typing.Mapping[str, str])):
            return ["dict", *(self.shape(arg) for arg in args)]
        if isinstance(hint, type) and origin is None:
            if hint in (bool, int, float, str):
                return hint.__name__
            if issubclass(hint, enum.Enum):
                self.enums[hint.__name__] = {member: plain(value.value) for member, value in hint.__members__.items()}
                return ["enum", hint.__name__]
            if dataclasses.is_dataclass(hint) or hasattr(hint, "model_fields"):
                self.add(hint)
                return ["class", hint.__name__]
            if issubclass(hint, dict):
                return ["dict", "any", "any"]
            if issubclass(hint, list | set | tuple):
                return ["list", "any"]
            if issubclass(hint, pathlib.PurePath):
                return "path"
        return "any"


def _extra(cls: Any) -> str:
    config = getattr(cls, "__pydantic_config__", None) or getattr(cls, "model_config", None) or {}
    if not hasattr(cls, "__pydantic_fields__") and dataclasses.is_dataclass(cls):
        return "ignore" if not config else str(config.get("extra", "ignore"))
    return str(config.get("extra", "ignore"))


def _validated(cls: Any) -> dict[str, str]:
    """Fields with a validator of the class, and its mode (``before`` sees the raw value)."""
    decorators = getattr(cls, "__pydantic_decorators__", None)
    found: dict[str, str] = {}
    for decorator in getattr(decorators, "field_validators", {}).values():
        for field in decorator.info.fields:
            found[field] = decorator.info.mode if found.get(field) in (None, "after") else found[field]
    return found


def _fields(cls: Any) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Name, default and constraints of each field; fields that callers cannot set carry ``"init": false``."""
    if hasattr(cls, "model_fields") and not dataclasses.is_dataclass(cls):
        for name, info in cls.model_fields.items():
            yield name, _default(info.default, info.default_factory), _limits(info.metadata)
        return
    pydantic_fields = getattr(cls, "__pydantic_fields__", {})
    for field in dataclasses.fields(cls):
        kept: dict[str, Any] = {}
        default, factory = field.default, field.default_factory
        if type(default).__name__ == "FieldInfo":
            default, factory = default.default, default.default_factory
        info = pydantic_fields.get(field.name)
        if info is not None:
            kept.update(_limits(info.metadata))
            if info.init is False:
                kept["init"] = False
        if not field.init:
            kept["init"] = False
        yield field.name, _default(default, factory), kept


def _default(value: Any, factory: Any) -> Any:
    if factory is not None and factory is not dataclasses.MISSING:
        try:
            value = factory()
        except Exception:
            return {"is": getattr(factory, "__name__", "factory")}
    if value is dataclasses.MISSING or type(value).__name__ == "PydanticUndefinedType":
        return {"is": "required"}
    return plain(value)


def _limits(metadata: Any) -> dict[str, Any]:
    limits = {}
    for item in metadata or ():
        for name in ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length"):
            if getattr(item, name, None) is not None:
                limits[name] = plain(getattr(item, name))
    return limits


def options(parser: Any, schema: Schema) -> dict[str, dict[str, Any]]:
    """Every action of a parser by its first option string (positionals by dest), in the order of the parser."""
    deprecated = set(getattr(parser, "_deprecated", ()))
    groups = {id(action): group.title for group in parser._action_groups for action in group._group_actions}
    found: dict[str, dict[str, Any]] = {}
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            continue
        strings = list(action.option_strings)
        strings += sorted(s for s, a in parser._option_string_actions.items() if a is action and s not in strings)
        kind = type(action).__name__
        entry: dict[str, Any] = {"dest": action.dest}
        if len(strings) > 1:
            entry["flags"] = strings
        if isinstance(action, argparse.BooleanOptionalAction):
            entry["kind"] = "bool"
            off = getattr(action, "negative_option_strings", None)
            entry["off"] = sorted(off if off is not None else [s for s in strings if s.startswith("--no-")])
        elif kind in SWITCHES:
            entry["kind"] = {"_StoreTrueAction": "true", "_StoreFalseAction": "false"}.get(kind, "const")
        elif kind == "_AppendAction":
            entry["kind"] = "append"
        elif kind != "_StoreAction":
            entry["kind"] = kind
        if action.nargs not in (None, 0):
            entry["nargs"] = action.nargs
        if action.nargs != 0:
            entry["type"] = schema.converter(action.type)
        if action.choices is not None:
            entry["choices"] = [plain(choice) for choice in action.choices]
        if action.const is not None and entry.get("kind") not in ("true", "false", "bool"):
            entry["const"] = plain(action.const)
        entry["default"] = None if action.default == argparse.SUPPRESS else plain(action.default)
        if action.required and strings:
            entry["required"] = True
        words = action.help if isinstance(action.help, str) else ""
        if action in deprecated or getattr(action, "deprecated", False):
            entry["deprecated"] = True
        elif re.search(r"deprecat|will be removed|no-op|has no effect", words, re.I):
            entry["deprecated"] = "help"
        if groups.get(id(action)):
            entry["group"] = groups[id(action)]
        found[strings[0] if strings else action.dest] = entry
    return found


def both_surfaces(schema: Schema) -> dict[str, dict[str, Any]]:
    """The options of ``vllm serve``; what only one of the two start-ups has carries ``"only"``."""
    serve, module = options(serve_parser(), schema), options(module_parser(), schema)
    merged = {}
    for key, entry in serve.items():
        merged[key] = entry if key in module else {**entry, "only": "serve"}
    for key, entry in module.items():
        if key not in merged:
            merged[key] = {**entry, "only": "api_server"}
    return merged


def _settle_choices(found: dict[str, dict[str, Any]], schema: Schema) -> None:
    """A field typed as several ``Literal`` gets the choices of any one of them, by chance of hashing: take all."""
    for entry in found.values():
        for record in schema.classes.values():
            shape = record["fields"].get(entry["dest"], {}).get("type")
            if "choices" in entry and isinstance(shape, list) and shape[0] == "union":
                literals = [part[1:] for part in shape[1:] if part[0] == "literal"]
                if len(literals) > 1 and all(isinstance(c, str) for part in literals for c in part):
                    entry["choices"] = sorted({choice for part in literals for choice in part})


def environment(source: str) -> dict[str, dict[str, Any]]:
    """Names in ``vllm/envs.py`` with their declared type and default, read without running it."""
    tree = ast.parse(pathlib.Path(source, "vllm", "envs.py").read_text(encoding="utf-8"))
    declared: dict[str, dict[str, Any]] = {}
    names: list[str] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if not isinstance(target, ast.Name):
            continue
        if isinstance(node.value, ast.Dict) and "environment_variables" in target.id:
            names += [key.value for key in node.value.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
        elif isinstance(node, ast.AnnAssign) and re.fullmatch(r"[A-Z][A-Z0-9_]+", target.id):
            declared[target.id] = {
                "type": ast.unparse(node.annotation),
                "default": ast.unparse(node.value) if node.value else None,
            }
    known = dict.fromkeys([*names, *(name for name in declared if name.startswith("VLLM_"))])
    return {name: declared.get(name, {}) for name in sorted(known)}


def python_names(source: str) -> dict[str, list[str]]:
    """Keyword arguments of ``LLM()`` (read without running it), ``EngineArgs`` and ``AsyncEngineArgs``."""
    from vllm.engine.arg_utils import AsyncEngineArgs, EngineArgs

    engine = [field.name for field in dataclasses.fields(EngineArgs)]
    llm: list[str] = []
    tree = ast.parse(pathlib.Path(source, "vllm", "entrypoints", "llm.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name == "LLM":
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and part.name == "__init__":
                    llm = [arg.arg for arg in [*part.args.args[1:], *part.args.kwonlyargs]]
    return {
        "LLM": llm,
        "EngineArgs": engine,
        "AsyncEngineArgs": [field.name for field in dataclasses.fields(AsyncEngineArgs)],
    }


def open_values() -> dict[str, list[str]]:
    """Values that later code accepts for options whose parser takes any string (plug-ins may add to them)."""

    def quantization() -> Any:
        from vllm.model_executor.layers.quantization import QUANTIZATION_METHODS

        return QUANTIZATION_METHODS

    def kv_cache_dtype() -> Any:
        from vllm.config.cache import KV_CACHE_DTYPES

        return KV_CACHE_DTYPES

    def load_format() -> Any:
        from vllm.model_executor.model_loader import _LOAD_FORMAT_TO_MODEL_LOADER

        return _LOAD_FORMAT_TO_MODEL_LOADER

    def tool_call_parser() -> Any:
        try:
            from vllm.tool_parsers import ToolParserManager
        except ImportError:
            from vllm.entrypoints.openai.tool_parsers import ToolParserManager
        return _registered(ToolParserManager, "tool_parsers")

    def reasoning_parser() -> Any:
        from vllm.reasoning import ReasoningParserManager

        return _registered(ReasoningParserManager, "reasoning_parsers")

    found = {}
    for read in (quantization, kv_cache_dtype, load_format, tool_call_parser, reasoning_parser):
        with contextlib.suppress(Exception):  # a list that cannot be read is left out
            found[read.__name__] = sorted(str(name) for name in read() if name)
    return found


def _registered(manager: Any, attribute: str) -> Any:
    return manager.list_registered() if hasattr(manager, "list_registered") else getattr(manager, attribute)


def table(source: str, release: str) -> dict[str, Any]:
    prepare(source)
    schema = Schema()
    found = both_surfaces(schema)
    import vllm.config

    for name in sorted(vars(vllm.config)):
        cls = getattr(vllm.config, name)
        if isinstance(cls, type) and dataclasses.is_dataclass(cls) and name.endswith("Config"):
            schema.add(cls)
    _settle_choices(found, schema)
    return {
        "release": release,
        "options": found,
        "classes": dict(sorted(schema.classes.items())),
        "enums": dict(sorted(schema.enums.items())),
        "env": environment(source),
        "python": python_names(source),
        "values": open_values(),
    }


Converter = Callable[[str], Any]

if __name__ == "__main__":
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever vLLM prints goes to the error stream
    json.dump(table(os.path.abspath(sys.argv[1]), sys.argv[2]), out, indent=1)
    out.write("\n")
    out.flush()
    os._exit(0)
