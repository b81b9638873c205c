#!/bin/sh
# Waits for the end of its stdin, which comes when the process at the other side ends. Then gives a process group time to notice it too, and ends the group.
#   end-with-worker.sh GROUP
while read -r _; do :; done
sleep 2
kill -s TERM -- "-$1"
sleep 2
kill -s KILL -- "-$1"
