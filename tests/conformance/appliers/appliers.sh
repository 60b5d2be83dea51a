# An applier of GitOps beside a kube-apiserver: what flux/run and argocd/run share. Sourced by them, with `here`, `binary`, `root` and
# `short` set. The driver appliers/cmd/appliers has the checks; the shell starts the programs.
. "$here/../apiserver/server.sh"
applier_pids=()

# The appliers end before their server.
stop_all() {
  for pid in "${applier_pids[@]}"; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  stop
}
trap stop_all EXIT

# place NAME MODULE: prints the path of a program of the Go module in $here, which has the version of MODULE.
place() {
  local version
  version=$(cd "$here" && go list -m -f '{{.Version}}' "$2") || cannot "go list failed"
  echo "$cache/$1-$version"
}

is_built() {
  [ -x "$(place "$@")" ]
}

# build_tool NAME PACKAGE MODULE [OPTION...]: prints the path of a program, built once for each version.
build_tool() {
  local built
  built=$(place "$1" "$3")
  if [ ! -x "$built" ]; then
    echo "building $1, which takes some minutes" >&2
    local begin=$SECONDS
    (cd "$here" && go build -o "$built.$$" -ldflags '-s -w' "${@:4}" "$2") >&2 || cannot "go build of $1 failed"
    mv "$built.$$" "$built"
    echo "built $1 in $((SECONDS - begin)) s" >&2
  fi
  echo "$built"
}

# folder_of MODULE [VERSION]: prints the folder of a Go module in the module cache, after a download if the module is not there. Without a
# version, the version is the one of the go.mod of the harness.
folder_of() {
  local beside=$here folder
  [ $# -eq 1 ] || beside=$work
  folder=$(cd "$beside" && go mod download -json "$1${2:+@$2}" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  [ -d "$folder" ] || cannot "cannot download $1"
  echo "$folder"
}

# launch NAME COMMAND...: starts a program of an applier, with its log in the work folder.
launch() {
  local name=$1
  shift
  "$@" >"$work/$name.log" 2>&1 &
  applier_pids+=($!)
}

# is_open PORT
is_open() {
  (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

prepare_appliers() {
  command -v git >/dev/null || cannot "git is not installed"
  prepare_server
  (cd "$module" && go build -trimpath -buildvcs=false -o "$work/appliers" ./appliers/cmd/appliers) || cannot "go build failed"
  # The plugin of kubectl finds both programs as a user has them.
  mkdir "$work/bin"
  ln -s "$binary" "$work/bin/bailiwick"
  ln -s "$kubectl" "$work/bin/kubectl"
  PATH=$work/bin:$PATH
}

# driver VERB APPLIER [OPTION...]: runs the driver with the server that runs.
driver() {
  "$work/appliers" "$@" --kubeconfig "$KUBECONFIG" --work "$work"
}

# check APPLIER [OPTION...]: all checks, or the check ONLY; the exit code of the script follows from them. With MATRIX=1, the permissions that an
# account of the applier can do without are printed instead.
check() {
  local code=0
  driver check "$@" --binary "$binary" --root "$root" --seed "${SEED:-1}" $short ${ONLY:+--only "$ONLY"} ${MATRIX:+--matrix} || code=$?
  case $code in
    0) ;;
    1) echo "$1: checks failed"; exit 1 ;;
    *) cannot "$1: the checks did not run" ;;
  esac
}
