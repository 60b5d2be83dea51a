# The folder of a target on the server: applied, applied again, compared. Sourced by the harnesses of this folder after server.sh,
# with `folder` set.

apply() {
  "$kubectl" apply --server-side --field-manager bailiwick "$@"
}

versions() {
  "$kubectl" get -R -f "$folder" --no-headers \
    -o custom-columns=KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name,VERSION:.metadata.resourceVersion
}

check_apply() {
  "$work/rbac" namespaces --folder "$folder" >"$work/namespaces.json" &&
    "$work/rbac" namespaces --folder "$folder" --bare >"$work/bare.json" || cannot "cannot read $folder"
  if [ -s "$work/bare.json" ]; then
    "$kubectl" create -f "$work/bare.json" >/dev/null 2>"$work/refused" || ! grep -v AlreadyExists "$work/refused" || return 1
  fi
  if [ -s "$work/namespaces.json" ]; then apply -f "$work/namespaces.json" >/dev/null || return 1; fi
  # The objects of a custom resource need its definition first.
  if [ -f "$folder/cluster/customresourcedefinition.yaml" ]; then
    apply -f "$folder/cluster/customresourcedefinition.yaml" >/dev/null || return 1
    "$kubectl" wait --for condition=Established --timeout 60s -f "$folder/cluster/customresourcedefinition.yaml" >/dev/null || return 1
  fi
  apply -R -f "$folder" >"$work/applied" || return 1
  echo "apply: $(wc -l <"$work/applied") objects accepted"
}

check_again() {
  versions >"$work/first" && apply -R -f "$folder" >/dev/null && versions >"$work/second" || cannot "kubectl failed"
  if diff "$work/first" "$work/second"; then
    echo "apply again: nothing changes"
  else
    differs "apply again"
  fi
}

check_diff() {
  if "$kubectl" diff --server-side --field-manager bailiwick -R -f "$folder"; then
    echo "kubectl diff: empty"
  else
    differs "kubectl diff"
  fi
}
