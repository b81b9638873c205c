#!/bin/sh
# What an engine knows as the runtime "runsc": gVisor's own program, which is beside this file, and a way around what engines do with checkpoints.
# They pack a checkpoint and unpack it again, on its way to disk and on its way back, so that both take as long as the sandbox has memory. Therefore the
# pages leave the checkpoint as soon as gVisor has written them, for a directory of the same container that no engine copies: "checkpoints/<name>.pages".
# A link to them takes their place, which gVisor follows when it restores. An engine takes that directory for one more checkpoint, so it can be
# asked to list and to remove it. Wherever anything is not as expected, the checkpoint stays as gVisor has written it, which is slower and as good.

runsc=${0%/*}/runsc
command='' image='' last=''
for argument; do
  if [ -z "$command" ]; then
    case $argument in checkpoint | restore) command=$argument ;; esac
  else
    case $last in --image-path | -image-path) image=$argument ;; esac
    case $argument in --image-path=* | -image-path=*) image=${argument#*=} ;; esac
  fi
  last=$argument
done
[ -n "$image" ] || exec "$runsc" "$@"

# Two such directories can only be what a crash has left beside the checkpoint that is being made: then nobody knows which is which.
find_empty() {
  found=''
  for directory in rest-* copy-*; do
    case $directory in *.pages) continue ;; esac
    [ -d "$directory" ] || continue
    set -- "$directory"/*
    [ -e "$1" ] && continue
    [ -z "$found" ] || return 1
    found=$directory
  done
  [ -n "$found" ]
}

# Engines refuse to bring back, for a second or so, what is byte for byte the same as what they have just put away. The time of a file from before 1970
# is another one once they have unpacked it.
distinguish() {
  touch -m -t 196901010000 "$image/checkpoint.img" || :
}

# The current directory is the container's bundle, whose description tells where the engine keeps its containers. An engine makes a checkpoint's
# directory, empty, before it asks for the checkpoint, and fills it afterwards.
move_pages() {
  container=$1
  [ -f "$image/pages.img" ] && [ ! -L "$image/pages.img" ] || return
  containers=$(sed -n 's,.*"source": *"\(/[^"\\]*/containers\)/[0-9a-f]*/resolv\.conf".*,\1,p' config.json)
  home=$containers/$container/checkpoints
  cd "$home" && find_empty || return
  pages=$home/$found.pages
  rm -rf "$pages" "$image/pages.link"
  if mkdir -m 700 "$pages" && ln -s "$pages/pages.img" "$image/pages.link" && mv "$image/pages.img" "$pages/pages.img"; then
    mv "$image/pages.link" "$image/pages.img" && distinguish && return
    mv "$pages/pages.img" "$image/pages.img" || return
  fi
  rm -rf "$pages" "$image/pages.link"
}

"$runsc" "$@"
code=$?
case $command in
  checkpoint) [ "$code" -ne 0 ] || move_pages "$last" 2>/dev/null ;;
  # What containerd has unpacked for this one call, and leaves where it is.
  restore) case ${image##*/} in ctrd-checkpoint[0-9]*) rm -rf "$image" ;; esac ;;
esac
exit "$code"
