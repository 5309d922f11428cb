"""Where a walk through a YAML file stands, and what it may look at from there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from typing import TypeAlias

from lint_vllm.extract.context import Context, Follower
from lint_vllm.extract.yaml_nodes import Mapping, Node, Page, Scalar, Sequence
from lint_vllm.frozen import dataclass
from lint_vllm.launch import Launch
from lint_vllm.source import SourceFile, Span


@dataclass(frozen=True)
class Visit:
    """A node's surroundings: keys and list numbers from the top, enclosing mappings from the outermost on."""

    page: Page
    follow: Follower | None = None
    path: tuple[str | int, ...] = ()
    parents: tuple[Mapping, ...] = ()
    depth: int = 0
    outside: Context | None = None
    """What surrounds the scalar that holds this YAML text, when it is no file of its own."""
    outer_documents: tuple[Node, ...] = ()
    """Documents of the file that holds that scalar."""
    done: set[tuple[int, int]] = field(default_factory=set)
    """Nodes that somebody has read already."""

    @property
    def source(self) -> SourceFile:
        return self.page.source

    @property
    def documents(self) -> list[Node]:
        return self.page.documents

    @property
    def all_documents(self) -> tuple[Node, ...]:
        return (*self.page.documents, *self.outer_documents)

    @property
    def site(self) -> str:
        """``services.llm.command``, ``spec.containers[0]``."""
        out = ""
        for step in self.path:
            out += f"[{step}]" if isinstance(step, int) else (f".{step}" if out else step)
        return out

    def into(self, step: str | int, parent: Node) -> Visit:
        return replace(
            self, path=(*self.path, step), parents=(*self.parents, parent) if isinstance(parent, Mapping) else self.parents
        )

    def mark(self, *nodes: Node | None) -> None:
        """Remember nodes as read, so that the walk does not enter them."""
        for node in nodes:
            if node is not None:
                self.done.add((id(node.page), node.start))

    def seen(self, node: Node) -> bool:
        return (id(node.page), node.start) in self.done

    def nearest(self, *keys: str) -> Node | None:
        """The value of the first of some keys in the nearest enclosing mapping that has one."""
        for parent in reversed(self.parents):
            pair = parent.pair(*keys)
            if pair is not None:
                return pair.value
        return None

    def context(self, site: str | None = None, block: Span | None = None) -> Context:
        """A context without particulars for what is found here."""
        base = self.outside or Context(self.source, follow=self.follow)
        where = self.site if site is None else site
        return replace(base, source=self.source, site=where, block=block, depth=self.depth + 1)


Recogniser: TypeAlias = "Callable[[Mapping, Visit], list[Launch]]"
"""Looks at one mapping and returns the launches that it states; marks what the walk need not enter any more."""


def children(node: Node, visit: Visit) -> Iterator[tuple[Node, Visit]]:
    """The values below a node, each with its own place."""
    if isinstance(node, Mapping):
        for name, pair in node:
            yield pair.value, visit.into(name, node)
    elif isinstance(node, Sequence):
        for number, item in enumerate(node.items):
            yield item, visit.into(number, node)


def name_of(node: Mapping) -> Scalar | None:
    """``metadata.name`` of a Kubernetes object."""
    return node.scalar("metadata", "name") or node.scalar("metadata", "generateName")
