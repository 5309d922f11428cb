"""The form of a settings file, and the sentence a user reads when theirs differs. Loaded only when there is such a file."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from lint_vllm.settings import Settings, SettingsError, Stated, Table, dashed, is_release

Level = Literal["info", "warning", "error"]
RuleName = Annotated[str, StringConstraints(min_length=1)]
Positive = Annotated[int, Field(gt=0)]


def _release(text: str) -> str:
    if not is_release(text):
        raise ValueError(f"{text} is not a release such as 0.33.0")
    return text


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=dashed, strict=True)


class WorkloadModel(_Strict):
    """What the server must carry."""

    concurrency: Positive | None = Field(default=None, description="requests served at the same time")
    context_tokens: Positive | None = Field(default=None, description="tokens of one request, prompt plus output, p99")
    context_tokens_p50: Positive | None = Field(default=None, description="the same, median")
    output_tokens: Positive | None = Field(default=None, description="tokens generated for one request")
    task: str | None = Field(default=None, description="chat, code, maths, rag ...")


class TableModel(_Strict):
    """Keys of the top level that per-path tables share."""

    gpu: str | None = Field(default=None, description="accelerator: a card, an alias or a family name")
    gpu_count: Positive | None = Field(default=None, description="GPUs a launch can use")
    gpu_memory_gib: Annotated[float, Field(gt=0, strict=False, allow_inf_nan=False)] | None = Field(
        default=None, description="memory of one GPU as CUDA reports it, GiB"
    )
    vllm_version: Annotated[str, AfterValidator(_release)] | None = Field(
        default=None, description="the vLLM release that runs where no file says so"
    )
    workload: WorkloadModel = WorkloadModel()
    select: list[RuleName] | None = Field(default=None, description="rules to run: codes, names or families; all when left out")
    extend_select: list[RuleName] = Field(default=[], description="rules to run besides the selected ones")
    ignore: list[RuleName] = Field(default=[], description="rules not to run")
    severity: dict[RuleName, Level] = Field(default={}, description="rule -> severity")
    profile: Literal["default", "strict"] | None = Field(default=None, description="strict adds opinionated rules")
    docs: Literal["arguments", "all", "none"] | None = Field(
        default=None, description="which rules judge launches in documentation: those on arguments, all, or none"
    )
    models: dict[str, str | dict[str, Any]] = Field(
        default={}, description="model id -> path of its config.json, or a table of its keys"
    )
    options: dict[RuleName, dict[str, Any]] = Field(default={}, description="rule -> options of that rule")


class SettingsModel(TableModel):
    """Settings of lint-vllm."""

    exclude: list[str] = Field(default=[], description="globs of files never linted, named or not")
    fail_on: Level | None = Field(default=None, description="lowest severity that makes the exit code 1 (default: warning)")
    baseline: str | None = Field(default=None, description="file of accepted findings")
    inline_ignores: bool = Field(default=True, description="false: ignore comments have no effect")
    per_path: dict[str, TableModel] = Field(default={}, description="glob -> settings for the files it matches")


def validate(raw: object, path: Path) -> Settings:
    """The settings of a parsed file. Raises :class:`SettingsError` with one line for each mistake."""
    try:
        model = SettingsModel.model_validate(raw)
    except ValidationError as error:
        raise SettingsError("\n".join(f"{path}: {line}" for line in _sentences(error))) from None
    root = path.parent
    return Settings(
        root=root,
        file=path,
        top=_table(model, root),
        per_path=tuple((pattern, _table(entry, root)) for pattern, entry in model.per_path.items()),
        exclude=tuple(model.exclude),
        fail_on=model.fail_on,
        baseline=model.baseline,
        inline_ignores=model.inline_ignores,
    )


def _table(model: TableModel, root: Path) -> Table:
    load = model.workload
    return Table(
        facts=Stated(
            gpu=model.gpu,
            gpu_count=model.gpu_count,
            gpu_memory_gib=model.gpu_memory_gib,
            vllm_version=model.vllm_version,
            concurrency=load.concurrency,
            context_tokens=load.context_tokens,
            context_tokens_p50=load.context_tokens_p50,
            output_tokens=load.output_tokens,
            task=load.task,
            models=model.models,
            root=root,
        ),
        select=None if model.select is None else tuple(model.select),
        extend_select=tuple(model.extend_select),
        ignore=tuple(model.ignore),
        severity=model.severity,
        profile=model.profile,
        docs=model.docs,
        options=model.options,
    )


def _sentences(error: ValidationError) -> Iterator[str]:
    for item in error.errors(include_url=False):
        where = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            yield f"unknown key `{where}`{_suggestion(item['loc'])}"
        else:
            message = item["msg"][:1].lower() + item["msg"][1:]
            yield f"`{where}`: {message}" if where else message


def _suggestion(location: tuple[int | str, ...]) -> str:
    key = str(location[-1])
    model: type[BaseModel] = SettingsModel
    if location[0] == "per-path" and len(location) > 2:
        model = TableModel
    if "workload" in location[:-1]:
        model = WorkloadModel
    known = [dashed(name) for name in model.model_fields]
    near = difflib.get_close_matches(key.replace("_", "-"), known, n=1, cutoff=0.6)
    return f"; did you mean `{near[0]}`?" if near else f"; known keys: {', '.join(sorted(known))}"


def json_schema(options: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The JSON schema of ``.lint-vllm.toml``; ``options`` maps a rule code to the schema of its options."""
    schema = SettingsModel.model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "lint-vllm"
    for table in (schema, schema["$defs"]["TableModel"]):
        table["properties"]["options"] = {
            "description": "rule -> options of that rule",
            "type": "object",
            "properties": dict(options),
            "additionalProperties": {"type": "object"},
        }
    return schema
