#!/bin/sh
# What a copy job does: copies all files of one place to another, packs them to stdout, or unpacks them from stdin.
#   copy-job.sh copy KIND PLACE TARGET_KIND TARGET PAGES
#   copy-job.sh pack KIND PLACE
#   copy-job.sh unpack TARGET_KIND TARGET PAGES
# A kind is "volume" or "checkpoint", or of a target "copy": a volume for another sandbox. PAGES is the path of the target's pages as the engine sees it. The pages of a checkpoint may be in a directory beside
# it, with a link in their place that is broken inside a job. In a volume or an archive the pages are a regular file of the checkpoint.
set -eu

copy() { # KIND PLACE TARGET
  mkdir -p "$3"
  cp -a "$2/." "$3/"
  if [ "$1" = checkpoint ] && [ -L "$3/pages.img" ]; then
    rm "$3/pages.img"
    cp -a "$2.pages/pages.img" "$3/"
  fi
}

pack() { # KIND PLACE
  if [ "$1" = checkpoint ] && [ -L "$2/pages.img" ]; then
    # tar excludes the link `./pages.img` and adds the file `pages.img`: the two names differ.
    set -- -C "$2" --exclude=./pages.img . -C "$2.pages" pages.img
  else
    set -- -C "$2" .
  fi
  tar --numeric-owner --sparse --use-compress-program='gzip -1' -cf - "$@"
}

unpack() { # TARGET
  mkdir -p "$1"
  tar -C "$1" --numeric-owner --same-owner -p -xzf -
}

# Moves the pages beside the checkpoint, where the engine does not copy them on a wake. Refuses a link from the source, because it may lead anywhere.
finish() { # TARGET_KIND TARGET PAGES
  if [ "$1" = checkpoint ]; then
    [ ! -L "$2/pages.img" ] || exit 1
    if [ -f "$2/pages.img" ]; then
      mkdir -p "$2.pages"
      mv "$2/pages.img" "$2.pages/"
      ln -s "$3" "$2/pages.img"
    fi
  fi
  # The supervisor of the other sandbox looks for it (journal.py).
  if [ "$1" = copy ] && [ -d "$2/.longshore" ]; then
    : >"$2/.longshore/execs.copied"
  fi
  sync -f "$2"
}

case $1 in
  copy)
    copy "$2" "$3" "$5"
    finish "$4" "$5" "$6"
    ;;
  pack) pack "$2" "$3" ;;
  unpack)
    unpack "$3"
    finish "$2" "$3" "$4"
    ;;
esac
