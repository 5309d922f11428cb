"""The argument list of one process: which launch of vLLM it is, if any, seen through everything that only passes it on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from lint_vllm.extract.containers import image_of, image_role, is_passed_on, parse_image, read_container_options
from lint_vllm.extract.context import MAX_DEPTH, Context
from lint_vllm.extract.overrides import rollout_settings
from lint_vllm.extract.shell_values import Piece, Script, ShellWord, names, part, pieces_of, word_of
from lint_vllm.frozen import dataclass
from lint_vllm.launch import Deployment, EnvVar, Form, GpuRequest, Hint, Image, Launch, Setting, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import Span, Text

__all__ = ["image_launch", "launch_of", "parse_image", "recognise"]

_MAX_PREFIXES = 24


@dataclass(frozen=True, slots=True)
class _Prefix:
    """How a program that starts another one writes its own part of the line."""

    valued: frozenset[str] = frozenset()
    """Options that take the next word."""
    subcommands: frozenset[str] = frozenset()
    """One of these must come first."""
    positionals: int = 0
    dashes: bool = False
    """The command stands behind ``--`` when there is one."""
    assignments: bool = False
    script: bool = False
    """What follows is Python: a script, or ``-m module``."""


_SLURM_VALUED = names(
    "-A -a -B -b -C -c -D -d -e -G -I -i -J -K -L -M -m -N -n -o -p -q -r -S -T -t -W -w -x --account --array --bcast --chdir "
    "--clusters --comment --constraint --container-image --container-mounts --container-name --container-workdir "
    "--container-env --cpu-bind --cpus-per-gpu --cpus-per-task --dependency --distribution --error --exclude --export "
    "--gpu-bind --gpus --gpus-per-node --gpus-per-socket --gpus-per-task --gres --gres-flags --hint --input --job-name --jobid "
    "--kill-on-bad-exit --label --mem --mem-bind --mem-per-cpu --mem-per-gpu --mpi --network --nodefile --nodelist --nodes "
    "--ntasks --ntasks-per-core --ntasks-per-gpu --ntasks-per-node --ntasks-per-socket --open-mode --output --partition "
    "--qos --relative --reservation --signal --time --wait --wckey"
)
_TORCH_VALUED = names(
    "--nnodes --nproc-per-node --nproc_per_node --node-rank --node_rank --master-addr --master_addr --master-port --master_port "
    "--rdzv-backend --rdzv_backend --rdzv-endpoint --rdzv_endpoint --rdzv-id --rdzv_id --num-processes --num_processes "
    "--num-machines --num_machines --machine-rank --machine_rank --main-process-port --main_process_port --main-process-ip "
    "--main_process_ip --config-file --config_file --mixed-precision --mixed_precision --gpu-ids --gpu_ids --include --exclude "
    "--hostfile --num_gpus --num_nodes"
)
_MPI_VALUED = names(
    "-np -n -N -c -H -host --host --hostfile -hostfile -machinefile --machinefile -x --map-by --bind-to --rank-by -wdir --wdir "
    "-ppn -f -hosts -genvlist --timeout"
)
_PREFIXES: Mapping[str, _Prefix] = MappingProxyType(
    {
        **dict.fromkeys(("command", "nohup", "setsid", "unbuffer", "catchsegv", "xvfb-run", "dumb-init", "catatonit"), _Prefix()),
        **dict.fromkeys(("with-contenv", "chronic", "builtin", "busybox", "rlwrap", "eatmydata"), _Prefix()),
        "exec": _Prefix(names("-a")),
        "time": _Prefix(names("-f -o --format --output")),
        "nice": _Prefix(names("-n --adjustment")),
        "ionice": _Prefix(names("-c -n --class --classdata")),
        "stdbuf": _Prefix(names("-i -o -e --input --output --error")),
        "timeout": _Prefix(names("-k -s --signal --kill-after"), positionals=1),
        "numactl": _Prefix(names("-N -m -C -i -p --cpunodebind --membind --physcpubind --interleave --preferred")),
        "taskset": _Prefix(positionals=1),
        "chrt": _Prefix(positionals=1),
        "flock": _Prefix(names("-w -E --wait --timeout"), positionals=1),
        "caffeinate": _Prefix(names("-t -w")),
        "systemd-cat": _Prefix(names("-t -p --identifier --priority")),
        "systemd-run": _Prefix(
            names("-u -p -E -M --unit --property --setenv --uid --gid --slice --description --working-directory")
        ),
        "tini": _Prefix(names("-p -e")),
        "docker-init": _Prefix(),
        "gosu": _Prefix(positionals=1),
        "su-exec": _Prefix(positionals=1),
        "s6-setuidgid": _Prefix(positionals=1),
        "chroot": _Prefix(positionals=1),
        "setpriv": _Prefix(names("--reuid --regid --groups")),
        "sudo": _Prefix(names("-u -g -h -p -C -r -t -U -D -R -T --user --group --host --prompt --chdir"), assignments=True),
        "doas": _Prefix(names("-u -C")),
        "strace": _Prefix(names("-o -e -p -s -u -P -E")),
        "gdb": _Prefix(names("-ex -x")),
        "nsys": _Prefix(
            names(
                "-o -t -s -f -w -c -d -y -e -b --output --trace --sample --force-overwrite --capture-range --capture-range-end "
                "--delay --duration --backtrace --cuda-graph-trace --session-new --kill --stats --export --trace-fork-before-exec "
                "--cudabacktrace --gpu-metrics-device"
            ),
            frozenset({"profile", "launch", "start"}),
        ),
        "ncu": _Prefix(
            names("-o -k -c -s --export --set --section --metrics --kernel-name --launch-count --launch-skip --target-processes")
        ),
        "rocprof": _Prefix(names("-i -o -d")),
        "rocprofv3": _Prefix(dashes=True),
        "rocprof-sys-run": _Prefix(dashes=True),
        "perf": _Prefix(names("-o -e -F -p -g -c"), frozenset({"record", "stat"})),
        "py-spy": _Prefix(names("-o -f -r -d --output --format --rate --duration"), frozenset({"record"}), dashes=True),
        "memray": _Prefix(names("-o --output"), frozenset({"run"}), script=True),
        "coverage": _Prefix(names("--source --rcfile --omit --include"), frozenset({"run"}), script=True),
        "viztracer": _Prefix(names("-o --output_file"), script=True),
        "srun": _Prefix(_SLURM_VALUED),
        "mpirun": _Prefix(_MPI_VALUED),
        "mpiexec": _Prefix(_MPI_VALUED),
        "orterun": _Prefix(_MPI_VALUED),
        "torchrun": _Prefix(_TORCH_VALUED, script=True),
        "torchx": _Prefix(dashes=True),
        "deepspeed": _Prefix(_TORCH_VALUED, script=True),
        "accelerate": _Prefix(_TORCH_VALUED, frozenset({"launch"}), script=True),
        "conda": _Prefix(names("-n -p --name --prefix --cwd"), frozenset({"run"})),
        "mamba": _Prefix(names("-n -p --name --prefix --cwd"), frozenset({"run"})),
        "micromamba": _Prefix(names("-n -p -r --name --prefix --cwd --root-prefix"), frozenset({"run"})),
        "poetry": _Prefix(names("-C --directory --project"), frozenset({"run"})),
        "pdm": _Prefix(names("-p --project"), frozenset({"run"})),
        "rye": _Prefix(names("--pyproject"), frozenset({"run"})),
        "pipenv": _Prefix(frozenset(), frozenset({"run"})),
        "hatch": _Prefix(names("-e --env"), frozenset({"run"})),
        "pixi": _Prefix(names("-e --environment --manifest-path"), frozenset({"run"})),
        "devbox": _Prefix(names("-c --config"), frozenset({"run"})),
        "direnv": _Prefix(frozenset(), frozenset({"exec"}), positionals=1),
        "dotenv": _Prefix(names("-f -e -p"), frozenset({"run"})),
        **dict.fromkeys(("op", "doppler", "infisical", "mise", "aws-vault", "chamber", "teller"), _Prefix(dashes=True)),
        **dict.fromkeys(("runai", "pct", "lxc", "incus", "kubectl-exec", "sky", "dagger", "teamcity"), _Prefix(dashes=True)),
    }
)
_SHELLS = names("bash sh zsh dash ash ksh")
_CONTAINERS = names("docker podman nerdctl finch nvidia-docker docker.io")
_SINGULARITY = names("singularity apptainer")
_PYTHON = pattern(r"(?:python|pypy)(?:\d+(?:\.\d+)*)?t?(?:\.exe)?")
_SILENT = names(
    "echo printf grep egrep fgrep rg ag ack pkill pgrep kill killall which type whereis hash man info help cat less head tail "
    "sed awk gawk cut tr ps top htop test [ [[ true false : alias unalias export declare local readonly typeset unset curl wget "
    "git log warn warning error die fail note step ok debug say print println puts notify-send logger jq yq find ls rm cp mv "
    "mkdir touch chmod chown tee diff apt apt-get yum dnf brew pip pip3 npm complete compgen trap vllm-bench dpkg rpm lsof fuser"
)
"""Programs that never start what their words name."""

_MODULES: Mapping[str, tuple[Form, str | None]] = MappingProxyType(
    {
        "vllm.entrypoints.openai.api_server": ("api_server", None),
        "vllm.entrypoints.api_server": ("api_server", None),
        "vllm.entrypoints.grpc_server": ("api_server", None),
        "vllm.entrypoints.openai.run_batch": ("other", None),
        "vllm_omni.entrypoints.openai.api_server": ("api_server", None),
        "lmcache_vllm.vllm.entrypoints.openai.api_server": ("other", "lmcache_vllm"),
        "dynamo.vllm": ("other", "dynamo"),
        "trl.scripts.vllm_serve": ("other", "trl"),
    }
)
_COMMAND_MODULES = names("vllm vllm.entrypoints.cli.main vllm.scripts vllm.entrypoints.cli")
_LAUNCHER_MODULES = names("torch.distributed.run torch.distributed.launch accelerate.commands.launch")
_PAIR_PROGRAMS = names("lm_eval lm-eval lm_eval.__main__")


def recognise(words: Sequence[Word], context: Context) -> list[Launch]:
    """The launches that an argument list starts: none, one, or those of the script it holds.

    ``words`` is the whole argv, the program first. Everything that only passes a command on is seen through (``exec``, ``srun``,
    ``uv run``, ``bash -c``, ``docker run`` ...), with its environment, image and devices.
    """
    kept = [w for w in words if w.value or w.quote or w.unknown]
    if not kept or context.depth > MAX_DEPTH:
        return []
    extent = kept[0].span.to(kept[-1].span)
    if extent.end < extent.start or extent.source is not context.source:
        extent = next((w.span for w in kept if w.span.source is context.source), kept[0].span)
    return _Command(extent).read(tuple(kept), context)


def launch_of(
    form: Form,
    command: Span,
    words: Sequence[Word],
    context: Context,
    extent: Span,
    *,
    wrapper: str | None = None,
    settings: tuple[Setting, ...] = (),
) -> Launch:
    """A launch inside its surroundings."""
    block = context.block or extent
    deployment = context.deployment or Deployment("shell", block)
    deployment = replace(deployment, gpus=(*deployment.gpus, *_visible_devices(context.env)))
    unresolved = tuple(dict.fromkeys(reason for at, w in enumerate(words) if (reason := _may_add(words, at, w)) is not None))
    return Launch(
        source=context.source,
        form=form,
        site=context.site or f"line {command.line}",
        command=command,
        block=block,
        words=tuple(words),
        settings=settings,
        env=context.env,
        image=context.image,
        hints=context.hints,
        deployment=deployment,
        wrapper=wrapper,
        unresolved=unresolved,
        passage=context.passage,
    )


def _may_add(words: Sequence[Word], at: int, word: Word) -> str | None:
    """Why an unknown word may stand for further arguments, rather than for the model or one value."""
    if not isinstance(word, ShellWord) or not word.spreads or not word.unknown or len(word.pieces) > 1:
        return None
    before = words[at - 1].value if at else ""
    if "@" not in word.value and "*" not in word.value and (at == 0 or (before.startswith("-") and "=" not in before)):
        return None
    return word.unknown


_VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES")


def _visible_devices(env: Mapping[str, EnvVar]) -> tuple[GpuRequest, ...]:
    for name in _VISIBLE:
        variable = env.get(name)
        if variable is None:
            continue
        value = variable.value
        if value is None or value.unknown or not value.value.strip():
            return ()
        ids = tuple(part for part in re.split(r"[,\s]+", value.value.strip()) if part)
        return (GpuRequest(name, variable.span, value.span, len(ids), value.value, ids),)
    return ()


def image_launch(words: Sequence[Word], image: Image, context: Context) -> Launch | None:
    """A launch by the entry point of an image that gets these words, or ``None`` when it starts no vLLM server.

    Words that repeat the entry point (``vllm serve ...`` after ``vllm/vllm-openai``) are in ``doubled_entrypoint``.
    """
    kept = [w for w in words if w.value or w.quote or w.unknown]
    found = _image_launches(tuple(kept), image, context, image.span)
    return found[0] if found else None


def _image_launches(words: tuple[Word, ...], image: Image, context: Context, extent: Span) -> list[Launch]:
    inside = context if context.image is not None else replace(context, image=image)
    role = image_role(image)
    if role == "other" or not words or _is_placeholder(words[0]):
        return []
    if role != "command" and is_passed_on(words, image, sure=role == "server") and not _asks_for_help(words):
        return [launch_of("image", image.span, words, inside, extent)]
    found = _Command(extent).read(words, inside)
    if role == "server" and not found and words and words[0].value == "serve" and not _asks_for_help(words):
        found = [launch_of("image", image.span, words[1:], inside, extent)]
    if role == "server":
        doubled = _doubled(words)
        found = [replace(f, form="image" if f.form == "vllm serve" else f.form, doubled_entrypoint=doubled) for f in found]
    return found


def _is_placeholder(word: Word) -> bool:
    """``<args...>``, ``[OPTIONS]``: a document's way to say that arguments may follow."""
    return re.fullmatch(
        r"[<\[(]?(?:\.{3}|.*(?:args|options|flags|arguments|parameters).*)[>\])]?", word.value, re.IGNORECASE
    ) is not None and (not word.value.startswith(("-", "$")))


