#!/bin/sh
# What a copy job does: copies all files of one place to another, packs them to stdout, or unpacks them from stdin.
#   copy-job.sh copy KIND PLACE TARGET_KIND TARGET PAGES
#   copy-job.sh pack KIND PLACE
#   copy-job.sh unpack TARGET_KIND TARGET PAGES
# A kind is "volume" or "checkpoint", or of a target "copy": a volume for another sandbox. PAGES is the path of the target's pages as the engine sees it. The pages of a checkpoint may be in a directory beside
# it, with a link in their place that is broken inside a job. In a volume or an archive the pages are a regular file of the checkpoint.
set -eu

# Runs a program that ends with STATUS when it has left something out. It may leave out what is nested more deeply than a path can be long: a guest can make
# that, step by step, and no program can open it by its path. Archives of earlier versions have such names.
leaving_out() { # STATUS PROGRAM...
  status=$1
  shift
  said=$({ LC_ALL=C "$@" 2>&1 >/dev/null || echo "ended with $?"; } |
    sed -e '/: File name too long$/d' -e '/^tar: Exiting with failure status due to previous errors$/d' | tail -c 1000)
  case $said in
    "ended with $status") ;;
    *"ended with "*)
      echo "$said" >&2
      exit 1
      ;;
  esac
}

copy() { # KIND PLACE TARGET
  mkdir -p "$3"
  leaving_out 1 cp -a "$2/." "$3/"
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
  # Names that could not be unpacked are left out. In a tree of ten thousand directories, tar would also run out of stack.
  too_long=$(printf '%4096s' '' | tr ' ' '?')
  LC_ALL=C tar --numeric-owner --sparse --anchored --exclude="$too_long*" --use-compress-program='gzip -1' -cf - "$@"
}

unpack() { # TARGET
  mkdir -p "$1"
  leaving_out 2 tar -C "$1" --numeric-owner --same-owner --warning=no-timestamp -p -xzf -
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
