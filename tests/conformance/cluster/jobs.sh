# The Jobs of `init --ci --parts 4`, and `check` in parts, compared with single runs. Sourced by inner.sh.

parts=4
tenants=20000
[ -z "$short" ] || tenants=2000
# The volume of the pods, with the repository that they clone and a checkout for `check`.
shared=$work/shared
workspace=$work/workspace

say() { echo "$* ($SECONDS s)"; }

# in_jobs: kubectl in the namespace of the Jobs.
in_jobs() { "$kubectl" -n compile "$@"; }

# seconds NANOSECONDS
seconds() { printf '%d.%02d' $(($1 / 1000000000)) $(($1 / 10000000 % 100)); }

# pods_cpu: the CPU time of all pods so far, in nanoseconds.
pods_cpu() { cat "/sys/fs/cgroup/cpuacct/$cgroup/kubepods/cpuacct.usage"; }

make_workspace() {
  git config --global user.name conformance
  git config --global user.email conformance@example.org
  git config --global safe.directory '*'
  git config --global advice.detachedHead false
  mkdir -p "$workspace/policies" "$shared"
  cat >"$workspace/bailiwick.yaml" <<EOF
apiVersion: bailiwick.dev/v1alpha1
kind: Workspace
metadata: {name: tenants}
spec:
  targets: [{name: cluster, version: "1.37"}]
EOF
  cp "$here/tenants.yaml" "$workspace/policies/"
  awk -v count="$tenants" 'BEGIN { print "name,uid"; for (n = 1; n <= count; n++) print "tenant-" n "," 1000 + n }' >"$workspace/policies/tenants.csv"
  "$binary" -q -C "$workspace" init --ci --parts "$parts" || cannot "init --ci failed"
  git init --quiet --initial-branch main "$workspace"
  git clone --quiet --bare "$workspace" "$shared/origin.git" 2>/dev/null
}

# publish MESSAGE: commits the workspace, and sets the revision that pods compile.
publish() {
  git -C "$workspace" add --all
  git -C "$workspace" commit --quiet --message "$1"
  git -C "$workspace" push --quiet "$shared/origin.git" main
  revision=$(git -C "$workspace" rev-parse HEAD)
  chown -R 1000:1000 "$shared"
}

# render_once: the tree of a single run at the revision, in a checkout of its own.
render_once() {
  local TIMEFORMAT='%R s wall, %U + %S s CPU'
  rm -rf "$work/single"
  git clone --quiet "$shared/origin.git" "$work/single"
  git -C "$work/single" checkout --quiet --detach "$revision"
  { time "$binary" -q -C "$work/single" render >&2; } 2>"$work/single.time" || cannot "cannot render: $(cat "$work/single.time")"
  git -C "$work/single" add --all
  single_tree=$(git -C "$work/single" write-tree)
  git -C "$work/single" commit --quiet --message single
}

make_namespace() {
  "$kubectl" create namespace compile >/dev/null
  "$kubectl" label namespace compile pod-security.kubernetes.io/enforce=restricted >/dev/null
  in_jobs create secret generic bailiwick-write --from-literal token=none >/dev/null
  "$kubectl" apply -f - >/dev/null <<EOF
apiVersion: v1
kind: PersistentVolume
metadata: {name: shared}
spec:
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteMany]
  hostPath: {path: $shared, type: Directory}
EOF
}

# start_jobs [SED-OPTION...]: the generated file, with the repository and the revision set as its first lines say.
start_jobs() {
  sed -e 's,^  REPOSITORY: .*,  REPOSITORY: file:///shared/origin.git,' -e "s/COMMIT/$revision/" "$@" "$workspace/ci/bailiwick-job.yaml" >"$work/job.yaml"
  in_jobs apply -f "$work/job.yaml" >/dev/null || cannot "the Jobs are not accepted"
}

remove_jobs() {
  in_jobs delete job --all --cascade=foreground >/dev/null
}

# await_job NAME SECONDS: sets `ended` to Complete or Failed.
await_job() {
  local deadline=$((SECONDS + $2)) conditions
  while [ "$SECONDS" -lt "$deadline" ]; do
    conditions=$(in_jobs get job "$1" -o 'jsonpath={.status.conditions[?(@.status=="True")].type}')
    case $conditions in
      *Complete | *Failed) ended=${conditions##* }; return ;;
    esac
    sleep 0.2
  done
  ended=unfinished
  in_jobs get pods >&2
  in_jobs describe job "$1" | tail -n 12 >&2
}

# complete NAME SECONDS
complete() {
  await_job "$1" "$2"
  [ "$ended" = Complete ] || { in_jobs logs "job/$1" --tail 20 >&2 || true; differs "the Job $1 is $ended"; }
}

# same_tree TREE: whether it is the tree of the single run.
same_tree() {
  [ "$1" = "$single_tree" ] || {
    git -C "$work/single" diff-tree -r --name-status "$single_tree" "$1" 2>&1 | head -n 5
    return 1
  }
}

