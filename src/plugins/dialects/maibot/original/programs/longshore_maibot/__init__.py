"""Runs plugins that are written for MaiBot; see loaded_plugin.py."""
