# A node of Kubernetes, started by process 1 of namespaces of its own. Sourced by inner.sh after apiserver/server.sh.

# The addresses of the node, which is the gateway of its pods, and of the Service `kubernetes`.
node_address=10.1.0.1
service_address=10.0.0.1
server_port=443
server_names=IP:127.0.0.1,IP:$node_address,IP:$service_address
# The server listens on every address of the namespace, so that pods reach the Service without kube-proxy.
server_flags=(
  --bind-address 0.0.0.0 --advertise-address "$node_address" --endpoint-reconciler-type lease
  --enable-admission-plugins NodeRestriction --kubelet-preferred-address-types InternalIP
  --kubelet-client-certificate "$work/admin.crt" --kubelet-client-key "$work/admin.key"
)

# isolate: a network without a way out, and folders that programs use whatever their configuration says.
isolate() {
  local folder
  ip link set lo up && ip address add "$service_address/32" dev lo && ip link add cni0 type bridge &&
    ip address add "$node_address/24" dev cni0 && ip link set cni0 up || cannot "cannot make a network"
  for folder in /run /var/lib /var/log /opt; do
    mount -t tmpfs tmpfs "$folder" || cannot "cannot mount over $folder"
  done
  mkdir /run/netns
  keep_parameters
  # Containers take mounts from the kubelet.
  mount --make-rshared /
}

# keep_parameters: the kubelet sets parameters of the whole machine (pkg/kubelet/cm/container_manager_linux.go). It finds its values in
# files in front of them, and changes nothing.
keep_parameters() {
  local parameter value
  mkdir "$work/parameters"
  while read -r parameter value; do
    echo "$value" >"$work/parameters/${parameter##*/}"
    mount --bind "$work/parameters/${parameter##*/}" "/proc/sys/$parameter" || cannot "cannot mount over $parameter"
  done <<EOF
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
EOF
}

ctr() { command ctr --address "$work/containerd.sock" --namespace k8s.io "$@"; }

start_containerd() {
  export PATH=$runtime/usr/bin:$runtime/usr/sbin:$PATH
  mkdir -p "$work/cni"
  cat >"$work/cni/10-bridge.conflist" <<EOF
{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "ipam": {
  "type": "host-local", "dataDir": "$work/ipam", "ranges": [[{"subnet": "10.1.0.0/24", "gateway": "$node_address"}]],
  "routes": [{"dst": "0.0.0.0/0"}]}}]}
EOF
  cat >"$work/containerd.toml" <<EOF
version = 2
root = "$work/containerd"
state = "$work/containerd-state"
[grpc]
address = "$work/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "localhost/pause:1"
# The capability to lower a score is missing even for root on some machines.
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "$runtime/usr/lib/cni"
conf_dir = "$work/cni"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
BinaryName = "$runtime/usr/sbin/runc"
SystemdCgroup = false
EOF
  containerd --config "$work/containerd.toml" >"$work/containerd.log" 2>&1 &
  await containerd $! ctr version
  for image in pause bailiwick; do
    ctr images import "$built/$image.tar" >/dev/null || cannot "cannot import the image $image"
  done
}

start_control_plane() {
  local name
  certificates
  for name in controller-manager scheduler; do certify "$name" "/CN=system:kube-$name"; done
  certify node /O=system:nodes/CN=system:node:node1
  for name in controller-manager scheduler node; do kubeconfig "$name" "https://$service_address" >"$work/$name.kubeconfig"; done
  start
  "$manager" --kubeconfig "$work/controller-manager.kubeconfig" --leader-elect=false --bind-address 127.0.0.1 \
    --use-service-account-credentials --root-ca-file "$work/ca.crt" --service-account-private-key-file "$work/accounts.key" \
    >"$work/controller-manager.log" 2>&1 &
  "$scheduler" --kubeconfig "$work/scheduler.kubeconfig" --leader-elect=false --bind-address 127.0.0.1 >"$work/scheduler.log" 2>&1 &
}

start_kubelet() {
  : >"$work/resolv.conf"
  cat >"$work/kubelet.yaml" <<EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /$cgroup
containerRuntimeEndpoint: unix://$work/containerd.sock
address: $node_address
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $work/ca.crt}}
makeIPTablesUtilChains: false
resolvConf: $work/resolv.conf
podLogsDir: $work/podlogs
volumePluginDir: $work/plugins
# The disk of the machine is no matter of the test, and a collected image cannot be pulled again.
evictionHard: {memory.available: 100Mi}
imageGCHighThresholdPercent: 100
failSwapOn: false
EOF
  "$kubelet" --config "$work/kubelet.yaml" --kubeconfig "$work/node.kubeconfig" --root-dir "$work/kubelet" --cert-dir "$work/kubelet-certificates" \
    --hostname-override node1 --node-ip "$node_address" >"$work/kubelet.log" 2>&1 &
  await kubelet $! "$kubectl" wait --for condition=Ready --timeout 1s node/node1
  await kubelet $! "$kubectl" get serviceaccount default
}

start_cluster() {
  isolate
  start_containerd
  start_control_plane
  start_kubelet
  "$kubectl" version | sed 's/^/cluster: /'
  "$kubectl" get nodes --no-headers -o custom-columns=NAME:.metadata.name,KUBELET:.status.nodeInfo.kubeletVersion,RUNTIME:.status.nodeInfo.containerRuntimeVersion |
    sed 's/^/cluster: /'
}
