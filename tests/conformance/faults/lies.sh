# Deliberate lies: programs and outputs with one fault each, which the checks of this harness have to notice.

# liar NAME: makes a program that lies; stdin has what it does with the arguments of the real program, $real.
liar() {
  { printf '#!/usr/bin/env bash\nreal=%q good=%q\n' "$work/bailiwick" "$good"; cat; echo 'exec "$real" "$@"'; } >"$work/liar-$1"
  chmod +x "$work/liar-$1"
}

make_liars() {
  # Says yes to every set of parts.
  liar yes <<<'[[ " $* " != *" merge "* ]] || { "$real" "$@" || echo "cluster: 8 objects in 2 files: 8 created, 0 changed, 0 deleted, 0 unchanged" >&2; exit 0; }'
  # Refuses, and prints counts.
  liar counts <<<'[[ " $* " != *" merge "* ]] || { "$real" "$@" && exit 0; ended=$?; echo "cluster: 8 objects in 2 files: 8 created, 0 changed, 0 deleted, 0 unchanged" >&2; exit "$ended"; }'
  # Takes the good summary of part 3, whatever is in its file, or if there is none.
  liar third <<<'[[ " $* " != *" merge "* ]] || exec "$real" "${@/#*\/3.summary/$good/3.summary}"'
  # Leaves out a file, and reports success.
  liar less <<<'[[ " $* " != *" --shard 3/4 "* ]] || { "$real" "$@" || exit; rm "$2/out/$(head -n 1 "$2/part.3")"; exit 0; }'
  # Reports success when a file cannot be written.
  liar success <<<'[[ " $* " != *" render "* ]] || { "$real" "$@"; ended=$?; [ "$ended" -ne 3 ] || exit 0; exit "$ended"; }'
  # Leaves half a file when it fails.
  liar half <<<'[[ " $* " != *" render "* ]] || { "$real" "$@" && exit 0; ended=$?; truncate -s 100 "$2/out/$(head -n 1 "$2/stay")" 2>/dev/null; exit "$ended"; }'
  # Leaves a summary when it fails.
  liar summary <<<'[[ " $* " != *" --summary-to "* ]] || { "$real" "$@" && exit 0; ended=$?; echo x >"$(grep -o "[^ ]*/[0-9].summary" <<<"$*")"; exit "$ended"; }'
  # Fails without a message.
  liar silent <<<'"$real" "$@" 2>/dev/null; exit'
}

# failures_of PROGRAM FUNCTION...: the number of failures of a check with a program.
failures_of() (
  program=$1
  failures=0
  shift
  rm -rf "${sums:?}"/*
  use "$w" old
  put "$w" old
  "$@" >/dev/null 2>>"$work/noticed"
  echo "$failures"
)

# notices LIAR FUNCTION...: the check holds for the real program, and fails for a liar.
notices() {
  local lie=$1
  shift
  if [ -z "${honest["$*"]:-}" ]; then
    holds "lies: $* fails with the real program" [ "$(failures_of "$work/bailiwick" "$@")" = 0 ]
    honest["$*"]=yes
  fi
  holds "lies: $* does not notice '$lie'" [ "$(failures_of "$work/liar-$lie" "$@")" -gt 0 ]
}

# notices_output WHAT COMMAND...: a spoilt output is no reference, and not old or new.
notices_output() {
  local what=$1
  shift
  put "$w" old
  holds "lies: the reference is no reference" is_tree "$w" old
  holds "lies: the reference is not old" is_old_or_new "$w"
  "$@"
  holds "lies: $what is a reference" is_not is_tree "$w" old
  holds "lies: $what is old or new" is_not is_old_or_new "$w"
}

is_not() { ! "$@"; }

spoilt_outputs() {
  local path
  path=$w/out/$(head -n 1 "$w/stay")
  notices_output "a changed byte" sed -i '1s/#/%/' "$path"
  notices_output "half a file" truncate -s 100 "$path"
  notices_output "an empty file" truncate -s 0 "$path"
  notices_output "a missing file" rm "$path"
  notices_output "one file more" cp "$path" "$path.tmp"
  mkdir "$w/out/.bailiwick-staging"
  touch "$w/out/.bailiwick-staging/file"
  holds "lies: a staged file is none" is_not has_no_staging "$w"
  rm -r "$w/out/.bailiwick-staging"
}

# One round of kills in which no kill is by chance.
lie_round() { round_of_kills 1 new; }

lie_unfinished() { run_parts && unfinished_parts; }

lie_changed() { run_parts && changed_bytes 2; }

lie_foreign() {
  local at=old
  run_parts
  rm -rf "$work/other"
  foreign_parts
}

# A volume of its own for the output, and a check.
on_volume() {
  volume "$w" old
  use "$w" new
  "$@"
  end_volume "$w"
}

lie_full_summaries() {
  use "$w" new
  full_summaries bytes
}

lie_fault() {
  meet render "$1"
  holds "the fault $1 did not take place" [ "$met" -gt 0 ]
}

lies() {
  local before=$checks w=$work/lies sums=$work/lies-sums lists=$work/lies good=$work/lies-good T=$T merges=0 killed=0 between=0
  local -A honest=()
  reseed 7
  mkdir "$sums"
  make_workspace "$w" 100
  references "$w"
  partition "$w"
  run_parts
  cp -r "$sums" "$good"
  make_liars
  spoilt_outputs
  notices yes lie_round
  notices less lie_round
  notices counts lie_unfinished
  notices third lie_unfinished
  notices third lie_changed
  notices yes lie_foreign
  notices success on_volume full_output bytes 50
  notices half on_volume full_output bytes 50
  notices silent on_volume full_output bytes 50
  notices summary on_volume full_parts bytes 50
  notices success lie_full_summaries
  notices success read_only_volumes
  [ ! -x "$work/slowfs" ] || lies_of_network
  note="$((checks - before)) checks"
}

lies_of_network() {
  local sums=$shared/sums met=0
  notices success lie_fault write:9:EIO
  notices half lie_fault rename:9:EIO
  notices silent lie_fault fsync:9:EIO
}
