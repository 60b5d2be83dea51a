# Parts that are killed, repeated, missing or failing. Sourced by inner.sh after jobs.sh.

# folder: what the parts share.
folder() { echo "$shared/$revision-$parts"; }

# change_policies: a revision that changes every file of the first one, whose output it commits, and adds five.
change_policies() {
  git -C "$workspace" fetch --quiet "$shared/origin.git" bailiwick/output
  git -C "$workspace" reset --quiet --hard FETCH_HEAD
  sed -i 's/labels: {tenancy: tenant}/labels: {tenancy: tenant, generation: second}/' "$workspace/policies/tenants.yaml"
  for number in 1 2 3 4 5; do echo "guest-$number,$((900000 + number))"; done >>"$workspace/policies/tenants.csv"
  publish "a new label, and five new tenants"
  render_once
}

# middle PART: waits until the part has begun; it fails if the part is done already.
middle() {
  local try
  for try in $(seq 2400); do
    [ ! -e "$(folder)/$1.summary" ] || break
    [ ! -e "$(folder)/$1.alive" ] || return 0
    sleep 0.05
  done
  differs "part $1 is done before it can be killed"
  return 1
}

# kill_container PART: kills the first process of a part, as the kernel does without memory.
kill_container() {
  local file pid
  for file in /proc/[0-9]*/environ; do
    pid=${file#/proc/} pid=${pid%/environ}
    if [ "$(sed -n 's/^NSpid:.*\t//p' "/proc/$pid/status" 2>/dev/null)" = 1 ] &&
      tr '\0' '\n' <"$file" 2>/dev/null | grep -qx "JOB_COMPLETION_INDEX=$(($1 - 1))"; then
      kill -KILL "$pid" && return
    fi
  done
  differs "no container of part $1"
}

# delete_pod PART
delete_pod() {
  in_jobs delete pod --grace-period 1 --wait=false -l "job-name=bailiwick-parts,batch.kubernetes.io/job-completion-index=$(($1 - 1))" >/dev/null
}

sums() { (cd "$(folder)" && sha256sum ./*.summary ./*.patch); }

# kill_parts: a container of a part is killed and, in the whole form, the pod of another part is deleted.
kill_parts() {
  local killed=1 failed
  start_jobs
  if middle 1; then kill_container 1; fi
  if [ -z "$short" ] && middle 2; then delete_pod 2 && killed=2; fi
  complete bailiwick-parts 900
  complete bailiwick-merge 900
  failed=$(in_jobs get job bailiwick-parts -o 'jsonpath={.status.failed}')
  [ "$failed" = "$killed" ] || differs "killed parts: $killed, and the Job counts ${failed:-none}"
  compare_branch "killed parts: $killed"
}

# repeat_parts: the parts of the same revision once more, into the same folder.
repeat_parts() {
  sums >"$work/sums"
  in_jobs delete job bailiwick-parts --cascade=foreground >/dev/null
  in_jobs apply -f "$work/job.yaml" >/dev/null
  complete bailiwick-parts 900
  if sums | diff "$work/sums" -; then say "parts that run twice: the same $(wc -l <"$work/sums") files"; else differs "a part that runs twice"; fi
}

# merge_refuses FOLDER: whether the merge misses part 3.
merge_refuses() {
  local code=0
  "$binary" -C "$work/single" merge "$1"/*.summary >"$work/merge.txt" 2>&1 || code=$?
  [ "$code" -eq 2 ] && grep -q "part 3/$parts is missing" "$work/merge.txt"
}

miss_part() {
  mkdir "$work/missing"
  cp "$(folder)"/*.summary "$work/missing"
  ! merge_refuses "$work/missing" || differs "self-test: no part is missing"
  rm "$work/missing/3.summary"
  if merge_refuses "$work/missing"; then say "merge: $(grep -m1 missing "$work/merge.txt")"; else differs "a missing part: $(cat "$work/merge.txt")"; fi
}

# fail_part: part 3 cannot write its patch, until its Job fails. The merge has to end with a message.
fail_part() {
  local patience=60 edits=(-e 's/PATIENCE: "900"/PATIENCE: "60"/') log
  [ -z "$short" ] || { patience=10 edits=(-e 's/PATIENCE: "900"/PATIENCE: "10"/' -e "s/backoffLimit: $parts\$/backoffLimit: 1/"); }
  remove_jobs
  rm -r "$(folder)"
  mkdir -p "$(folder)/3.patch.tmp"
  chown 1000:1000 "$(folder)"
  start_jobs "${edits[@]}"
  await_job bailiwick-parts 900
  [ "$ended" = Failed ] || differs "the Job of the parts is $ended"
  say "the Job of the parts fails"
  await_job bailiwick-merge $((patience + 60))
  [ "$ended" = Failed ] || differs "the merge is $ended"
  in_jobs logs job/bailiwick-merge >"$work/merge.log" 2>&1 || true
  sed 's/^/  merge: /' "$work/merge.log"
  grep -q "^no pod of a part gave a sign of life for $patience seconds; missing parts: 3/$parts\$" "$work/merge.log" || differs "the message of the merge"
  grep -q '^pod bailiwick-parts-2-[a-z0-9]*: exit code 1$' "$work/merge.log" || differs "the merge does not name the pod"
  say "the merge ends"
}

change_policies
remove_jobs
kill_parts
repeat_parts
miss_part
fail_part
remove_jobs
