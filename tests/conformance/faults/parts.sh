# The workspace, its parts and their merge: what the steps of this harness share. Sourced by `run`, with `binary`, `short` and `seed` set.
parts=4
tenants=20000
[ -z "$short" ] || tenants=2000
# How many tenants go, and how many come, from one version of the policies to the other.
moved=20
checks=0
failures=0
# The program under test; the lies replace it.
program=$binary
# The workspace, the command of its parts, the folder of their summaries, and the text of the last merge.
w=
command=render
# Options of `render` and `merge`: namespaces go from one version to the other.
consent=(--allow-mass-delete)
sums=
merge_text=
was_empty=

differs() {
  echo "DIFFERS: $*" >&2
  failures=$((failures + 1))
}

# holds WHAT COMMAND...: the command succeeds.
holds() {
  local what=$1
  shift
  checks=$((checks + 1))
  "$@" || differs "$what"
}

# Random numbers do not depend on what else runs: each subshell has its own seed.
reseed() { RANDOM=$(((seed * 7919 + $1) % 32768)); }

# random N: sets `drawn` to a number below N.
random() { drawn=$(((RANDOM * 32768 + RANDOM) % $1)); }

# The tmpfs, the two versions of the policies, and their references.
prepare() {
  work=$FAULTS_PLACE/work
  mount -t tmpfs -o size=80%,nr_inodes=4000000 faults "$FAULTS_PLACE" || cannot "no tmpfs can be mounted"
  mkdir "$work" "$work/sums"
  w=$work/w
  sums=$work/sums
  merge_text=$work/merge
  cp "$binary" "$work/bailiwick"
  program=$work/bailiwick
  export NO_COLOR=1 TMPDIR=$work
  unset CI GITHUB_ACTIONS
  make_workspace "$work/w" "$tenants"
  references "$work/w"
  partition "$w"
  echo "$tenants tenants in $parts parts; a part takes $T ms; seed $seed"
}

# make_workspace FOLDER TENANTS: two versions of the policies in FOLDER.old and FOLDER.new.
make_workspace() {
  local folder=$1 count=$2
  python3 "$here/../../../benches/generate.py" "$((count + moved))" "$folder" || cannot "the workspace cannot be made"
  cp -r "$folder/policies" "$folder/old"
  mv "$folder/policies" "$folder/new"
  sed -i "$((count + 2)),\$d" "$folder/old/tenants.csv"
  sed -i "2,$((moved + 1))d" "$folder/new/tenants.csv"
  sed -i 's/tenancy: tenant$/tenancy: changed/' "$folder/new/tenants.yaml"
  ! cmp -s "$folder/old/tenants.yaml" "$folder/new/tenants.yaml" || cannot "the versions are equal"
  use "$folder" old
}

# use FOLDER VERSION: gives a workspace the policies of a version.
use() {
  rm -rf "$1/policies"
  cp -r "$1/$2" "$1/policies"
}

# references FOLDER: the output of both versions, as lists of digests and paths, and as trees. At the end the output is the old version.
references() {
  local folder=$1 version
  for version in new old; do
    use "$folder" "$version"
    rm -rf "$folder/out"
    "$program" -C "$folder" render 2>"$folder/$version.err" || cannot "no reference: $(cat "$folder/$version.err")"
    tree "$folder/out" >"$folder/$version.list"
    cp -r "$folder/out" "$folder/out-$version"
  done
  for version in old new; do sort "$folder/$version.list" >"$folder/$version.sorted"; done
  sort "$folder"/{old,new}.list >"$folder/both"
  comm -12 <(paths "$folder/old.list") <(paths "$folder/new.list") >"$folder/stay"
}

