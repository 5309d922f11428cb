"""One start of vLLM as it is written in a file: words, settings, environment and the deployment around it.

Extractors build these; nothing here knows flags, memory or rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Literal

from lint_vllm.frozen import dataclass
from lint_vllm.source import SourceFile, Span, Text

Form = Literal[
    "vllm serve",  # the `vllm serve` command
    "api_server",  # python -m vllm.entrypoints.openai.api_server (and its relatives)
    "image",  # arguments for the entry point of a container image
    "python",  # LLM(...), EngineArgs(...), AsyncEngineArgs(...)
    "config",  # vLLM's own --config YAML, found alone
    "chart",  # keys of a Helm chart or custom resource that become vLLM arguments
    "env",  # variables that a wrapper turns into vLLM arguments
    "other",  # another program that passes arguments on (lm_eval --model_args, trl vllm-serve, vllm bench ...)
]


@dataclass(frozen=True, slots=True)
class Word:
    """One argument as vLLM would receive it.

    ``content`` is the value after quoting and known expansions, with origins; ``span`` is what stands at the place of
    use, quotes included. When the word is a reference (``$LEN``) whose value is written elsewhere, ``defined`` is that
    place. ``unknown`` says why the value cannot be known; ``content`` then holds the text as written.
    """

    content: Text
    span: Span
    quote: str = ""
    unknown: str | None = None
    defined: Span | None = None
    conditional: bool = False

    @property
    def value(self) -> str:
        return self.content.value

    @property
    def value_span(self) -> Span:
        """What a person would underline: the value without its quotes, or the reference it stands behind."""
        inner = self.content.span
        return inner if self.content.value and self.span.contains(inner) else self.span

    @property
    def editable(self) -> Span | None:
        """Where the value can be rewritten in place: here, or at its only definition; ``None`` where it cannot."""
        if self.unknown is not None:
            return None
        if self.content.value and self.content.verbatim():
            return self.content.span
        if self.defined is not None and self.defined.text == self.value:
            return self.defined
        return None


def literal_word(value: str, path: str = "<arguments>") -> Word:
    """A word that stands in no file, for argument lists given by a caller."""
    text = Text.literal(value, path)
    return Word(text, Span(text.source, 0, len(text.source.text)))


@dataclass(frozen=True, slots=True)
class Setting:
    """A named value that becomes an argument: a YAML key, a keyword argument, a chart field, a wrapper's variable.

    ``name`` is the key as written (``maxModelLen``, ``max_model_len``); ``flag`` is the vLLM option it stands for, dashed
    and without leading dashes (``max-model-len``). ``value`` is ``None`` for a bare key. ``literal`` is the typed value
    where the carrier has types (YAML, Python); a wrapper's string stays a string.
    """

    name: Word
    flag: str
    value: Word | None
    literal: object = None
    conditional: bool = False
    shown: str = ""
    """The wrapper's own name for the option, where it differs from ``flag`` (``tensor-parallel-degree``)."""
    written: str = ""
    """The value as it stands in the file, where ``value`` is what the wrapper makes of it (``fp16`` for ``float16``)."""


@dataclass(frozen=True, slots=True)
class EnvVar:
    """An environment variable of the launched process. ``value`` is ``None`` when a secret or field supplies it."""

    name: Word
    value: Word | None
    span: Span
    """The whole entry (``- name: X\\n  value: y``, ``X=y``), for removal."""
    source: str = "file"
    """``file``, ``secret``, ``configmap``, ``shell``, ``env_file``."""


@dataclass(frozen=True, slots=True)
class Image:
    """A container image reference."""

    span: Span
    reference: str
    name: str
    tag: str | None
    digest: str | None
    unknown: str | None = None
    tag_span: Span | None = None


@dataclass(frozen=True, slots=True)
class Hint:
    """Something the file says about the accelerator: ``kind`` is the id of a row in data/hints.json or a plain word.

    Exactly as found, not interpreted: ``value`` is the label, instance type, product name or count.
    """

    kind: str
    value: str
    span: Span
    count: int | None = None


@dataclass(frozen=True, slots=True)
class GpuRequest:
    """How many GPUs the container, job or shell gives the process.

    ``count`` is ``None`` for "all" or an unknown value; ``resource`` is ``nvidia.com/gpu``, ``devices``, ``--gpus``,
    ``gres``, ``CUDA_VISIBLE_DEVICES`` and so on; ``nodes`` > 1 for a multi-node job (count is per node).
    """

    resource: str
    span: Span
    value_span: Span
    count: int | None = None
    raw: str = ""
    device_ids: tuple[str, ...] = ()
    nodes: int | None = None
    shared: bool = False
    repeated: tuple[Span, ...] = ()
    """Values of the same request written a second time (``requests`` beside ``limits``)."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A Kubernetes probe or compose health check; times in seconds, Kubernetes defaults filled in."""

    kind: Literal["startup", "liveness", "readiness", "healthcheck"]
    span: Span
    fields: Mapping[str, Word] = field(default_factory=lambda: MappingProxyType({}))
    path: str | None = None
    initial_delay: float = 0
    period: float = 10
    timeout: float = 1
    failure_threshold: int = 3
    incomplete: bool = False
    """Some time or threshold cannot be known (a template)."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A volume as the container sees it."""

    target: str
    span: Span
    kind: str
    """``bind``, ``volume``, ``emptyDir``, ``memory``, ``pvc``, ``hostPath``, ``configMap``, ``secret``, ``tmpfs``, ``other``."""
    source: str | None = None
    size: str | None = None
    size_span: Span | None = None
    definition: Span | None = None
    """Where the volume itself is defined (``emptyDir: {}``), when apart from the mount."""
    read_only: bool = False
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Port:
    """A port of a container. ``span`` is the mapping without quotes (``0.0.0.0:8000:8000``)."""

    span: Span
    container: int | None
    host: int | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True)
