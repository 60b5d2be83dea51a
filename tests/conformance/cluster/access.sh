# The outputs of this repository on the cluster: answers with tokens, pods under policies, and an agent. Sourced by inner.sh.
. "$here/../apiserver/apply.sh"

ln -s "$built/rbac" "$work/rbac"
version=1.37
questions=1000
[ -z "$short" ] || questions=500
image=bailiwick:$release

# apply_output TARGET: the committed output of a target.
apply_output() {
  folder=$root/out/$1
  echo "-- $1"
  check_apply || differs "apply of $1"
}

# driver COMMAND OPTION...: the program of this harness; returns its code.
driver() {
  "$built/cluster" "$1" --binary "$binary" --kubeconfig "$KUBECONFIG" --folder "$folder" --version "$version" --seed "${SEED:-1}" "${@:2}"
}

# check_answers WHAT COMMAND OPTION...
check_answers() {
  local code=0
  driver "${@:2}" || code=$?
  case $code in
    0) ;;
    1) differs "$1" ;;
    *) cannot "$1 did not run" ;;
  esac
}

# ask_with_tokens: with tokens of TokenRequests, and from pods with the tokens that the kubelet mounts.
ask_with_tokens() {
  local account accounts=(checkout-dev/ci)
  [ -n "$short" ] || accounts+=(payments-test/ci web-dev/ci)
  "$kubectl" get clusterroles,clusterrolebindings,roles,rolebindings --all-namespaces -o yaml >"$work/dump.yaml"
  check_answers tokens tokens --dump "$work/dump.yaml" --count "$questions"
  for account in "${accounts[@]}"; do
    check_answers "a pod of $account" pod --account "$account" --image "docker.io/library/$image" --count $((questions / 5))
  done
}

# lie_about_tokens: without the bindings of the teams' accounts, the server has other answers.
lie_about_tokens() {
  local code=0 namespace
  for namespace in $("$kubectl" get rolebindings --all-namespaces --field-selector metadata.name=ci -o 'jsonpath={.items[*].metadata.namespace}'); do
    "$kubectl" -n "$namespace" delete rolebinding ci >/dev/null
  done
  sleep 2
  driver tokens --dump "$work/dump.yaml" --count 200 >"$work/lie.txt" 2>&1 || code=$?
  case $code in
    1) echo "self-test: missing bindings are noticed" ;;
    *) cat "$work/lie.txt"; differs "self-test: missing bindings end with $code" ;;
  esac
}

# certificate NAME SUBJECT: a person with a kubeconfig.
certificate() {
  certify "$1" "$2" && kubeconfig "$1" "https://127.0.0.1:$server_port" >"$work/$1.kubeconfig"
}

# predict FILE IDENTITY...: sets `predicted` and `reason` for the creation of a pod.
predict() {
  local code=0
  "$binary" can-i create pods -n "$(jq -r .metadata.namespace "$1")" "${@:2}" --from "$folder" --kubernetes-version "$version" --admission "$1" >"$work/predicted" 2>"$work/predicted.err" || code=$?
  predicted=$(head -n 1 "$work/predicted")
  # Behind the authorization, the second line is the message of the server.
  reason=$(sed -n '2s/^  //p' "$work/predicted" | grep -E 'denied request|^violates' || true)
  case $code/$predicted in
    0/yes | 1/no) ;;
    *) cat "$work/predicted" "$work/predicted.err" >&2; cannot "can-i ended with $code" ;;
  esac
}

# The beginning of a message of the server about a request that no authorizer allows.
unauthorized='" cannot '

# agrees ANSWER: whether the answer of the server, `yes` or its message, is the predicted one.
agrees() {
  case $predicted in
    yes) [ "$1" = yes ] ;;
    *) [ "$1" != yes ] && [[ $1 == *"${reason:-$unauthorized}"* ]] ;;
  esac
}

