"""What a loaded plugin of either system keeps."""

from __future__ import annotations

from typing import Any


class PluginState:
    def __init__(self, plugin_id: str, code: str, config: dict[str, Any]) -> None:
        self.plugin_id = plugin_id
        # The directory of its code.
        self._code = code
        self._config = config
        # Its own object, once its code has run.
        self._plugin: Any = None
        self._is_loaded = False