# compare_branch WHAT: the pushed branch with the single run.
compare_branch() {
  local branch
  branch=$(sed -n 's/^  BRANCH: //p' "$work/job.yaml")
  git -C "$work/single" fetch --quiet origin "$branch" || { differs "$1: no branch $branch"; return; }
  if same_tree "$(git -C "$work/single" rev-parse 'FETCH_HEAD^{tree}')"; then
    say "$1: $(git -C "$work/single" ls-tree -r --name-only FETCH_HEAD | wc -l) files, the tree of a single render"
  else
    differs "$1: the tree of the branch"
  fi
}

# compile_in_parts: the whole generated file.
compile_in_parts() {
  local begin cpu
  begin=$(date +%s%N) cpu=$(pods_cpu)
  start_jobs
  complete bailiwick-parts 900
  echo "Jobs: parts $(seconds $(($(date +%s%N) - begin))) s wall, pods $(seconds $(($(pods_cpu) - cpu))) s CPU, with the clone of the repository"
  complete bailiwick-merge 900
  echo "Jobs: parts and merge $(seconds $(($(date +%s%N) - begin))) s wall, pods $(seconds $(($(pods_cpu) - cpu))) s CPU"
  compare_branch "Jobs"
  grep -q '^pr create' "$shared/asked" || differs "no pull request"
}

# check_in_parts CASE CODE: an Indexed Job of `check --shard` over the checkout on the volume, merged, against a single run.
check_in_parts() {
  local case=$1 expected=$2 begin cpu code=0 merged=0 files=$shared/$1
  mkdir -p "$files"
  chown 1000:1000 "$files"
  begin=$(date +%s%N) cpu=$(pods_cpu)
  sed -e "s/CASE/$case/g" -e "s/VERSION/$release/" -e "s/PARTS/$parts/g" "$here/check.yaml" | in_jobs apply -f - >/dev/null
  complete "check-$case" 300
  begin=$(seconds $(($(date +%s%N) - begin))) cpu=$(seconds $(($(pods_cpu) - cpu)))
  { time "$binary" -C "$shared/checkout" check --work-tree >"$files/single.out" 2>"$files/single.err"; } 2>"$work/single.time" || code=$?
  "$binary" -C "$shared/checkout" merge "$files"/*.summary >"$files/merge.out" 2>"$files/merge.err" || merged=$?
  echo "check of $case: codes of the parts $(cat "$files"/*.code | tr '\n' ' ')- merge $merged, single run $code; $begin s wall and $cpu s CPU in pods, $(cat "$work/single.time")"
  same_check "$files" "$code" "$merged" || differs "check of $case"
  [ "$code" -eq "$expected" ] || differs "check of $case ended with $code"
}

# same_check FOLDER CODE CODE: what a single run and the merge printed.
same_check() {
  [ "$2" -eq "$3" ] && cmp -s "$1/single.out" "$1/merge.out" && cmp -s "$1/single.err" "$1/merge.err" && return
  diff "$1/single.out" "$1/merge.out" | head -n 5
  diff "$1/single.err" "$1/merge.err" | head -n 5
  return 1
}

check_three_times() {
  local TIMEFORMAT='single run %R s wall, %U + %S s CPU' number file
  git clone --quiet "$work/single" "$shared/checkout" 2>/dev/null
  chown -R 1000:1000 "$shared/checkout"
  check_in_parts equal 0
  for number in 1 2 3 4 5 6 7; do
    file=$shared/checkout/out/cluster/namespaces/tenant-$((number * tenants / 8)).yaml
    sed -i 's/tenancy: tenant/tenancy: other/' "$file"
  done
  rm "$shared/checkout/out/cluster/namespaces/tenant-$tenants.yaml"
  check_in_parts edited 1
  grep -q 'tenancy: other' "$shared/edited/merge.out" || differs "the merge prints no differences"
  echo 'kind: ConfigMap' >"$shared/checkout/out/cluster/namespaces/foreign.yaml"
  check_in_parts foreign 2
}

# lie_about_jobs: a byte of the tree, a line of the merge, and a code.
lie_about_jobs() {
  local file=$work/single/out/cluster/namespaces/tenant-1.yaml lies=$work/lies
  sed -i '3s/a/b/' "$file"
  git -C "$work/single" add --all
  ! same_tree "$(git -C "$work/single" write-tree)" >/dev/null || differs "self-test: a byte of the tree"
  git -C "$work/single" reset --quiet --hard
  mkdir "$lies"
  cp "$shared/edited"/{single,merge}.* "$lies"
  sed -i '$d' "$lies/merge.out"
  ! same_check "$lies" 1 1 >/dev/null || differs "self-test: a line of the merge"
  ! same_check "$shared/edited" 1 0 >/dev/null || differs "self-test: the code of the merge"
  say "self-test: three lies about the Jobs are noticed"
}

make_workspace
publish policies
render_once
echo "single render of $tenants tenants: $(cat "$work/single.time")"
make_namespace
compile_in_parts
check_three_times
[ "$failures" -gt 0 ] || lie_about_jobs
