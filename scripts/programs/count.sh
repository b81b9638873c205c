#!/bin/sh
# Prints the numbers from 1 on, 50 in a second.
number=0
while :; do
  number=$((number + 1))
  echo "$number"
  sleep 0.02
done