# partition FOLDER: the paths of each part in the new version, and the time of a part, in milliseconds. The output is the old version again.
partition() {
  local part began
  use "$1" new
  for ((part = 1; part <= parts; part++)); do
    find "$1/out" -mindepth 1 -delete
    began=${EPOCHREALTIME/./}
    w=$1 run_part "$part" >"$work/part.err" 2>&1 || cannot "part $part: $(cat "$work/part.err")"
    T=$(((${EPOCHREALTIME/./} - began) / 1000 + 1))
    (cd "$1/out" && find . -type f) >"$1/part.$part"
  done
  [ "$(sort "$1"/part.[1-9] | uniq | wc -l)" -eq "$(wc -l <"$1/new.list")" ] || cannot "the parts are no partition of the files"
  use "$1" old
  put "$1" old
  rm "$sums"/*
}

# tree FOLDER: a line with digest and path for each file but those of the staging folder, and each link.
tree() {
  [ -d "$1" ] || return 0
  # A file that goes away meanwhile is no line.
  (cd "$1" && find . -path ./.bailiwick-staging -prune -o ! -type d -print0 2>/dev/null | sort -z | xargs -0r sha256sum 2>/dev/null) || true
}

paths() { cut -c 67- "$1" | sort; }

# is_tree FOLDER VERSION: whether the output of a workspace is a reference, byte for byte.
is_tree() { tree "$1/out" | cmp -s - "$1/$2.list"; }

# Whether no file waits in the staging folder. A run that is killed when every file is in its place leaves empty folders there, and
# the next run that writes removes them.
has_no_staging() { [ -z "$(find "$1/out/.bailiwick-staging" ! -type d 2>/dev/null)" ]; }

# is_old_or_new FOLDER: whether each file is of one of the versions, and each file of both versions is there, unless the output was empty
# at first.
is_old_or_new() {
  tree "$1/out" | sort >"$1/found"
  [ -z "$(comm -23 "$1/found" "$1/both")" ] && { [ -n "$was_empty" ] || [ -z "$(comm -13 <(paths "$1/found") "$1/stay")" ]; }
}

# put FOLDER VERSION: makes the output that of a version.
put() {
  find "$1/out" -mindepth 1 -delete
  cp -r "$1/out-$2/." "$1/out/"
}

# part_words K [OPTION...]: sets `words` to the command of a part, as the Job runs it, on the workspace $w.
part_words() {
  words=("$program" -C "$w" "$command" --shard "$1/${of:-$parts}" --summary-to "$sums/$1.summary" "${@:2}")
  [ "$command" = check ] || words+=("${consent[@]}")
}

run_part() {
  local words
  part_words "$@"
  "${words[@]}"
}

# run_parts: each part once, one after the other.
run_parts() {
  local part
  for ((part = 1; part <= parts; part++)); do run_part "$part" 2>>"$work/parts.err" >/dev/null || true; done
}

# run_merge FILE...: sets `merged` to the exit code; what is printed is in $work/merge.
run_merge() {
  merged=0
  "$program" -C "$w" merge "${consent[@]}" "$@" >"$merge_text" 2>&1 || merged=$?
}

all_summaries() { for ((part = 1; part <= parts; part++)); do printf '%s\n' "$sums/$part.summary"; done; }

# prints_counts FILE: whether a text looks like the report of a whole run.
prints_counts() { grep -qE '[0-9]+ objects( in|:)|unchanged' "$1"; }

# is_refused [PATTERN]: whether the last merge was refused, with a reason, and without counts.
is_refused() {
  { [ "$merged" -eq 2 ] || [ "$merged" -eq 3 ]; } && grep -q '^error' "$merge_text" && ! prints_counts "$merge_text" && grep -qE "${1:-.}" "$merge_text"
}

# refuses WHAT PATTERN FILE...: merge refuses the summaries.
refuses() {
  local what=$1 pattern=$2
  shift 2
  run_merge "$@"
  holds "$what: merge ended with $merged: $(head -c 300 "$merge_text")" is_refused "$pattern"
}

# accepts WHAT: merge accepts the summaries, and the output is a version.
accepts() {
  mapfile -t files < <(all_summaries)
  run_merge "${files[@]}"
  holds "$1: merge ended with $merged: $(head -c 300 "$merge_text")" [ "$merged" -eq 0 ]
  holds "$1: no counts" prints_counts "$merge_text"
}

# completes FOLDER VERSION WHAT: the output is a version as a whole, and nothing is left behind.
completes() {
  holds "$3: the output is not that of a single run" is_tree "$1" "$2"
  holds "$3: a file is left in the staging folder" has_no_staging "$1"
}
