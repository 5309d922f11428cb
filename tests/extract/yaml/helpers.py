"""Shared by the tests of YAML carriers."""

from __future__ import annotations

from collections.abc import Mapping

from lint_vllm.extract import extract
from lint_vllm.launch import Launch
from lint_vllm.source import SourceFile


class Files:
    """A follower over files that exist in memory only."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files
        self.asked: list[str] = []

    def read(self, relative_path: str) -> SourceFile | None:
        path = relative_path.removeprefix("./")
        self.asked.append(path)
        return SourceFile.of(self.files[path], path) if path in self.files else None


def launches(text: str, path: str = "file.yaml", files: Mapping[str, str] | None = None) -> list[Launch]:
    return list(extract(SourceFile.of(text, path), Files(files or {})).launches)


def one(text: str, path: str = "file.yaml", files: Mapping[str, str] | None = None) -> Launch:
    found = launches(text, path, files)
    assert len(found) == 1, [launch.site for launch in found]
    return found[0]


def words(launch: Launch) -> list[str]:
    return [word.value for word in launch.words]


def settings(launch: Launch) -> dict[str, object]:
    return {setting.flag: setting.literal for setting in launch.settings}
