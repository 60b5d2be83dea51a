# Parts that are killed and started again, and parts that run twice, with `merge` in a loop beside them.

# nap MILLISECONDS
nap() { sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))"; }

is_running() { kill -0 "$1" 2>/dev/null; }

# kill_now PID: ends a process of this shell; sets `ended` to its exit code.
kill_now() {
  kill -KILL "$1" 2>/dev/null || true
  ended=0
  wait "$1" 2>/dev/null || ended=$?
}

# choose_moment PART: chooses a moment of the part's run. Sets `moment`, `delay` and `path`.
choose_moment() {
  local part=$1 moments=(anywhere staging placing placing summary) draw
  random "${#moments[@]}"
  moment=${moments[drawn]}
  random $((3 * T / 2))
  delay=$drawn
  [ "$moment" = placing ] || return 0
  # A file that this round has not placed yet.
  for ((draw = 0; draw < 12; draw++)); do
    random "${#own[@]}"
    path=$w/out/${own[drawn]}
    [ "$path" -nt "$round/begun" ] || break
  done
}

# wait_for_moment PID PART: waits for the moment, or for the end of the part.
wait_for_moment() {
  local pid=$1 part=$2
  case $moment in
    anywhere) nap "$delay" ;;
    staging)
      while is_running "$pid" && [ ! -e "$w/out/.bailiwick-staging" ]; do :; done
      nap $((delay / 3))
      ;;
    # A file keeps the time of its staging, so it is newer than the start only when it is in its place.
    placing)
      while is_running "$pid" && [ ! "$path" -nt "$round/start.$part" ]; do :; done
      ;;
    summary)
      while is_running "$pid" && ! compgen -G "$sums/$part.summary.*.tmp" >/dev/null && [ ! "$sums/$part.summary" -nt "$round/start.$part" ]; do :; done
      ;;
  esac
}

# supervise PART KILLS: starts a part again after each kill, as a Job does, up to its success.
supervise() {
  local part=$1 kills=$2 words own ended=0 moment delay path
  mapfile -t own <"$lists/part.$part"
  part_words "$part"
  while [ "$kills" -gt 0 ]; do
    kills=$((kills - 1))
    choose_moment "$part"
    touch "$round/start.$part"
    "${words[@]}" >>"$round/text.$part" 2>&1 &
    wait_for_moment $! "$part"
    kill_now $!
    # A part that ended before the kill is started again, too: a node may lose the pod's end.
    echo "$moment $ended" >>"$round/kills"
  done
  "${words[@]}" >>"$round/text.$part" 2>&1 || echo "part $part ended with $?: $(tail -n 3 "$round/text.$part")" >>"$round/lies"
}

# watch_merge VERSION: merges all the time until the round stops, and records each lie.
watch_merge() {
  local version=$1 merge_text=$round/merge files
  mapfile -t files < <(all_summaries)
  while [ ! -e "$round/stop" ]; do
    run_merge "${files[@]}"
    if [ "$merged" -eq 0 ]; then
      [ -e "$round/released" ] || echo "merge ended with 0 before the last part began" >>"$round/lies"
      is_tree "$w" "$version" || echo "merge ended with 0 beside an output that is not whole" >>"$round/lies"
    else
      is_refused || echo "merge ended with $merged: $(head -c 300 "$merge_text")" >>"$round/lies"
    fi
    echo "$merged" >>"$round/merges"
  done
}

# kill_all HELD: starts every part but one, and kills them at one moment. With nothing at work, each file is old or new.
kill_all() {
  local part pids=() words ended
  for ((part = 1; part <= parts; part++)); do
    [ "$part" -ne "$1" ] || continue
    part_words "$part"
    "${words[@]}" >>"$round/text.$part" 2>&1 &
    pids+=($!)
  done
  random $((3 * T))
  nap "$drawn"
  for part in "${pids[@]}"; do
    kill_now "$part"
    echo "together $ended" >>"$round/kills"
  done
  holds "$title: a file is neither old nor new after a kill" is_old_or_new "$w"
  cmp -s "$w/found" "$w/old.sorted" || cmp -s "$w/found" "$w/new.sorted" || between=$((between + 1))
}

