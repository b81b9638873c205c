"""Runs plugins that are written for Nekro Agent; see loaded_plugin.py. What they import of it is described in modules.py."""
