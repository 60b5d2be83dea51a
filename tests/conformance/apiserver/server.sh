# A kube-apiserver that is built from source, on loopback beside an etcd: what the harnesses of this folder share. Sourced
# by them, with `here` and `binary` set. What is built or fetched is kept in $BAILIWICK_CONFORMANCE_CACHE, or else
# ${XDG_CACHE_HOME:-~/.cache}/bailiwick-conformance.
module=$here/..
cache=${BAILIWICK_CONFORMANCE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bailiwick-conformance}
work=$(mktemp -d)
failures=0
# What a harness wants of the server beside what all of them want. Of two equal flags the second decides.
server_flags=()
# The port, if not a free one, and the addresses in the certificate.
server_port=
server_names=IP:127.0.0.1,DNS:localhost
etcd_pid=
server_pid=

# Only what was started here is stopped, the server first, or it would fill its log with complaints.
stop() {
  for pid in $server_pid $etcd_pid; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap stop EXIT
trap 'exit 3' INT TERM

cannot() {
  echo "apiserver: $*" >&2
  local log
  for log in "$work"/*.log; do
    [ ! -s "$log" ] || { echo "-- end of the log of $(basename "$log" .log)" >&2; tail -n 15 "$log" >&2; }
  done
  exit 3
}

differs() {
  echo "$1: DIFFERS"
  failures=$((failures + 1))
}

# build NAME [MODULE]: a program of Kubernetes at the version that the module pins, once.
build() {
  local version module=${2:-$module}
  version=$(cd "$module" && go list -m -f '{{.Version}}' k8s.io/kubernetes) || cannot "go list failed"
  local built=$cache/$1-$version
  if [ ! -x "$built" ]; then
    echo "building $1 $version, which takes some minutes" >&2
    local stamp=k8s.io/component-base/version
    (cd "$module" && go build -o "$built.$$" \
      -ldflags "-s -w -X $stamp.gitVersion=$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=$(cut -d. -f2 <<<"$version")" \
      "k8s.io/kubernetes/cmd/$1") >&2 || cannot "go build of $1 failed"
    mv "$built.$$" "$built"
  fi
  echo "$built"
}

# fetch PROGRAM PACKAGE...: the program of Debian's packages, unpacked and not installed, since installing them starts a server.
fetch() {
  local program=$1 there=$cache/$1/usr/bin/$1 package
  shift
  if [ ! -x "$there" ]; then
    command -v apt-get >/dev/null || cannot "$program is not installed, and there is no apt-get to fetch it"
    mkdir -p "$work/packages" "$cache/$program"
    (cd "$work/packages" && { apt-get download "$@" || { apt-get update && apt-get download "$@"; }; } &&
      for package in *.deb; do dpkg-deb -x "$package" "$cache/$program" || exit; done) >&2 || cannot "cannot fetch $*"
    rm -r "$work/packages"
  fi
  echo "$there"
}

prepare() {
  prepare_server
  (cd "$module" && go build -trimpath -buildvcs=false -o "$work/rbac" ./rbac/cmd/rbac) || cannot "go build failed"
}

# What the server itself needs.
prepare_server() {
  for tool in go openssl; do
    command -v "$tool" >/dev/null || cannot "$tool is not installed"
  done
  mkdir -p "$cache"
  # RELEASE=1.33 starts a server of an older release, which has a module of its own.
  local older=$module/kubernetes/v${RELEASE:-}
  [ -z "${RELEASE:-}" ] || [ -d "$older" ] || cannot "there is no module for the release $RELEASE"
  apiserver=$(build kube-apiserver ${RELEASE:+"$older"})
  etcd=$(command -v etcd || fetch etcd etcd-server)
  kubectl=$(command -v kubectl || build kubectl)
}

# free_ports: the first of three in a row, below those that the system gives to connections. Somebody may take them
# before we do, but then the start fails and says so.
free_ports() {
  local first port
  while :; do
    first=$((10000 + RANDOM % 20000))
    for port in $first $((first + 1)) $((first + 2)); do
      ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || continue 2
    done
    echo "$first"
    return
  done
}

# certify NAME SUBJECT [EXTENSION]: a key and a certificate of our own authority.
certify() {
  openssl req -newkey rsa:2048 -nodes -keyout "$work/$1.key" -subj "$2" -out "$work/$1.csr" 2>/dev/null &&
    openssl x509 -req -in "$work/$1.csr" -CA "$work/ca.crt" -CAkey "$work/ca.key" -CAcreateserial -days 2 \
      -extfile <(echo "${3:-basicConstraints=CA:FALSE}") -out "$work/$1.crt" 2>/dev/null
}

certificates() {
  openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/ca.key" -subj /CN=conformance -days 2 -out "$work/ca.crt" 2>/dev/null &&
    certify server /CN=kube-apiserver "subjectAltName=$server_names" &&
    certify admin /O=system:masters/CN=admin &&
    openssl genrsa -out "$work/accounts.key" 2048 2>/dev/null || cannot "openssl failed"
}

# kubeconfig NAME SERVER: the configuration of a client with the certificate of that name.
kubeconfig() {
  cat <<EOF
apiVersion: v1
kind: Config
clusters:
- name: conformance
  cluster: {server: "$2", certificate-authority: $work/ca.crt}
users:
- name: $1
  user: {client-certificate: $work/$1.crt, client-key: $work/$1.key}
contexts:
- name: conformance
  context: {cluster: conformance, user: $1}
current-context: conformance
EOF
}

# await NAME PID COMMAND...: until the command succeeds or the process is gone.
await() {
  local name=$1 pid=$2
  shift 2
  for _ in $(seq 300); do
    kill -0 "$pid" 2>/dev/null || cannot "$name does not start"
    ! "$@" >/dev/null 2>&1 || return 0
    sleep 0.2
  done
  cannot "$name is not ready after a minute"
}

start() {
  local client peer secure
  client=$(free_ports) peer=$((client + 1)) secure=${server_port:-$((client + 2))}
  "$etcd" --name conformance --data-dir "$work/etcd" \
    --listen-client-urls "http://127.0.0.1:$client" --advertise-client-urls "http://127.0.0.1:$client" \
    --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
    --initial-cluster "conformance=http://127.0.0.1:$peer" >"$work/etcd.log" 2>&1 &
  etcd_pid=$!
  await etcd "$etcd_pid" bash -c "exec 3<>/dev/tcp/127.0.0.1/$client"
  "$apiserver" --etcd-servers "http://127.0.0.1:$client" --authorization-mode Node,RBAC \
    --bind-address 127.0.0.1 --advertise-address 127.0.0.1 --secure-port "$secure" --endpoint-reconciler-type none \
    --tls-cert-file "$work/server.crt" --tls-private-key-file "$work/server.key" --client-ca-file "$work/ca.crt" \
    --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$work/accounts.key" \
    --service-account-signing-key-file "$work/accounts.key" --service-cluster-ip-range 10.0.0.0/24 \
    --allow-privileged "${server_flags[@]}" >"$work/server.log" 2>&1 &
  server_pid=$!
  kubeconfig admin "https://127.0.0.1:$secure" >"$work/kubeconfig"
  # Its cache of the discovery stays with it, too.
  export KUBECONFIG=$work/kubeconfig HOME=$work
  await kube-apiserver "$server_pid" "$kubectl" get --raw /readyz
  await kube-apiserver "$server_pid" "$kubectl" get namespaces default kube-system
}

# judge LABEL COMMAND...: of the module, with a server that runs.
judge() {
  local code=0
  "$work/rbac" "${@:2}" --kubeconfig "$KUBECONFIG" || code=$?
  case $code in
    0) ;;
    1) differs "$1" ;;
    *) cannot "$1 did not run" ;;
  esac
}
