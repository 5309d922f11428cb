"""Everything that is known about a launch, joined: release, card, model, workload, and the engine that judges them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lint_vllm.facts import Facts, Sibling
from lint_vllm.facts.comments import facts_for
from lint_vllm.facts.gpu import resolve_gpu
from lint_vllm.facts.model import Model
from lint_vllm.facts.models import ModelLookup, mounts_of
from lint_vllm.facts.release import resolve_release
from lint_vllm.facts.repository import Repository
from lint_vllm.facts.workload import resolve_workload
from lint_vllm.known import Fact, Known, Unknown
from lint_vllm.launch import Launch
from lint_vllm.settings import CALIBRATION_NAME, Stated
from lint_vllm.source import SourceFile
from lint_vllm.suppress import Directive, directives

if TYPE_CHECKING:
    from lint_vllm.arguments.model import ArgumentSet
    from lint_vllm.budget.result import Budget
    from lint_vllm.calibration import Calibration
    from lint_vllm.facts.hub import Hub


@dataclass
class Shared:
    """What the launches of one run share.

    ``boundary`` is a folder that the caller was asked to lint: outside a repository, look-ups stay below it.
    ``use_hub_cache`` is off where results must not depend on the machine (``--isolated``).
    """

    boundary: Path | None = None
    use_hub_cache: bool = True
    overlay: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    hub: Hub | None = None
    _repositories: dict[Path, Repository] = field(default_factory=dict, repr=False)
    _calibrations: dict[Path, tuple[Calibration, ...]] = field(default_factory=dict, repr=False)
    _directives: tuple[SourceFile, tuple[Directive, ...]] | None = field(default=None, repr=False)

    def repository(self, path: str) -> Repository:
        """The repository of a linted file; files of one folder share it, and with it what was read."""
        folder = Path(path).absolute().parent
        if folder not in self._repositories:
            self._repositories[folder] = Repository.of(
                path, boundary=self.boundary, use_hub_cache=self.use_hub_cache, overlay=self.overlay
            )
        return self._repositories[folder]

    def calibrations(self, path: str) -> tuple[Calibration, ...]:
        """What was measured on the user's rigs and holds for a file. Raises ``SettingsError`` for a broken calibration file."""
        if not self.use_hub_cache:
            return ()
        folder = Path(path).absolute().parent
        if folder not in self._calibrations:
            self._calibrations[folder] = ()
            if any(os.path.isfile(parent / CALIBRATION_NAME) for parent in (folder, *folder.parents)):
                from lint_vllm.calibration import load  # heavy, and nearly nobody has one

                self._calibrations[folder] = load(folder)
        return self._calibrations[folder]

    def directives(self, source: SourceFile) -> tuple[Directive, ...]:
        """The comments of a file that speak to lint-vllm; read once for all its launches."""
        if self._directives is None or self._directives[0] is not source:
            self._directives = (source, directives(source))
        return self._directives[1]


def resolve(
    launch: Launch,
    options: Stated,
    settings: Stated,
    shared: Shared,
    *,
    profile: str = "default",
    find_siblings: Callable[[], tuple[Sibling, ...]] = tuple,
) -> tuple[ArgumentSet, Facts]:
    """The arguments as the launch's release reads them, and all that is known about the launch.

    ``options`` is the command line; ``settings`` what settings files say for the launch's path.
    """
    from lint_vllm.arguments import read_launch

    repository = shared.repository(launch.path)
    comments = facts_for(launch, shared.directives(launch.source))
    release = resolve_release(launch, options, comments, settings, repository)
    args = read_launch(launch, Known(release.version, release.origin, release.span), repository.read)
    gpu, gpu_count = resolve_gpu(launch, options, comments, settings)
    lookup = ModelLookup(options, settings, repository, mounts_of(launch), shared.hub)
    facts = Facts(
        release=release,
        gpu=gpu,
        gpu_count=gpu_count,
        model=_model(args, lookup),
        workload=resolve_workload(launch, options, comments, settings, repository, _served_names(args)),
        launch=launch,
        repository=repository,
        judge=_judge,
        find_siblings=find_siblings,
        find_model=lookup.find,
        profile=profile,
        args=args,
        calibrations=shared.calibrations(launch.path),
    )
    return args, facts


def _judge(facts: Facts, changes: Mapping[str, object]) -> Budget:
    from lint_vllm.budget.judge import judge

    return judge(facts, changes)


def _model(args: ArgumentSet, lookup: ModelLookup) -> Fact[Model]:
    if isinstance(args.model, Unknown):
        return args.model if lookup.options.model_config is None else lookup.served("model")
    if args.model is None:
        return Unknown("the launch names no model")
    return lookup.served(args.model)


def _served_names(args: ArgumentSet) -> tuple[str, ...]:
    """What clients call the model: ``--served-model-name``, else its id (vllm==0.33.0 config/model.py get_served_model_name)."""
    names = args.value("served_model_name")
    if isinstance(names, str) and names:
        return (names,)
    if isinstance(names, (list, tuple)) and names:
        return tuple(name for name in names if isinstance(name, str))
    return (args.model,) if isinstance(args.model, str) else ()
