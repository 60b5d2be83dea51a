# A network file system below the workspace and the summaries: slow calls, failing calls, and callers that die in a call.

# mount_slow OPTION...: mounts $shared on $net.
mount_slow() {
  local line
  rm -f "$work/slow.out" "$work/slow.log"
  mkfifo "$work/slow.out"
  "$work/slowfs" -source "$shared" -at "$net" -log "$work/slow.log" "$@" >"$work/slow.out" 2>"$work/slow.err" &
  slow=$!
  read -r line <"$work/slow.out" || line=
  [ "$line" = ready ] || cannot "slowfs does not mount: $(cat "$work/slow.err")"
}

end_slow() {
  umount "$net" || cannot "the network file system is busy"
  wait "$slow" || cannot "slowfs ended with $?: $(cat "$work/slow.err")"
}

# Ends with 1, and sets `note`, if there is no network file system to be had.
prepare_network() {
  note="not checked: "
  [ -c /dev/fuse ] || { note+="no /dev/fuse"; return 1; }
  command -v go >/dev/null || { note+="no Go"; return 1; }
  shared=$work/shared
  net=$work/net
  mkdir -p "$shared/sums" "$net"
  (cd "$here/.." && go build -trimpath -buildvcs=false -o "$work/slowfs" ./faults/cmd/slowfs) 2>"$work/slow.err" || {
    note+="go build failed: $(tail -n 1 "$work/slow.err")"
    return 1
  }
}

# network_workspace NAME TENANTS
network_workspace() {
  make_workspace "$shared/$1" "$2"
  sums=$shared/sums
  references "$shared/$1"
  partition "$shared/$1"
}

# The kills and the twins of the other steps, where each call takes a while.
slow_kills() {
  local w=$net/slow sums=$net/sums lists=$work/lists mean T=$T
  network_workspace slow "$([ -n "$short" ] && echo 60 || echo 1000)"
  sums=$net/sums
  mkdir "$lists"
  cp "$shared/slow"/part.* "$lists/"
  mount_slow -delay 200us -seed "$seed"
  T=$((8 * T))
  rounds "$([ -n "$short" ] && echo 1 || echo 4)" round_of_kills
  slow_note="slow: $note"
  rounds "$([ -n "$short" ] && echo 1 || echo 2)" round_of_twins
  end_slow
  slow_note+="; twins: $note"
}

# run_faulty COMMAND FAULT: runs `render` or `part` on a mount with a fault; sets `ended` and `was_met`.
run_faulty() {
  local words=("$program" -C "$net/faulty" render "${consent[@]}") w=$net/faulty sums=$net/sums
  put "$shared/faulty" old
  rm -f "$shared/sums"/*
  [ "$1" = render ] || part_words 1
  mount_slow ${2:+-fault "$2"}
  ended=0
  # Bash reports a killed command itself, unless it is in the background.
  "${words[@]}" >"$work/faulty.out" 2>"$work/faulty.err" &
  wait $! 2>/dev/null || ended=$?
  end_slow
  was_met=
  ! grep -qx fault "$work/slow.log" || was_met=yes
}

# is_honest COMMAND FAULT: whether a run that met a fault failed with a message, or did everything in spite of it.
is_honest() {
  case $ended in
    3) ! [[ $2 = *KILL ]] && grep -qE '^error: .*`[^`]+`' "$work/faulty.err" ;;
    137) [[ $2 = *KILL ]] ;;
    # A call whose failure does not matter, such as a look for an earlier file.
    0) ! [[ $2 =~ ^(write|create|flush|rename|fsync|mkdir): ]] && is_done "$1" ;;
    *) false ;;
  esac
}

is_done() {
  if [ "$1" = render ]; then
    is_tree "$shared/faulty" new
  else
    # The files of part 1 are new.
    [ -z "$(comm -13 <(tree "$shared/faulty/out" | sort) <(grep -Ff "$shared/faulty/part.1" "$shared/faulty/new.sorted"))" ]
  fi
}

# meet COMMAND FAULT: a run with a fault, and the next run.
meet() {
  local what="$1, $2" w=$shared/faulty sums=$shared/sums files
  run_faulty "$1" "$2"
  [ -n "$was_met" ] || return 0
  met=$((met + 1))
  holds "$what: ended with $ended: $(head -n 2 "$work/faulty.err")" is_honest "$1" "$2"
  holds "$what: a file is neither old nor new" is_old_or_new "$w"
  mapfile -t files < <(all_summaries)
  if [ "$1" = part ]; then
    # A summary is there only if the part is done.
    [ ! -e "$sums/1.summary" ] || holds "$what: a summary of less than the part" is_done part
    [ "$ended" -ne 3 ] || holds "$what: a summary of a part that failed" [ ! -e "$sums/1.summary" ]
    refuses "$what" '[1-4]\.summary' "${files[@]}"
    run_parts
    accepts "$what, next run"
  else
    holds "$what, next run" ends_with 0 "objects in" render
  fi
  completes "$w" new "$what, next run"
}

# numbers COUNT N: up to N numbers of calls: some by chance, the first two and the last two.
numbers() {
  local count=$1 wanted=$2 number
  {
    random "$count"
    printf '%s\n' $((drawn + 1)) "$count" 1 2 $((count - 1))
    for ((number = 5; number < wanted; number++)); do
      random "$count"
      echo $((drawn + 1))
    done
  } | awk '$1 > 0 && !seen[$1]++' | head -n "$wanted"
}

# faulty_calls N: for each call that a run makes, N places of a fault, with each error in turn.
faulty_calls() {
  local wanted=$1 kind call count number errors=(EIO KILL ENOSPC EIO KILL EDQUOT) turn=0
  network_workspace faulty 60
  use "$shared/faulty" new
  for kind in render part; do
    run_faulty "$kind" ""
    [ "$ended" -eq 0 ] || cannot "a run without a fault ended with $ended: $(cat "$work/faulty.err")"
    cp "$work/slow.log" "$work/counts"
    for call in create write flush fsync rename mkdir unlink; do
      holds "$kind makes no call $call" grep -q "^$call " "$work/counts"
    done
    while read -r call count <&3; do
      while read -r number <&4; do
        meet "$kind" "$call:$number:${errors[turn++ % 6]}"
      done 4< <(numbers "$count" "$(wanted_of "$call" "$wanted")")
    done 3<"$work/counts"
  done
}

# wanted_of CALL N: calls that do not change files get few faults.
wanted_of() {
  case $1 in
    lookup | read | open | opendir | close | rmdir) echo $((($2 - 1) / 3)) ;;
    *) echo "$2" ;;
  esac
}

network() {
  local before=$checks slow_note met=0 sums=$sums
  prepare_network || return 0
  slow_kills
  faulty_calls "$([ -n "$short" ] && echo 2 || echo 15)"
  note="$met faults; $slow_note; $((checks - before)) checks"
}
