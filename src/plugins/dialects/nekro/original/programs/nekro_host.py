"""Runs one plugin that is written for Nekro Agent; see longshore_host/serve.py."""

from __future__ import annotations

from longshore_host.serve import serve
from longshore_nekro.loaded_plugin import LoadedPlugin

serve(LoadedPlugin)
