"""Runs plugins that are written for MaiBot; see plugin_host.py."""
