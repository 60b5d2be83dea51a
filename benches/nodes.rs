//! Measures the reach of every node of a large cluster: `cargo bench --bench nodes -- [NODES]`.
//!
//! By default 5,000 nodes, and before that a quarter and a half of them, to show the growth. Each node has 30 pods that
//! are bound to it, in one of a thousand namespaces. A pod has a Secret of its own, a Secret of the namespace and
//! ConfigMaps, and each third pod has a volume with a Secret; a tenth of the accounts have grants. Beside the pods
//! there are 20 DaemonSets on all nodes and 200 Deployments that are limited to a pool.
//!
//! Prints one JSON object per line: the seconds to read the manifests and build the world, to build the graph, and to
//! compute the reach of every node with the permissions of its accounts. As the peer, `yaml_serde` reads the same texts.

#![expect(clippy::print_stdout, reason = "the report is what it is for")]

use std::error::Error;
use std::fmt::Write;
use std::time::Instant;

use bailiwick::access::{Builder, ObjectSource};
use bailiwick::diag::{FileId, Sink};
use bailiwick::node::graph::{Graph, ObjectKind};
use bailiwick::node::powers::Powers;
use bailiwick::node::reach::NodeReachability;
use bailiwick::node::{Cluster, ServerVersion};
use bailiwick::yaml;
use serde::Deserialize as _;
use serde_json::json;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Pods of a node.
const PODS: usize = 30;
/// The number of namespaces.
const NAMESPACES: usize = 1_000;
/// Pods of a text.
const A_TEXT: usize = 500;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds `--bench`.
    let count: usize = match std::env::args().skip(1).find(|argument| !argument.starts_with("--")) {
        Some(count) => count.parse()?,
        None => 5_000,
    };
    for count in [count / 4, count / 2, count] {
        measure(count)?;
    }
    Ok(())
}

fn measure(nodes: usize) -> Result<(), Box<dyn Error>> {
    let texts = texts(nodes)?;
    let bytes: usize = texts.iter().map(String::len).sum();
    let started = Instant::now();
    let mut cluster = Cluster::new(ServerVersion::new(36)?);
    let mut builder = Builder::new(36).with_default_policy(36);
    let mut sink = Sink::new();
    let mut tree = yaml::Tree::new(FileId::default());
    for text in &texts {
        yaml::read_into(text, &mut tree, &mut sink);
        for object in tree.documents() {
            _ = builder.add(object, ObjectSource::Input(object.origin()));
            cluster.add(object);
        }
    }
    let world = builder.build();
    let read = started.elapsed();
    let started = Instant::now();
    let graph = Graph::from_cluster(&cluster);
    let built = started.elapsed();
    let started = Instant::now();
    let atlas = NodeReachability::new(&cluster, &graph);
    let mut powers = Powers::new(&world, &cluster.version);
    let (mut secrets, mut accounts, mut trampolines) = (0, 0, 0);
    for name in cluster.node_names() {
        let reach = atlas.of_node(name, false);
        secrets += reach.of_kind(ObjectKind::Secret).count();
        let carried = powers.carried(&reach);
        accounts += carried.len();
        trampolines += carried.iter().filter(|carried| !carried.powers.is_empty()).count();
    }
    let reached = started.elapsed();
    let started = Instant::now();
    let mut documents = 0;
    for text in &texts {
        for document in serde_yaml::Deserializer::from_str(text) {
            documents += usize::from(serde_json::Value::deserialize(document)?.is_object());
        }
    }
    let peer = started.elapsed();
    let report = json!({
        "nodes": nodes,
        "pods": nodes * PODS,
        "documents": documents,
        "bytes": bytes,
        "errors": sink.has_errors(),
        "secrets": secrets,
        "accounts": accounts,
        "trampolines": trampolines,
        "readSeconds": read.as_secs_f64(),
        "graphSeconds": built.as_secs_f64(),
        "reachSeconds": reached.as_secs_f64(),
        "totalSeconds": (read + built + reached).as_secs_f64(),
        "peerSeconds": peer.as_secs_f64(),
    });
    println!("{report}");
    Ok(())
}