class ByteSize:
    """A size as a deployment file writes it, such as ``16Gi`` or ``8g``, in bytes."""

    span: Span
    raw: str
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Deployment:
    """What surrounds a launch in its file. Absent things are empty or ``None``; ``kind`` says which carrier it is.

    ``scope`` names the machine or pod in which several launches share devices (the same pod, compose file, job script);
    launches with an equal ``scope`` in the same file start beside each other.
    """

    kind: str
    """``compose``, ``pod``, ``docker-run``, ``slurm``, ``shell``, ``systemd``, ``helm``, ``dockerfile``, ``python``, ``other``."""
    span: Span
    """The container, service or command block; its first line stands for what is missing."""
    scope: str = ""
    name: Word | None = None
    resource_kind: str | None = None
    """``Deployment``, ``InferenceService``, ``LeaderWorkerSet`` ... for Kubernetes objects."""
    namespace: str | None = None
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Labels of the pod, by which Services select it."""
    command: tuple[Word, ...] | None = None
    """A command or entrypoint that replaces the image's entry point; ``None`` when the image's own is used."""
    args: tuple[Word, ...] = ()
    gpus: tuple[GpuRequest, ...] = ()
    shm_size: ByteSize | None = None
    ipc: Word | None = None
    mounts: tuple[Mount, ...] = ()
    mounts_complete: bool = True
    probes: tuple[Probe, ...] = ()
    ports: tuple[Port, ...] = ()
    memory_limit: ByteSize | None = None
    memory_request: ByteSize | None = None
    ephemeral_storage: ByteSize | None = None
    replicas: int | None = None
    run_as_user: Word | None = None
    run_as_non_root: Span | None = None
    read_only_root: Span | None = None
    host_network: Span | None = None
    service_links: Word | None = None
    services: tuple[Word, ...] = ()
    """Names of Kubernetes Services defined in the same file or folder."""
    runtime: Word | None = None
    container_count: int = 1
    """Containers in the same pod (side-cars included)."""
    device_claims: Span | None = None
    """Dynamic resource claims: GPU counts are then not in this file."""
    multi_node: bool = False
    """The launch is one of several cooperating nodes (LeaderWorkerSet, ``srun`` over nodes, a Ray cluster)."""
    nodes: int | None = None
    complete: bool = True
    """False when a part of the file that may say more could not be read, or a template inserts it: what is missing here proves
    nothing."""
    env_complete: bool = True
    """False when variables may come from elsewhere (``envFrom``, an ``env_file`` that could not be read)."""
    profiles: tuple[str, ...] = ()
    """Compose profiles: services of different profiles need not run together."""
    waits_for_health: bool = False
    """Starts only after another service is healthy (compose ``depends_on`` with ``service_healthy``)."""
    edit_points: Mapping[str, Span] = field(default_factory=lambda: MappingProxyType({}))
    """Named places where a fix may insert text. ``env``, ``args``, ``volumes``, ``volumeMounts``, ``ports``: the last item, to write
    another one behind it. ``container``, ``pod_spec``: the empty place before the first key; its column is the indentation.
    ``resources``: the entry as it stands."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One start of vLLM. ``words`` are the arguments after the program (the model included), in order.

    ``settings`` are named values that stand below the words: a launch from a chart or from Python has only these, and
    ``vllm serve --config serve.yaml`` has those of the file that could be followed.
    """

    source: SourceFile
    form: Form
    site: str
    """For people: ``services.llm.command``, ``line 12``, ``Deployment/llm containers[0]``."""
    command: Span
    """The command word itself: ``vllm serve``, the image name, ``LLM``, or the first key of a list of arguments."""
    block: Span
    """From where the enclosing block starts to its end."""
    words: tuple[Word, ...] = ()
    settings: tuple[Setting, ...] = ()
    env: Mapping[str, EnvVar] = field(default_factory=lambda: MappingProxyType({}))
    image: Image | None = None
    hints: tuple[Hint, ...] = ()
    deployment: Deployment | None = None
    wrapper: str | None = None
    """The program whose fields these are (``production-stack``, ``ray-serve``, ``lm_eval``); ``None`` for vLLM itself."""
    unresolved: tuple[str, ...] = ()
    """Reasons why some arguments may be missing (``"$@" is not known``)."""
    python_callable: str | None = None
    """``LLM``, ``EngineArgs``, ``AsyncEngineArgs`` for the python form."""
    pins: tuple[Hint, ...] = ()
    """Release pins seen in the file, such as ``pip install vllm==0.9.1``."""
    passage: str = "code"
    """``code`` for a file that runs; ``doc`` for a fence in Markdown, reStructuredText or a notebook's text."""
    doubled_entrypoint: tuple[Word, ...] = ()
    """Words of a command repeated after an image whose entry point already runs it (``vllm serve``), in order."""
    lost: tuple[Word, ...] = ()
    """Flags that look like they were meant for this launch but never reach it (cut off by a comment in a continuation)."""
    lost_reason: str = ""
    cut: Word | None = None
    """A JSON value of this launch of which only the first line is read: its carrier ends a value with the line."""

    @property
    def path(self) -> str:
        return self.source.path