# make_pod FILTER: a pod that the base and a filter of jq make.
make_pod() {
  jq --arg image "$image" --arg script "$(cat "$here/facts.sh")" \
    '.spec.containers[0] += {image: $image, command: ["sh", "-c", $script]} | '"$1" "$base" >"$work/pod.json"
}

# ask_pod NAME PERSON EXPECTED: creates the pod as a person, and compares with the prediction and with what is written here.
ask_pod() {
  local answer=yes
  "$kubectl" --kubeconfig "$work/$2.kubeconfig" create -f "$work/pod.json" >/dev/null 2>"$work/answer" || answer=$(cat "$work/answer")
  if agrees "$answer" && [ "$predicted" = "$3" ]; then
    echo "pod $1: $predicted ${reason#* denied request: }"
  else
    differs "pod $1: can-i $predicted ${reason:-}, expected $3, the server: $answer"
  fi
  [ "$answer" = yes ]
}

# compare_facts EXPECTED: what the pod finds inside.
compare_facts() {
  "$kubectl" wait --for 'jsonpath={.status.phase}=Succeeded' --timeout 60s -f "$work/pod.json" >/dev/null || { differs "the pod does not run"; return; }
  "$kubectl" logs "$(jq -r .metadata.name "$work/pod.json")" -n "$(jq -r .metadata.namespace "$work/pod.json")" >"$work/facts"
  if same_facts "$1"; then echo "  inside: $1"; else differs "inside: $(cat "$work/facts"), stated: $1"; fi
  "$kubectl" delete --wait=false -f "$work/pod.json" >/dev/null
}

same_facts() { [ "$(cat "$work/facts")" = "$1" ]; }

# pods_of_tool: a user of out/toolforge-modern, whose profile states uid, groups, capabilities and seccomp.
pods_of_tool() {
  local uid name expected filter facts
  base=$here/pods/tool.json
  uid=$(sed -n 's/^ *bailiwick.dev\/uid: "\(.*\)"/\1/p' "$folder/namespaces/tool-zoo.yaml")
  facts="uid $uid gid $uid groups 1 $uid effective 0000000000000000 bounding 0000000000000000 no-new-privileges 1 seccomp 2"
  while IFS='|' read -r name expected filter; do
    make_pod ".metadata.name = \"$name\" | .spec.securityContext.fsGroup = $uid | .spec.containers[0].securityContext += {runAsUser: $uid, runAsGroup: $uid} | $filter"
    predict "$work/pod.json" --as zoo
    if ask_pod "$name" zoo "$expected"; then compare_facts "$facts"; fi
  done <"$here/pods/tool.cases"
}

# pods_of_team: a developer of out/company-test, whose namespace has the level restricted.
pods_of_team() {
  local name expected filter identity=(--as dora --as-group company:checkout --as-group system:authenticated)
  base=$here/pods/team.json
  while IFS='|' read -r name expected filter; do
    make_pod ".metadata.name = \"$name\" | $filter"
    predict "$work/pod.json" "${identity[@]}"
    if ask_pod "$name" dora "$expected"; then
      compare_facts "uid 1234 gid 1235 groups 1235 2000 effective 0000000000000000 bounding 0000000000000000 no-new-privileges 1 seccomp 2"
    fi
  done <"$here/pods/team.cases"
}

# lie_about_pods: another verdict, another message, and another uid inside.
lie_about_pods() {
  predicted=yes reason=
  ! agrees forbidden || differs "self-test: a verdict"
  predicted=no reason='denied request: another'
  ! agrees 'Error from server: denied request: one' || differs "self-test: a message"
  echo "uid 0" >"$work/facts"
  ! same_facts "uid 1" || differs "self-test: a fact"
  echo "self-test: three lies about pods are noticed"
}

apply_output company-test
certificate dora /O=company:checkout/CN=dora
ask_with_tokens
pods_of_team
[ "$failures" -gt 0 ] || lie_about_tokens
apply_output toolforge-modern
certificate zoo /CN=zoo
pods_of_tool
[ "$failures" -gt 0 ] || lie_about_pods
apply_output nodes
. "$here/agent.sh"
