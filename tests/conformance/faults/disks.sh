# Volumes that are full or read-only: a run fails with a message that names the file, and leaves the output as it was.

# ends_with CODE PATTERN COMMAND...: the command ends with the code and prints a message.
ends_with() {
  local code=$1 pattern=$2 ended=0
  shift 2
  "$@" >"$work/volume.out" 2>"$work/volume.err" || ended=$?
  [ "$ended" -eq "$code" ] && grep -qE "$pattern" "$work/volume.err"
}

# fails WHAT PATTERN COMMAND...: the command ends with 3 and a message.
fails() {
  local what=$1
  shift
  holds "$what" ends_with 3 "^error: .*$1" "${@:2}"
  [ "$failures" -eq "${failures_before:-$failures}" ] || head -n 3 "$work/volume.err" >&2
  failures_before=$failures
}

render() { "$program" -C "$w" render "${consent[@]}"; }

# limit FOLDER bytes|inodes PERCENT ROOM: leaves a tmpfs room for PERCENT of so many bytes or inodes.
limit() {
  local used
  case $2 in
    bytes)
      used=$(df -B1 --output=used "$1" | tail -n 1)
      mount -o "remount,size=$((used + 4096 + $4 * $3 / 100))" "$1"
      ;;
    inodes)
      used=$(df --output=iused "$1" | tail -n 1)
      mount -o "remount,nr_inodes=$((used + 2 + $4 * $3 / 100))" "$1"
      ;;
  esac
}

unlimit() { mount -o remount,size=80%,nr_inodes=4000000 "$1"; }

# room FOLDER bytes|inodes: what the new contents of an output need while they wait beside the old ones.
room() {
  case $2 in
    bytes) du -s --block-size=1 "$1" | cut -f 1 ;;
    inodes) find "$1" | wc -l ;;
  esac
}

# volume FOLDER VERSION: a tmpfs of its own for an output.
volume() {
  rm -rf "$1/out"
  mkdir "$1/out"
  mount -t tmpfs -o size=80%,nr_inodes=4000000 faults "$1/out"
  cp -r "$1/out-$2/." "$1/out/"
}

end_volume() {
  umount "$1/out"
  cp -r "$1/out-old/." "$1/out/"
  use "$1" old
}

# full_output bytes|inodes PERCENT: a single run has too little room.
full_output() {
  local what="room for $2 % of the $1"
  limit "$w/out" "$1" "$2" "$(room "$w/out-new" "$1")"
  fails "$what: no message and 3" '`[^`]*out/[^`]+`.*no space left on device' render
  completes "$w" old "$what"
  unlimit "$w/out"
  holds "$what: the same command, with room" ends_with 0 "objects in" render
  completes "$w" new "$what"
  put "$w" old
}

