#!/bin/sh
# Prints which requirements of a sandbox an image lacks.
missing=''
for program in python3 socat bash; do
  command -v "$program" >/dev/null || missing="$missing $program"
done
[ -e /opt/longshore/supervisor.py ] || missing="$missing supervisor"
id user >/dev/null 2>&1 || missing="$missing user"
echo "missing:$missing"
