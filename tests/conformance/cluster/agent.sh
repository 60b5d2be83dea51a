# The agent of out/nodes: what its pod on node1 may write with the token that the kubelet mounts. Sourced by access.sh.

agent=system:serviceaccount:disks:disk-agent

# start_agent: the DaemonSet of the policies with our image, beside a second Node.
start_agent() {
  "$kubectl" create --dry-run=client -o json -f "$root/policies/nodes/manifests/workloads.yaml" |
    jq --arg image "$image" 'select(.kind == "DaemonSet") | .spec.template.spec |= (.dnsPolicy = "Default" | .terminationGracePeriodSeconds = 1
      | .containers[0] += {image: $image, command: ["sleep", "3600"]})' | "$kubectl" apply -f - >/dev/null &&
    "$kubectl" apply -f - >/dev/null <<EOF || cannot "cannot start the agent"
apiVersion: v1
kind: Node
metadata: {name: node2}
---
apiVersion: disks.example.org/v1
kind: DiskState
metadata: {name: node2}
spec: {nodeName: node2}
EOF
  await kube-apiserver "$server_pid" agent_runs
  agent_pod=$("$kubectl" -n disks get pods --field-selector spec.nodeName=node1 -o name)
}

agent_runs() { "$kubectl" -n disks get pods --field-selector spec.nodeName=node1,status.phase=Running -o name | grep -q .; }

# path_of: the path of the object in new.json or, if it is gone, old.json.
path_of() {
  jq -rs 'map(select(. != null))[0] | (if .kind == "Node" then "/api/v1/nodes" else "/apis/disks.example.org/v1/diskstates" end) as $all
    | if $create == "create" then $all else $all + "/" + .metadata.name end' --arg create "$1" "$work/new.json" "$work/old.json"
}

# request VERB PATCH: from inside the agent's pod; prints the code and the body.
request() {
  local method body=$work/new.json
  case $1 in
    create) method=POST ;;
    patch) method=PATCH body=$work/patch.json ;;
    update) method=PUT ;;
    delete) method=DELETE body=/dev/null ;;
  esac
  "$kubectl" -n disks exec -i "$agent_pod" -- sh -c "
    mounted=/var/run/secrets/kubernetes.io/serviceaccount
    curl --silent --write-out '\n%{http_code}' --cacert \$mounted/ca.crt --header \"Authorization: Bearer \$(cat \$mounted/token)\" \
      --header 'Content-Type: $([ "$1" = patch ] && echo application/merge-patch+json || echo application/json)' --request $method \
      --data-binary @- \"https://\$KUBERNETES_SERVICE_HOST$(path_of "$1")\"" <"$body"
}

# predict_write VERB: sets `predicted` and `reason` for the write of new.json in place of old.json.
predict_write() {
  local code=0 kind name objects=()
  kind=$(jq -rs 'map(select(. != null))[0].kind' "$work/new.json" "$work/old.json")
  name=$(jq -rs 'map(select(. != null))[0].metadata.name' "$work/new.json" "$work/old.json")
  case $1 in
    create) name= objects=(--admission "$work/new.json") ;;
    delete) objects=(--admission "$work/old.json") ;;
    *) objects=(--admission "$work/new.json" --admission-old "$work/old.json") ;;
  esac
  case $kind in
    Node) kind=nodes ;;
    *) kind=diskstates.disks.example.org ;;
  esac
  "$binary" can-i "$1" "$kind" $name --as "$agent" --as-user-extra authentication.kubernetes.io/node-name=node1 --from "$folder" \
    --kubernetes-version "$version" "${objects[@]}" >"$work/predicted" 2>"$work/predicted.err" || code=$?
  predicted=$(head -n 1 "$work/predicted")
  reason=$(sed -n '2s/^  //p' "$work/predicted" | grep 'denied request' || true)
  case $code/$predicted in
    0/yes | 1/no) ;;
    *) cat "$work/predicted" "$work/predicted.err" >&2; cannot "can-i ended with $code" ;;
  esac
}

# answer_of VERB: sets `answer` to yes or the message of the server.
answer_of() {
  local code
  request "$1" >"$work/answer"
  code=$(tail -n 1 "$work/answer")
  case $code in
    20?) answer=yes ;;
    403 | 422) answer=$(sed '$d' "$work/answer" | jq -r .message) ;;
    *) cat "$work/answer" >&2; cannot "the server answers $code to the agent" ;;
  esac
}

# try_write NAME VERB OBJECT EXPECTED FILTER: a write of the agent. The filter makes the new object; OBJECT is the old one, or `-`.
try_write() {
  echo null >"$work/old.json"
  [ "$3" = - ] || "$kubectl" get "$3" -o json >"$work/old.json"
  jq "$5" "$work/old.json" >"$work/new.json"
  jq -n --slurpfile new "$work/new.json" '$new[0] | {metadata: {labels: .metadata.labels}, spec}' >"$work/patch.json"
  predict_write "$2"
  answer_of "$2"
  if agrees "$answer" && [ "$predicted" = "$4" ]; then
    echo "agent, $1: $predicted ${reason#* denied request: }"
  else
    differs "agent, $1: can-i $predicted ${reason:-}, expected $4, the server: $answer"
  fi
}

writes_of_agent() {
  local name verb object expected filter
  while IFS='|' read -r name verb object expected filter; do
    try_write "$name" "$verb" "$object" "$expected" "$filter"
  done <"$here/agent.cases"
}

# lie_about_agent: without the binding of its policy, the agent writes what can-i denies.
lie_about_agent() {
  "$kubectl" delete -f "$folder/cluster/validatingadmissionpolicybinding.yaml" >/dev/null
  sleep 3
  local before=$failures
  try_write "another node's object" patch diskstate/node2 no '.metadata.labels = {changed: "yes"}' >/dev/null
  if [ "$failures" -gt "$before" ]; then
    failures=$before
    echo "self-test: a missing binding of the agent's policy is noticed"
  else
    differs "self-test: the agent without its policy"
  fi
}

start_agent
writes_of_agent
[ "$failures" -gt 0 ] || lie_about_agent