# full_parts bytes|inodes PERCENT: the parts that have no room leave no summary, and the others are done.
full_parts() {
  local what="parts with room for $2 % of the $1" part files failed=0
  rm -f "$sums"/*
  limit "$w/out" "$1" "$2" "$(($(room "$w/out-new" "$1") / parts))"
  for ((part = 1; part <= parts; part++)); do
    fails "$what: part $part" '`[^`]*out/[^`]+`.*no space left on device' run_part "$part"
    holds "$what: a summary of part $part" [ ! -e "$sums/$part.summary" ]
  done
  mapfile -t files < <(all_summaries)
  refuses "$what" '1\.summary' "${files[@]}"
  completes "$w" old "$what"
  unlimit "$w/out"
  run_parts
  accepts "$what"
  completes "$w" new "$what"
  put "$w" old
}

# full_summaries bytes|inodes: the volume of the summaries has no room for the third.
full_summaries() {
  local what="a full volume of summaries ($1)" part files room
  rm -rf "${sums:?}"/*
  run_part 1 2>/dev/null
  room=$(stat -c %s "$sums/1.summary")
  rm "$sums/1.summary"
  mount -t tmpfs -o size=80%,nr_inodes=1000 faults "$sums"
  limit "$sums" "$1" 100 "$([ "$1" = bytes ] && echo $((room * 5 / 2)) || echo 0)"
  for part in 1 2; do holds "$what: part $part" ends_with 0 objects run_part "$part"; done
  for part in 3 4; do
    fails "$what: part $part" "\`[^\`]*$part\.summary\`.*no space left on device" run_part "$part"
  done
  holds "$what: more than two files: $(ls -A "$sums")" [ "$(ls -A "$sums" | wc -l)" -eq 2 ]
  mapfile -t files < <(all_summaries)
  refuses "$what" '3\.summary' "${files[@]}"
  mount -o remount,size=80%,nr_inodes=1000 "$sums"
  for part in 3 4; do holds "$what: part $part, with room" ends_with 0 objects run_part "$part"; done
  accepts "$what"
  completes "$w" new "$what"
  umount "$sums"
}

full_disks() {
  local before=$checks kind percent percents=(3 50 97)
  volume "$w" old
  use "$w" new
  for kind in bytes inodes; do
    [ -z "$short" ] || percents=($((RANDOM % 90 + 5)))
    for percent in "${percents[@]}"; do full_output "$kind" "$percent"; done
    full_parts "$kind" $((RANDOM % 80 + 10))
    full_summaries "$kind"
    put "$w" old
  done
  end_volume "$w"
  note="$((checks - before)) checks"
}

# Writes the output, exit code and report of a single `check`, and of the merge of its parts.
check_whole() {
  local ended=0
  "$program" -C "$w" check --work-tree >"$work/$1.out" 2>"$work/$1.err" || ended=$?
  echo "$ended" >"$work/$1.code"
}

check_parts() {
  local part files command=check ended
  for ((part = 1; part <= parts; part++)); do
    ended=0
    run_part "$part" >/dev/null 2>"$work/part.err" || ended=$?
    holds "part $part of check ended with $ended: $(head -n 3 "$work/part.err")" [ "$ended" -le 1 ]
  done
  mapfile -t files < <(all_summaries)
  ended=0
  "$program" -C "$w" merge "${files[@]}" >"$work/$1.out" 2>"$work/$1.err" || ended=$?
  echo "$ended" >"$work/$1.code"
}

is_same_check() {
  local kind
  for kind in out err code; do cmp -s "$work/reference.$kind" "$work/$1.$kind" || return 1; done
}

# Edits three files of the output and deletes two.
edit_output() {
  local paths path
  mapfile -t paths < <(cut -c 67- "$w/old.list" | shuf -n 5 --random-source=<(yes "$seed"))
  for path in "${paths[@]:0:3}"; do sed -i 's/tenancy: tenant/tenancy: edited/' "$w/out/$path"; done
  rm "$w/out/${paths[3]}" "$w/out/${paths[4]}"
}

read_only_volumes() {
  local before=$checks part
  use "$w" old
  volume "$w" old
  edit_output
  check_whole reference
  holds "check of edited files" grep -qx 1 "$work/reference.code"
  tree "$w/out" >"$work/edited.list"
  mount -o remount,ro "$w/out"
  check_whole alone
  holds "check of a read-only output" is_same_check alone
  check_parts merged
  holds "check of a read-only output in parts" is_same_check merged
  use "$w" new
  fails "render on a read-only output" '`[^`]*out[^`]*`.*read-only file system' render
  rm -rf "${sums:?}"/*
  for ((part = 1; part <= parts; part++)); do
    fails "part $part on a read-only output" '`[^`]*out[^`]*`.*read-only file system' run_part "$part"
    holds "part $part on a read-only output: a summary" [ ! -e "$sums/$part.summary" ]
  done
  tree "$w/out" >"$work/edited-after.list"
  holds "a read-only output changed" cmp -s "$work/edited.list" "$work/edited-after.list"
  mount -o remount,rw "$w/out"
  read_only_summaries
  end_volume "$w"
  note="$((checks - before)) checks"
}

# The summaries of an earlier run are on a volume that became read-only.
read_only_summaries() {
  local part files
  rm -rf "${sums:?}"/*
  use "$w" old
  run_parts
  use "$w" new
  mount --bind "$sums" "$sums"
  mount -o remount,bind,ro "$sums"
  for ((part = 1; part <= parts; part++)); do
    fails "part $part with a read-only folder of summaries" "\`[^\`]*$part\.summary\`.*read-only file system" run_part "$part"
  done
  holds "a read-only folder of summaries: the output" is_tree "$w" old
  mapfile -t files < <(all_summaries)
  refuses "a read-only folder of summaries" "another input" "${files[@]}"
  umount "$sums"
}
