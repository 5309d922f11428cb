"""The version as a literal, so that it costs nothing to ask; a test keeps it equal to ``pyproject.toml``."""

VERSION = "0.1.0"
