# Sets of summaries that are not one whole run: merge refuses each, with a reason and without counts.

# spoil FILE OFFSET: flips a random bit of a byte.
spoil() {
  local byte
  byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
  random 8
  printf "\\x$(printf %02x $((byte ^ (1 << drawn))))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# set_of_summaries: a fresh copy of the good set in $sums.
set_of_summaries() {
  rm -rf "${sums:?}"/*
  cp "$good"/* "$sums/"
}

# refuses_with WHAT PATTERN: merge refuses the set, and accepts the good set afterwards.
refuses_with() {
  local files
  mapfile -t files < <(all_summaries)
  refuses "$1" "$2" "${files[@]}"
}

unfinished_parts() {
  local part files
  for ((part = 1; part <= parts; part++)); do
    set_of_summaries
    rm "$sums/$part.summary"
    refuses "without part $part" "part $part/$parts is missing" "$sums"/*.summary
    refuses_with "without the file of part $part" "$part\.summary"
    : >"$sums/$part.summary"
    refuses_with "an empty summary of part $part" "$part\.summary.*cannot be used"
  done
  set_of_summaries
  cp "$sums/1.summary" "$sums/2.summary"
  refuses_with "part 1 in place of part 2" "part 1/$parts occurs twice"
  rm "$sums/2.summary"
  mkdir "$sums/2.summary"
  refuses_with "a folder in place of part 2" "2\.summary"
}

changed_bytes() {
  local count=$1 size round offset
  size=$(stat -c %s "$good/3.summary")
  for ((round = 0; round < count; round++)); do
    set_of_summaries
    random "$size"
    # Every fourth round has one of the first bytes.
    offset=$((round == 1 ? size - 1 : round % 4 == 0 ? round / 4 : drawn))
    truncate -s "$offset" "$sums/3.summary"
    refuses_with "a summary of $offset of $size bytes" "3\.summary.*cannot be used"
    cp "$good/3.summary" "$sums/3.summary"
    spoil "$sums/3.summary" "$offset"
    refuses_with "a changed byte $offset of $size" "3\.summary.*cannot be used"
  done
  set_of_summaries
  printf x >>"$sums/3.summary"
  refuses_with "one byte more" "3\.summary.*cannot be used"
  cat "$good/1.summary" "$good/3.summary" >"$sums/3.summary"
  refuses_with "two summaries in one file" "3\.summary.*cannot be used"
}

# foreign_part WHAT PATTERN VERSION OPTION...: part 2 of another run.
foreign_part() {
  local what=$1 pattern=$2
  set_of_summaries
  use "$work/other" "$3"
  shift 3
  (w=$work/other sums=$work/foreign && run_part 2 "$@") >"$work/part.err" 2>&1 || [ $? -le 1 ] || differs "$what: $(cat "$work/part.err")"
  cp "$work/foreign/2.summary" "$sums/2.summary"
  refuses_with "$what" "$pattern"
}

foreign_parts() {
  mkdir -p "$work/foreign"
  mkdir "$work/other"
  cp -r "$w"/{bailiwick.yaml,old,new} "$work/other/"
  foreign_part "other policies" "another input" "$(other_version "$at")"
  foreign_part "other targets" "different commands or options" "$at" --target cluster
  command=check foreign_part "another command" "different commands or options" "$at"
  of=5 foreign_part "another number of parts" "part 2/5|of 5|numbers of parts" "$at"
  echo "# a comment" >>"$work/other/$at/tenants.yaml"
  foreign_part "a comment in the policies" "another input" "$at"
}

# Parts of `check --tree` that compared with different commits.
other_commits() {
  local repository=$work/commits git
  make_workspace "$repository" 100
  "$program" -C "$repository" render 2>/dev/null
  git=(git -C "$repository" -c user.name=faults -c user.email=faults@localhost -c init.defaultBranch=main)
  "${git[@]}" init --quiet
  commit_all "${git[@]}"
  (w=$repository command=check sums=$work/foreign && run_part 2 --tree HEAD) >/dev/null 2>&1 || differs "no part of the first commit"
  mv "$work/foreign/2.summary" "$work/foreign/first"
  rm "$(find "$repository/out" -type f | sort | head -n 1)"
  commit_all "${git[@]}"
  for part in 1 2 3 4; do
    (w=$repository command=check sums=$work/foreign && run_part "$part" --tree HEAD) >/dev/null 2>&1 || [ $? -eq 1 ] || differs "no part $part of a commit"
  done
  w=$repository run_merge "$work/foreign"/[1-4].summary
  holds "the parts of one commit: merge ended with $merged" [ "$merged" -eq 1 ]
  mv "$work/foreign/first" "$work/foreign/2.summary"
  w=$repository refuses "parts of two commits" "different commands or options" "$work/foreign"/[1-4].summary
}

commit_all() {
  "$@" add --all
  "$@" commit --quiet --message commit
}

summaries() {
  local good=$work/good before=$checks at=old
  is_tree "$w" old || at=new
  use "$w" "$at"
  rm -rf "${sums:?}"/* "$good"
  run_parts
  accepts "a whole set"
  cp -r "$sums" "$good"
  unfinished_parts
  changed_bytes "$([ -n "$short" ] && echo 5 || echo 120)"
  foreign_parts
  other_commits
  set_of_summaries
  accepts "the whole set again"
  rm -rf "$work/other" "$work/commits" "$work/foreign"
  note="$((checks - before)) checks"
}
