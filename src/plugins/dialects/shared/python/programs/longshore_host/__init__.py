"""Runs plugins in Python of any dialect; see serve.py."""