/// Returns the manifests in the form of a dump of the cluster.
fn texts(nodes: usize) -> Result<Vec<String>, std::fmt::Error> {
    let mut texts = Vec::new();
    let mut text = String::new();
    for node in 0..nodes {
        write!(
            text,
            "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: node-{node}\n  labels:\n    kubernetes.io/hostname: node-{node}\n    node-restriction.kubernetes.io/pool: pool-{}\nspec:\n  podCIDR: 10.0.0.0/24\n",
            node % 10
        )?;
    }
    texts.push(std::mem::take(&mut text));
    for pod in 0..nodes * PODS {
        pod_text(pod, nodes, &mut text)?;
        if (pod + 1) % A_TEXT == 0 {
            texts.push(std::mem::take(&mut text));
        }
    }
    texts.push(std::mem::take(&mut text));
    workloads(&mut text)?;
    rights(&mut text)?;
    texts.push(text);
    Ok(texts)
}

fn pod_text(pod: usize, nodes: usize, text: &mut String) -> std::fmt::Result {
    let (node, namespace, account) = (pod % nodes, pod % NAMESPACES, pod % 7);
    write!(
        text,
        "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: pod-{pod}\n  namespace: team-{namespace}\n  uid: 00000000-0000-4000-8000-{pod:012}\n  labels:\n    app: app-{account}\nspec:\n  nodeName: node-{node}\n  serviceAccountName: runner-{account}\n  containers:\n  - name: main\n    image: registry.example.org/team-{namespace}/app:{account}\n    env:\n    - name: PASSWORD\n      valueFrom:\n        secretKeyRef:\n          name: own-{pod}\n          key: password\n    envFrom:\n    - configMapRef:\n        name: settings\n    volumeMounts:\n    - mountPath: /keys\n      name: keys\n  volumes:\n  - name: keys\n    secret:\n      secretName: team-keys\n  - name: kube-api-access\n    projected:\n      sources:\n      - serviceAccountToken:\n          path: token\n      - configMap:\n          name: kube-root-ca.crt\n"
    )?;
    if pod.is_multiple_of(3) {
        write!(text, "  - name: data\n    persistentVolumeClaim:\n      claimName: data-{pod}\n")?;
    }
    text.push_str("status:\n  phase: Running\n");
    if pod.is_multiple_of(3) {
        write!(
            text,
            "---\napiVersion: v1\nkind: PersistentVolume\nmetadata:\n  name: pv-{pod}\nspec:\n  claimRef:\n    namespace: team-{namespace}\n    name: data-{pod}\n  csi:\n    driver: disks.example.org\n    volumeHandle: v{pod}\n    nodeStageSecretRef:\n      namespace: storage\n      name: stage-{}\n",
            pod % 50
        )?;
    }
    Ok(())
}

fn workloads(text: &mut String) -> std::fmt::Result {
    for number in 0..20 {
        write!(
            text,
            "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata:\n  name: agent-{number}\n  namespace: kube-system\nspec:\n  template:\n    spec:\n      serviceAccountName: agent-{number}\n      tolerations:\n      - operator: Exists\n      containers:\n      - name: agent\n        image: agent:{number}\n      volumes:\n      - name: s\n        secret:\n          secretName: agent-{number}\n"
        )?;
    }
    for number in 0..200 {
        write!(
            text,
            "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: team-{number}\nspec:\n  template:\n    spec:\n      nodeSelector:\n        node-restriction.kubernetes.io/pool: pool-{}\n      containers:\n      - name: web\n        image: web:1\n      volumes:\n      - name: s\n        secret:\n          secretName: web\n",
            number % 10
        )?;
    }
    Ok(())
}

fn rights(text: &mut String) -> std::fmt::Result {
    for namespace in (0..NAMESPACES).step_by(10) {
        for account in 0..7 {
            write!(
                text,
                "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: runner-{account}\n  namespace: team-{namespace}\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: edit\nsubjects:\n- kind: ServiceAccount\n  name: runner-{account}\n  namespace: team-{namespace}\n"
            )?;
        }
    }
    text.push_str("---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata:\n  name: agent-0\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: cluster-admin\nsubjects:\n- kind: ServiceAccount\n  name: agent-0\n  namespace: kube-system\n");
    Ok(())
}