def _doubled(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The leading words that start a program, where arguments were due."""
    name = _program(words[0]) if words else ""
    count = 1
    if name in _SHELLS:
        while count < len(words) and words[count].value.startswith("-"):
            count += 1
    elif (name == "vllm" and len(words) > 1 and words[1].value == "serve") or (
        words[:1] and _PYTHON.fullmatch(name) and len(words) > 1
    ):
        count = 3 if _PYTHON.fullmatch(name) else 2
    return words[:count]


def _program(word: Word) -> str:
    """The name of a program: the last part of its path, empty when not known."""
    if word.unknown:
        tail = re.search(r"/([\w.-]+)$", word.value)
        return tail.group(1) if tail else ""
    return word.value.rsplit("/", 1)[-1]


def _asks_for_help(words: Sequence[Word]) -> bool:
    return any(w.value in ("--help", "-h", "--version", "-v") or w.value.startswith("--help=") for w in words)


class _Command:
    """Reads one command line; ``extent`` is its place from the first word to the last."""

    def __init__(self, extent: Span) -> None:
        self.extent = extent

    def read(self, words: tuple[Word, ...], context: Context) -> list[Launch]:
        for _ in range(_MAX_PREFIXES):
            if not words:
                return []
            found = self._step(words, context)
            if isinstance(found, list):
                return found
            words, context = found
        return []

    def _step(self, words: tuple[Word, ...], context: Context) -> list[Launch] | tuple[tuple[Word, ...], Context]:
        name = _program(words[0])
        rest = words[1:]
        if name == "vllm" or self._is_vllm_variable(words):
            return self._vllm(words, context)
        if name in _SILENT:
            return []
        module = self._module(words)
        if module is not None:
            return self._python_module(words, module, context)
        if name in _SHELLS:
            return self._shell(words, context)
        if name in _HANDLERS:
            return _HANDLERS[name](self, words, context)
        prefix = _PREFIXES.get(name)
        if prefix is not None:
            return self._passed(words, prefix, name, context)
        if name in _CONTAINERS:
            return self._container(words, context)
        if name in _PAIR_PROGRAMS:
            return self._pairs(words, context)
        if _PYTHON.fullmatch(name):
            return self._python_script(rest, context)
        if name.endswith("/entrypoints/openai/api_server.py") or words[0].value.endswith("vllm/entrypoints/openai/api_server.py"):
            return self._server("api_server", words[0].span, rest, context)
        return self._passed_through(words, context)

    def _server(
        self, form: Form, command: Span, words: tuple[Word, ...], context: Context, wrapper: str | None = None
    ) -> list[Launch]:
        dots = tuple(w for w in words if w.value in ("...", "\u2026"))
        words = tuple(w for w in words if w not in dots)
        if _asks_for_help(words) or (not words and (dots or context.passage == "doc")):
            return []
        launch = launch_of(form, command, words, context, self.extent, wrapper=wrapper)
        return [replace(launch, unresolved=(*launch.unresolved, "... stands for more arguments")) if dots else launch]

    # vLLM's own commands

    def _is_vllm_variable(self, words: tuple[Word, ...]) -> bool:
        """``"$VLLM_BIN" serve ...``: a program that is not known but says vllm, followed by a subcommand."""
        if len(words) < 2 or words[1].value not in ("serve", "bench"):
            return False
        return bool(words[0].unknown) and re.fullmatch(r"\$\{?\w*vllm\w*\}?", words[0].value, re.IGNORECASE) is not None

    def _vllm(self, words: tuple[Word, ...], context: Context) -> list[Launch]:
        if len(words) < 2:
            return []
        command = words[0].span.to(words[1].span)
        verb = words[1].value
        if verb == "serve":
            return self._server("vllm serve", command, words[2:], context)
        if verb == "bench" and len(words) > 2 and words[2].value in ("throughput", "latency", "startup"):
            return self._server("other", command.to(words[2].span), words[3:], context)
        if verb == "run-batch":
            return self._server("other", command, words[2:], context)
        return []

    def _module(self, words: tuple[Word, ...]) -> int | None:
        """Index of the module of ``ANYTHING -m module`` when it is one of ours or a launcher."""
        for index in range(1, min(len(words) - 1, 12)):
            word = words[index]
            if word.value == "-m" and not word.unknown:
                name = words[index + 1].value
                if (
                    name in _MODULES
                    or name in _COMMAND_MODULES
                    or name in _LAUNCHER_MODULES
                    or name.split(".")[0] in _PAIR_PROGRAMS
                ):
                    first = _program(words[0])
                    is_python = bool(_PYTHON.fullmatch(first)) or not first or bool(words[0].unknown)
                    return (
                        index + 1
                        if is_python or (name in _MODULES and first not in _PREFIXES and first not in _CONTAINERS)
                        else None
                    )
                return None
            if not word.value.startswith("-"):
                return None
        return None

    def _python_module(
        self, words: tuple[Word, ...], index: int, context: Context
    ) -> list[Launch] | tuple[tuple[Word, ...], Context]:
        name = words[index].value
        rest = words[index + 1 :]
        command = words[index - 1].span.to(words[index].span)
        if name in _MODULES:
            form, wrapper = _MODULES[name]
            return self._server(form, command, rest, context, wrapper)
        if name in _LAUNCHER_MODULES:
            return self._python_script(self._behind(rest, _Prefix(_TORCH_VALUED), context)[0], context)
        if name.split(".")[0] in _PAIR_PROGRAMS:
            return self._pairs(words[index:], context)
        return self._vllm(words[index:], context)

    def _python_script(self, rest: tuple[Word, ...], context: Context) -> list[Launch] | tuple[tuple[Word, ...], Context]:
        """What follows ``python``: options, then a script or module."""
        at = 0
        while at < len(rest) and rest[at].value.startswith("-") and rest[at].value not in ("-m", "-c", "-"):
            at += 2 if rest[at].value in ("-W", "-X") else 1
        if at >= len(rest):
            return []
        script = rest[at].value
        named = at + 1 if script == "-m" and at + 1 < len(rest) else at
        rollout = rollout_settings(rest[named].value, rest[named + 1 :])
        if rollout is not None:
            wrapper, settings, first = rollout
            return [launch_of("other", first.span, (), context, self.extent, wrapper=wrapper, settings=settings)]
        if script == "-m" and at + 1 < len(rest):
            line = (_renamed(rest[at], "python"), *rest[at:])
            module = self._module(line)
            return self._python_module(line, module, context) if module is not None else []
        if script.endswith("vllm/entrypoints/openai/api_server.py"):
            return self._server("api_server", rest[at].span, rest[at + 1 :], context)
        if script.rsplit("/", 1)[-1] in ("vllm", "lm_eval", "trl"):
            return rest[at:], context
        return []

    # Programs that start another

    def _passed(
        self, words: tuple[Word, ...], prefix: _Prefix, name: str, context: Context
    ) -> list[Launch] | tuple[tuple[Word, ...], Context]:
        rest = words[1:]
        if prefix.subcommands:
            at = 0
            while at < len(rest) and rest[at].value not in prefix.subcommands:
                if not rest[at].value.startswith("-"):
                    return []
                at += 2 if rest[at].value in prefix.valued else 1
            rest = rest[at + 1 :]
        options, (rest, context) = rest, self._behind(rest, prefix, context)
        if name == "srun":
            context = _srun_context(options[: len(options) - len(rest)], context)
        if prefix.script and rest and not _PYTHON.fullmatch(_program(rest[0])):
            if rest[0].value == "-m" or rest[0].value == "--module":
                return self._python_script((_renamed(rest[0], "-m"), *rest[1:]), context)
            return self._python_script(rest, context) or (
                rest if _program(rest[0]) in ("vllm", "lm_eval", "lm-eval") else (),
                context,
            )
        return rest, context

    def _behind(self, rest: tuple[Word, ...], prefix: _Prefix, context: Context) -> tuple[tuple[Word, ...], Context]:
        """The words behind a prefix's own options and positionals."""
        if prefix.dashes:
            at = next((i for i, w in enumerate(rest) if w.value == "--"), -1)
            if at >= 0:
                return rest[at + 1 :], context
        at, positionals = 0, prefix.positionals
        env: dict[str, EnvVar] = {}
        while at < len(rest):
            word = rest[at]
            value = word.value
            if value == "--":
                at += 1
                break
            if (value.startswith("-") and len(value) > 1 and not word.unknown) or value.startswith("--"):
                if value in ("-mca", "--mca", "-genv"):
                    at += 3
                elif value in ("-m", "--module") and prefix.script:
                    break
                else:
                    at += 2 if value in prefix.valued else 1
            elif prefix.assignments and (variable := assignment(word)) is not None:
                env[variable.name.value] = variable
                at += 1
            elif isinstance(word, ShellWord) and word.spreads and at + 1 < len(rest) and not self._goes_on(rest[at + 1]):
                at += 1
            elif positionals:
                positionals -= 1
                at += 1
            else:
                break
        while positionals and at < len(rest):
            positionals -= 1
            at += 1
        return rest[at:], with_env(context, env) if env else context

    def _goes_on(self, following: Word) -> bool:
        """Whether a word can only stand behind a program, so that the unknown word before it is the program."""
        return following.value in ("-m", "serve", "bench")

    def _env(self, words: tuple[Word, ...], context: Context) -> list[Launch] | tuple[tuple[Word, ...], Context]:
        env: dict[str, EnvVar] = {}
        at = 1
        while at < len(words):
            value = words[at].value
            if value in ("-S", "--split-string") and at + 1 < len(words):
                return self._script_of(words[at + 1 : at + 2], with_env(context, env))
            if value in ("-u", "--unset", "-C", "--chdir"):
                at += 2
            elif value == "-" or value.startswith("-"):
                at += 1
            elif (variable := assignment(words[at])) is not None:
                env[variable.name.value] = variable
                at += 1
            elif isinstance(words[at], ShellWord) and words[at].spreads and at + 1 < len(words):  # type: ignore[attr-defined]
                if self._goes_on(words[at + 1]):
                    break
                at += 1
            else:
                break
        return words[at:], with_env(context, env)

    def _uv(self, words: tuple[Word, ...], context: Context) -> list[Launch] | tuple[tuple[Word, ...], Context]:
        """``uv run``, ``uv tool run``, ``uvx``, ``pipx run``: they may name the release (``--with vllm==0.9.1``)."""
        valued = names(
            "--with --with-editable --with-requirements --from --python -p --extra --group --only-group --package --project "
            "--directory --env-file --index --index-url --extra-index-url --find-links --torch-backend --spec --refresh-package -w"
        )
        at = 1
        if _program(words[0]) != "uvx":
            while at < len(words) and words[at].value != "run":
                if words[at].value not in ("tool",) and not words[at].value.startswith("-"):
                    return []
                at += 2 if words[at].value in valued else 1
            at += 1
        hints = list(context.hints)
        while at < len(words) and words[at].value.startswith("-"):
            value = words[at].value
            if value == "--":
                at += 1
                break
            if value == "-m" or value == "--module":
                return (_renamed(words[at], "python"), _renamed(words[at], "-m"), *words[at + 1 :]), replace(
                    context, hints=tuple(hints)
                )
            requirement: Word | None = None
            if value in ("--with", "--from", "--spec", "-w") and at + 1 < len(words):
                requirement = words[at + 1]
            elif value.startswith(("--with=", "--from=", "--spec=")):
                requirement = part(words[at], value.index("=") + 1)
            if requirement is not None and (pin := pin_of(requirement)) is not None:
                hints.append(pin)
            at += 2 if value in valued else 1
        context = replace(context, hints=tuple(hints))
        rest = words[at:]
        if rest and (pin := pin_of(_renamed_at(rest[0]))) is not None:
            # uvx vllm@0.9.1 serve ...
            return (_renamed(rest[0], "vllm"), *rest[1:]), replace(context, hints=(*context.hints, pin))
        return rest, context

    def _shell(self, words: tuple[Word, ...], context: Context) -> list[Launch]:
        at = 1
        inline = False
        while at < len(words):
            value = words[at].value
            if value in ("-o", "+o", "-O", "--rcfile", "--init-file"):
                at += 2
            elif value.startswith("--"):
                at += 1
            elif value.startswith(("-", "+")) and len(value) > 1:
                inline = inline or "c" in value[1:]
                at += 1
            else:
                break
        if at >= len(words):
            return []
        if inline:
            return self._script_of(words[at : at + 1], context, words[at + 1 :])
        from lint_vllm.extract.shell import launches_in_named_script

        return launches_in_named_script(words[at], words[at + 1 :], context)

    def _script_of(self, words: Sequence[Word], context: Context, arguments: Sequence[Word] = ()) -> list[Launch]:
        """Words joined by blanks and read as a script: what ``bash -c``, ``ssh`` or ``eval`` gets."""
        from lint_vllm.extract.shell import run_script

        if not words or context.depth >= MAX_DEPTH:
            return []
        pieces: list[Piece] = []
        for number, word in enumerate(words):
            if number:
                pieces.append(Piece(Text.placed(" ", word.span)))
            pieces.extend(pieces_of(word))
        if len(pieces) == 1 and pieces[0].unknown:
            return []
        empty = words[0].content[:0]
        inside = context.deeper(block=context.block or self.extent)
        return run_script(Script.of_pieces(pieces, empty), inside, tuple(arguments[1:]) if arguments else None)

    def _remote(self, words: tuple[Word, ...], context: Context) -> list[Launch]:
        valued = names("-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B -P")
        at = 1
        while at < len(words) and words[at].value.startswith("-"):
            at += 2 if words[at].value in valued else 1
        rest = words[at + 1 :] if _program(words[0]) != "pdsh" else words[at:]
        return self._script_of(rest, replace(context, env=MappingProxyType({})))

    def _su(self, words: tuple[Word, ...], context: Context) -> list[Launch] | tuple[tuple[Word, ...], Context]:
        for at, word in enumerate(words[:-1]):
            if word.value in ("-c", "--command", "-lc"):
                return self._script_of(words[at + 1 : at + 2], context)
            if word.value == "--":
                return words[at + 1 :], context
        return []

    def _screen(self, words: tuple[Word, ...], context: Context) -> list[Launch] | tuple[tuple[Word, ...], Context]:
        at = 1
        while at < len(words) and words[at].value.startswith("-"):
            value = words[at].value
            at += 2 if value[-1] in "cehpsSTt" or value == "-dmS" or value.endswith("S") else 1
            if value == "-X":
                return self._script_of(words[at:], context)
        return words[at:], context

    def _tmux(self, words: tuple[Word, ...], context: Context) -> list[Launch]:
        valued = names("-s -t -n -c -x -y -e -F -L -S -f -T -l")
        at = 1
        while at < len(words) and words[at].value.startswith("-"):
            at += 2 if words[at].value in valued else 1
        if at >= len(words):
            return []
        verb = words[at].value
        at += 1
        while at < len(words) and words[at].value.startswith("-") and words[at].value != "--":
            at += 2 if words[at].value in valued and not (verb.startswith("send") and words[at].value == "-l") else 1
        rest = [w for w in words[at:] if w.value not in ("Enter", "C-m", "ENTER", "--", "KPEnter")]
        if verb in ("send-keys", "send") or verb.startswith(("new", "split", "respawn")):
            return self._script_of(rest, context)
        return []

    def _ray(self, words: tuple[Word, ...], context: Context) -> list[Launch] | tuple[tuple[Word, ...], Context]:
        verbs = [w.value for w in words[1:3]]
        if verbs[:1] == ["job"] or verbs[:1] == ["exec"]:
            for at, word in enumerate(words):
                if word.value == "--":
                    return words[at + 1 :], context
            if verbs[:1] == ["exec"]:
                return self._script_of(words[3:], context)
        return []

    def _kubectl(self, words: tuple[Word, ...], context: Context) -> list[Launch] | tuple[tuple[Word, ...], Context]:
        at = next((i for i, w in enumerate(words) if w.value == "--"), -1)
        if at < 0:
            return []
        verbs = {w.value for w in words[:at]}
        if "run" in verbs:
            for index, word in enumerate(words[:at]):
                image = (
                    part(word, 8) if word.value.startswith("--image=") else words[index + 1] if word.value == "--image" else None
                )
                if image is not None:
                    found = image_of(image)
                    inside = replace(context, image=found)
                    if "--command" in verbs or "--command=true" in verbs:
                        return words[at + 1 :], inside
                    return _image_launches(words[at + 1 :], found, inside, self.extent)
        return (words[at + 1 :], replace(context, env=MappingProxyType({}))) if "exec" in verbs or "debug" in verbs else []

    def _xargs(self, words: tuple[Word, ...], context: Context) -> list[Launch] | tuple[tuple[Word, ...], Context]:
        return self._behind(words[1:], _Prefix(names("-I -n -P -L -d -a -s -E")), context)

    def _watch(self, words: tuple[Word, ...], context: Context) -> list[Launch]:
        return []

    # Containers

    def _container(self, words: tuple[Word, ...], context: Context) -> list[Launch] | tuple[tuple[Word, ...], Context]:
        at = 1
        while at < len(words) and words[at].value.startswith("-"):
            at += 2 if words[at].value in ("-H", "--host", "-c", "--context", "-l", "--log-level", "--config") else 1
        verb = words[at].value if at < len(words) else ""
        if verb == "container" and at + 1 < len(words):
            at += 1
            verb = words[at].value
        if verb == "compose":
            return self._compose(words[at + 1 :], context)
        if verb in ("run", "create"):
            options = read_container_options(words[at + 1 :], context, self.extent)
            if options is None:
                return []
            inside = options.context
            if options.entrypoint is not None:
                return self._entrypoint(options.entrypoint, options.arguments, inside)
            assert inside.image is not None
            return _image_launches(options.arguments, inside.image, inside, self.extent)
        if verb == "exec":
            options = read_container_options(words[at + 1 :], context, self.extent, exec_only=True)
            return (options.arguments, options.context) if options is not None else []
        return []

    def _entrypoint(
        self, entrypoint: Word, arguments: tuple[Word, ...], context: Context
    ) -> list[Launch] | tuple[tuple[Word, ...], Context]:
        if not entrypoint.value:
            return arguments, context
        if entrypoint.value.startswith("["):
            return []
        return (entrypoint, *arguments), context

    def _compose(self, words: tuple[Word, ...], context: Context) -> list[Launch] | tuple[tuple[Word, ...], Context]:
        at = 0
        while at < len(words) and words[at].value.startswith("-"):
            at += 2 if words[at].value in ("-f", "-p", "--file", "--project-name", "--profile", "--env-file") else 1
        if at < len(words) and words[at].value in ("run", "exec"):
            options = read_container_options(words[at + 1 :], context, self.extent, exec_only=True)
            return (options.arguments, options.context) if options is not None else []
        return []

    def _singularity(self, words: tuple[Word, ...], context: Context) -> list[Launch] | tuple[tuple[Word, ...], Context]:
        valued = names(
            "-B --bind --env --env-file --pwd -H --home -W --workdir --cwd --overlay -o --writable-tmpfs= --security --network "
            "--app --nvccli= --mount --hostname --dns --fusemount --apply-cgroups -S --scratch --add-caps --drop-caps"
        )
        at = 1
        while at < len(words) and words[at].value not in ("exec", "run", "instance", "shell"):
            at += 1
        if at >= len(words) or words[at].value == "shell":
            return []
        verb = words[at].value
        at += 2 if verb == "instance" else 1
        env: dict[str, EnvVar] = {}
        gpus: list[GpuRequest] = []
        while at < len(words):
            value = words[at].value
            if isinstance(words[at], ShellWord) and words[at].spreads and at + 2 < len(words) and not self._is_image(words[at]):  # type: ignore[attr-defined]
                at += 1
                continue
            if not value.startswith("-"):
                break
            if value in ("--nv", "--rocm", "--nvccli"):
                gpus.append(GpuRequest(value, words[at].span, words[at].span, None, value))
            setting = (
                words[at + 1]
                if value == "--env" and at + 1 < len(words)
                else part(words[at], 6)
                if value.startswith("--env=")
                else None
            )
            if setting is not None and (variable := assignment(setting)) is not None:
                env[variable.name.value] = variable
            at += 2 if value in valued else 1
        if at >= len(words):
            return []
        image = image_of(words[at])
        inside = with_env(replace(context, image=image), env)
        base = inside.deployment or Deployment("shell", inside.block or self.extent)
        inside = replace(inside, deployment=replace(base, gpus=(*base.gpus, *gpus)))
        rest = words[at + 1 :]
        if verb == "exec":
            return rest, inside
        return _image_launches(rest, image, inside, self.extent)

    def _is_image(self, word: Word) -> bool:
        return re.search(r"ima?ge?|sif|container", word.value, re.IGNORECASE) is not None

    # Other programs that pass arguments on

    def _trl(self, words: tuple[Word, ...], context: Context) -> list[Launch]:
        if len(words) > 1 and words[1].value in ("vllm-serve", "vllm_serve"):
            return self._server("other", words[0].span.to(words[1].span), words[2:], context, "trl")
        return []

    def _lmcache(self, words: tuple[Word, ...], context: Context) -> list[Launch]:
        if len(words) > 1 and words[1].value == "serve":
            return self._server("other", words[0].span.to(words[1].span), words[2:], context, "lmcache_vllm")
        return []

    def _pairs(self, words: tuple[Word, ...], context: Context) -> list[Launch]:
        """``lm_eval --model vllm --model_args pretrained=m,tensor_parallel_size=2``."""
        model = _option_value(words, "--model", "-M")
        arguments = _option_value(words, "--model_args", "--model-args", "-a")
        if model is None or model.value not in ("vllm", "vllm-vlm") or arguments is None:
            return []
        settings = pair_settings(arguments)
        return (
            [launch_of("other", words[0].span, (), context, self.extent, wrapper="lm_eval", settings=settings)] if settings else []
        )

    def _lighteval(self, words: tuple[Word, ...], context: Context) -> list[Launch]:
        if len(words) > 2 and words[1].value == "vllm":
            arguments = next((w for w in words[2:] if "=" in w.value and not w.value.startswith("-")), None)
            settings = pair_settings(arguments) if arguments is not None else ()
            if settings:
                return [launch_of("other", words[0].span, (), context, self.extent, wrapper="lighteval", settings=settings)]
        return []

    def _passed_through(self, words: tuple[Word, ...], context: Context) -> list[Launch] | tuple[tuple[Word, ...], Context]:
        """A script of one's own that gets a whole command: ``./in-container.sh vllm serve model ...``."""
        for index in range(1, len(words) - 1):
            word = words[index]
            if word.unknown:
                continue
            if _program(word) == "vllm" and words[index + 1].value == "serve" and len(words) > index + 2:
                return words[index:], context
            if (
                word.value == "-m"
                and words[index + 1].value in _MODULES
                and index > 1
                and _PYTHON.fullmatch(_program(words[index - 1]))
            ):
                return words[index - 1 :], context
            if word.value == "--" and index + 1 < len(words):
                return words[index + 1 :], context
        name = words[0].value
        if words[0].unknown is None and re.fullmatch(r"[./~]*[\w./-]*\.(?:sh|bash|sbatch|slurm)", name):
            from lint_vllm.extract.shell import launches_in_named_script

            return launches_in_named_script(words[0], words[1:], context)
        return []


_Handler = Callable[[_Command, tuple[Word, ...], Context], "list[Launch] | tuple[tuple[Word, ...], Context]"]
_HANDLERS: Mapping[str, _Handler] = MappingProxyType(
    {
        "env": _Command._env,
        "uv": _Command._uv,
        "uvx": _Command._uv,
        "pipx": _Command._uv,
        "ssh": _Command._remote,
        "pdsh": _Command._remote,
        "parallel-ssh": _Command._remote,
        "su": _Command._su,
        "runuser": _Command._su,
        "screen": _Command._screen,
        "tmux": _Command._tmux,
        "ray": _Command._ray,
        "kubectl": _Command._kubectl,
        "oc": _Command._kubectl,
        "xargs": _Command._xargs,
        "watch": _Command._watch,
        "trl": _Command._trl,
        "lmcache_vllm": _Command._lmcache,
        "lighteval": _Command._lighteval,
        **dict.fromkeys(_SINGULARITY, _Command._singularity),
    }
)


def _option_value(words: Sequence[Word], *names: str) -> Word | None:
    for index, word in enumerate(words):
        if word.value in names and index + 1 < len(words):
            return words[index + 1]
        for name in names:
            if name.startswith("--") and word.value.startswith(name + "="):
                return part(word, len(name) + 1)
    return None


def pair_settings(word: Word) -> tuple[Setting, ...]:
    """``a=1,b={"c": 2}`` as settings; commas inside braces, brackets or quotes do not divide."""
    settings: list[Setting] = []
    for start, end in _divided(word.value):
        equals = word.value.find("=", start, end)
        if equals <= start:
            continue
        name, value = part(word, start, equals), part(word, equals + 1, end)
        flag = name.value.strip().replace("_", "-")
        flag = {"pretrained": "model", "model-name": "model"}.get(flag, flag)
        if flag:
            settings.append(Setting(name, flag, value, value.value, word.conditional))
    return tuple(settings)


def _divided(value: str) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    depth, start = 0, 0
    for index, char in enumerate(value):
        if char in "{[(":
            depth += 1
        elif char in "}])":
            depth -= 1
        elif char == "," and depth <= 0:
            out.append((start, index))
            start = index + 1
    out.append((start, len(value)))
    return out


def assignment(word: Word, source: str = "shell") -> EnvVar | None:
    """``NAME=value`` as a variable, or ``None``."""
    match = re.match(r"[A-Za-z_]\w*=", word.value, re.ASCII)
    if match is None:
        return None
    return EnvVar(part(word, 0, match.end() - 1), part(word, match.end()), word.span, source)


def with_env(context: Context, env: Mapping[str, EnvVar]) -> Context:
    """The surroundings with more environment variables."""
    return replace(context, env=MappingProxyType({**context.env, **env})) if env else context


_PIN = pattern(r"(vllm[a-z0-9_-]*)(?:\[[^\]]*\])?\s*(?:==|===|~=|@\s*v?|>=)\s*v?(\d[\w.+!-]*|https?://\S+)", re.IGNORECASE)


def pin_of(word: Word) -> Hint | None:
    """``vllm==0.9.1`` as a hint of kind ``pip``; its value is the requirement, its span the version."""
    match = _PIN.match(word.value)
    if match is None or word.unknown:
        return None
    return Hint("pip", match.group(), part(word, *match.span(2)).value_span)


def pins_in(text: Text) -> tuple[Hint, ...]:
    """The vLLM releases that an installation names: ``pip install vllm==0.9.1``."""
    if not re.search(r"\b(?:install|add|sync)\b", text.value):
        return ()
    found = (m for m in re.finditer(r"(?<![\w/.@-])" + _PIN.pattern, text.value, re.IGNORECASE))
    return tuple(Hint("pip", m.group(), text[m.start(2) : m.end(2)].span) for m in found)


def _renamed(word: Word, value: str) -> Word:
    return word_of((Piece(Text.placed(value, word.span)),), word.span, word.content[:0])


def _renamed_at(word: Word) -> Word:
    return word if "@" in word.value and word.value.startswith("vllm") else _renamed(word, "-")


def _srun_context(options: Sequence[Word], context: Context) -> Context:
    from lint_vllm.extract.slurm import step_context

    return step_context(options, context)