# begin_round TITLE VERSION
begin_round() {
  title=$1
  round=$work/round
  rm -rf "$round"
  mkdir "$round"
  touch "$round/lies" "$round/merges" "$round/kills" "$round/begun"
  use "$w" "$2"
  watch_merge "$2" &
  watcher=$!
}

# end_round VERSION
end_round() {
  touch "$round/stop"
  wait "$watcher"
  merges=$((merges + $(wc -l <"$round/merges")))
  killed=$((killed + $(grep -c ' 137$' "$round/kills" || true)))
  cat "$round/kills" >>"$work/kills"
  holds "$title: $(head -n 5 "$round/lies")" [ ! -s "$round/lies" ]
  accepts "$title"
  completes "$w" "$1" "$title"
}

# await_merges N: waits until merge ran so many times more.
await_merges() {
  local wanted=$(($(wc -l <"$round/merges") + $1))
  while [ "$(wc -l <"$round/merges")" -lt "$wanted" ]; do nap 5; done
}

# round_of_kills N VERSION: one part begins when the others are done.
round_of_kills() {
  local held part pids=()
  random "$parts"
  held=$((drawn + 1))
  # One round in three begins without output; the others replace what is there, file by file.
  if [ $(($1 % 3)) -eq 2 ]; then
    was_empty=yes
    find "$w/out" -mindepth 1 -delete
  fi
  begin_round "round $1 of kills" "$2"
  kill_all "$held"
  kill_all "$held"
  for ((part = 1; part <= parts; part++)); do
    [ "$part" -ne "$held" ] || continue
    (reseed $((1000 * $1 + part)); random 4; supervise "$part" $((drawn + 2))) &
    pids+=($!)
  done
  wait "${pids[@]}"
  await_merges 3
  touch "$round/released"
  (reseed $((1000 * $1 + held)); supervise "$held" 2)
  await_merges 2
  end_round "$2"
  was_empty=
}

other_version() { [ "$1" = new ] && echo old || echo new; }

# rounds N FUNCTION: from one version to the other.
rounds() {
  local number version=new
  lists=${lists:-$w}
  merges=0 killed=0 between=0
  : >"$work/kills"
  for ((number = 1; number <= $1; number++)); do
    reseed "$number"
    "$2" "$number" "$version"
    version=$(other_version "$version")
  done
  note="$1 rounds, $killed kills ($(by_moment)), $between states between old and new, $merges merges beside the parts"
}

by_moment() { sed -n 's/ 137$//p' "$work/kills" | sort | uniq -c | awk '{printf "%s%s %s", sep, $1, $2; sep = ", "}'; }

kills() {
  rounds "$([ -n "$short" ] && echo 2 || echo 9)" round_of_kills
  holds "kills: no run was killed" [ "$killed" -gt 0 ]
  holds "kills: no kill came between old and new" [ "$between" -gt 0 ]
}

# round_of_twins N VERSION: the pod of each part still runs when the next one starts; now and then the first one is killed.
round_of_twins() {
  local part
  begin_round "round $1 of twins" "$2"
  touch "$round/released"
  local pids=()
  for ((part = 1; part <= parts; part++)); do
    (reseed $((1000 * $1 + part)); twins "$part") &
    pids+=($!)
  done
  wait "${pids[@]}"
  await_merges 2
  end_round "$2"
}

# twins PART
twins() {
  local part=$1 words first second ended=0
  part_words "$part"
  "${words[@]}" >>"$round/text.$part" 2>&1 &
  first=$!
  random $((2 * T))
  nap "$drawn"
  "${words[@]}" >>"$round/twin.$part" 2>&1 &
  second=$!
  random 3
  if [ "$drawn" -eq 0 ]; then
    random $((2 * T))
    nap "$drawn"
    kill_now "$first"
    echo "twin $ended" >>"$round/kills"
    [ "$ended" -ne 137 ] || first=
  fi
  for pid in $first $second; do
    wait "$pid" || echo "a twin of part $part ended with $?: $(tail -n 3 "$round/text.$part" "$round/twin.$part")" >>"$round/lies"
  done
}

preemption() { rounds "$([ -n "$short" ] && echo 1 || echo 4)" round_of_twins; }
