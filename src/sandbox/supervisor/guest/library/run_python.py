"""Runs the program on stdin as `python3 -` would, with the conversation's tools as functions under their own names."""

from longshore_names import prepare_main

exec(prepare_main())
