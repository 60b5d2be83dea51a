# The hour of the accounts of cluster.yaml, as kubectl sends it. Sourced by `run-audit` after server.sh. audit/expected.json lists the
# requests: who changes one changes both. Every command is checked for its outcome, so that the log has what it should have.
#
# Versions of kubectl differ in what they read before they write, and after an error. So all objects that kubectl changes here are read
# by a command of their own, too, and requests for missing objects are raw.

# as ACCOUNT ARGUMENTS...: with the credentials of an account, and with success.
as() {
  "$kubectl" --context "$1" "${@:2}" >/dev/null || cannot "$1 cannot: ${*:2}"
}

# fails TEXT ACCOUNT ARGUMENTS...: with the credentials of an account, and with an error of this text.
fails() {
  if "$kubectl" --context "$2" "${@:3}" >/dev/null 2>"$work/error" || ! grep -q "$1" "$work/error"; then
    cat "$work/error" >&2
    cannot "$2 should fail with '$1': ${*:3}"
  fi
}

refused() {
  fails "[Ff]orbidden" "$@"
}

# configmap NAME [KEY]: a ConfigMap in JSON.
configmap() {
  echo "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"$1\"}, \"data\": {\"key\": \"${2:-one}\"}}"
}

service() {
  echo "{\"apiVersion\": \"v1\", \"kind\": \"Service\", \"metadata\": {\"name\": \"$1\"},
    \"spec\": {\"clusterIP\": \"None\", \"ports\": [{\"port\": 80}]}}"
}

pod() {
  echo "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"$1\"}, \"spec\": {\"containers\": [{\"name\": \"c\", \"image\": \"c\"}]}}"
}

# deployment NAME [REPLICAS]: a Deployment in JSON. No controller makes its pods.
deployment() {
  echo "{\"apiVersion\": \"apps/v1\", \"kind\": \"Deployment\", \"metadata\": {\"name\": \"$1\"},
    \"spec\": {\"replicas\": ${2:-1}, \"selector\": {\"matchLabels\": {\"app\": \"$1\"}},
      \"template\": {\"metadata\": {\"labels\": {\"app\": \"$1\"}}, \"spec\": {\"containers\": [{\"name\": \"c\", \"image\": \"c\"}]}}}}"
}

# The objects of team-b are there before the hour.
furnish() {
  for object in "configmap settings" "configmap limits" "configmap other" "pod web" "deployment web"; do
    $object | as admin create -n team-b -f -
  done
}

hour_of_ann() {
  configmap settings | as ann create -n team-a -f -
  as ann get -n team-a configmaps
  as ann get -n team-a configmap settings
  as ann patch -n team-a configmap settings --type merge -p '{"data": {"key": "two"}}'
  configmap settings three | as ann replace --raw /api/v1/namespaces/team-a/configmaps/settings -f -
  as ann delete -n team-a configmap settings --wait=false
  # Authorization sees no name of a collection that is deleted, whatever the selector.
  as ann delete --raw "/api/v1/namespaces/team-a/configmaps?fieldSelector=metadata.name%3Dsettings"
  pod web | as ann create -n team-a -f -
  as ann get -n team-a pod web
  as ann get -n team-a pods -o name --field-selector metadata.name=web
  as ann get --raw "/api/v1/namespaces/team-a/pods?watch=true&timeoutSeconds=1"
  # No kubelet runs here, and the log of a pod without a node is empty.
  as ann logs -n team-a web
  as ann create token -n team-a deployer
  # The role `edit` lets its holder be every service account of the namespace.
  fails "not found" ann get --raw /api/v1/namespaces/team-a/configmaps/nothing --as system:serviceaccount:team-a:deployer
  refused ann get -n team-b secrets
  refused ann get nodes
  refused ann get --raw /metrics
  refused ann get -n team-a pods --as carol
}

