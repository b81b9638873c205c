"""What a plugin is told when its host does not do what it asks."""

from __future__ import annotations


class CapabilityRefused(RuntimeError):
    pass