hour_of_bob() {
  as bob get -n team-b configmap settings
  as bob get -n team-b configmaps -o name --field-selector metadata.name=settings
  as bob get -n team-b configmaps -o name --field-selector metadata.name=limits,metadata.namespace=team-b
  as bob get --raw "/api/v1/namespaces/team-b/configmaps?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dsettings"
  as bob get --raw "/api/v1/watch/namespaces/team-b/configmaps/limits?timeoutSeconds=1"
  as bob patch -n team-b configmap settings --type merge -p '{"data": {"key": "two"}}'
  as bob get -n team-b pods
  as bob get -n team-b pod web
  as bob get --raw "/api/v1/namespaces/team-b/pods?watch=true&timeoutSeconds=1"
  as bob logs -n team-b web
  fails "does not have a host assigned" bob create --raw "/api/v1/namespaces/team-b/pods/web/exec?command=id&stdout=true" -f /dev/null
  as bob get -n team-b deployment web
  as bob get -n team-b deployment web --subresource scale
  as bob patch -n team-b deployment web --subresource scale --type merge -p '{"spec": {"replicas": 2}}'
  as bob auth can-i list pods -n team-b
  refused bob get -n team-b configmap other
  refused bob get -n team-b configmaps
  # A selector has no say in this old form of a watch.
  refused bob get --raw "/api/v1/watch/namespaces/team-b/configmaps?timeoutSeconds=1&fieldSelector=metadata.name%3Dsettings"
  refused bob get --raw "/api/v1/namespaces/team-b/pods/web/exec?command=id&stdout=true"
  refused bob delete -n team-b deployment web --wait=false
  configmap bob | as bob create -n team-a -f -
  fails "not found" bob get --raw /api/v1/namespaces/team-a/configmaps/nothing
  as bob delete --raw "/api/v1/namespaces/team-a/configmaps?labelSelector=app%3Dbob"
}

hour_of_deployer() {
  # The first one creates, and the second one changes.
  for replicas in 1 2; do
    deployment web "$replicas" | as deployer apply --server-side -n team-a -f -
  done
  as deployer get -n team-a deployment web
  deployment api | as deployer create -n team-a -f -
  configmap release | as deployer apply --server-side -n team-a -f -
  # The patch is allowed, and the creation inside it is not.
  refused deployer apply --server-side -n team-a -f <(configmap extra)
  service web | as deployer apply --server-side -n team-a -f -
  # A PUT creates a Service.
  service api | as deployer replace --raw /api/v1/namespaces/team-a/services/api -f -
  # The audit policy drops these two.
  echo '{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "deployer"}}' | as deployer create -n team-a -f -
  as deployer get -n team-a lease deployer
  refused deployer delete -n team-a configmap release --wait=false
  refused deployer create -n team-a secret generic password
  refused deployer get -n team-a pods
}

hour_of_carol() {
  as carol get nodes
  as carol create namespace team-c
  as carol get namespaces
  as carol get namespace team-c
  as carol patch namespace team-c --type merge -p '{"metadata": {"labels": {"team": "c"}}}'
  as carol get --raw /metrics
  # The audit policy drops this one.
  as carol get --raw /healthz/ping
  as carol get -n team-a pods --as ann
  as carol get -n team-b deployments --as ann --as-group dev
  # Carol may be Dave for lists of pods alone, and Dave may not list them.
  refused carol get --raw /api/v1/namespaces/team-a/pods --as dave
  as carol create rolebinding -n team-b view-erin --clusterrole view --user erin
  as carol get -n team-b rolebinding view-erin
  # The request is allowed, and the check against escalation refuses it.
  fails "attempting to grant RBAC permissions" carol create rolebinding -n team-b edit-erin --clusterrole edit --user erin
  refused carol get -n team-a pods
  refused carol get -n team-a pods --as bob
  refused carol delete namespace team-c --wait=false
}

# A token of nobody.
hour_of_stranger() {
  fails "must be logged in" stranger get --raw /api/v1/namespaces/team-a/pods
}
