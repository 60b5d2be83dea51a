//! Measures the labels of a large cluster: `cargo bench --bench labels -- [NAMESPACES]`.
//!
//! By default 100,000 namespaces, with three service accounts each, a binding to constraints in each second namespace,
//! and fifty SCCs beside the SCCs of an OpenShift installation. Prints one JSON object: the seconds to read the
//! objects, to settle them and to compute every outcome, and the number of conversions, at most two per SCC.

#![expect(clippy::print_stdout, reason = "the report is what it is for")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::time::Instant;

use bailiwick::admission::labels::Settings;
use bailiwick::admission::labels::namespace::{PodSecurityLabel, Source};
use bailiwick::admission::labels::world::SyncBuilder;
use bailiwick::admission::scc::release::{Release, SyncMode};
use bailiwick::diag::{FileId, Sink};
use bailiwick::yaml;
use serde_json::json;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The number of SCCs beside the SCCs of the payload.
const OWN_SCCS: usize = 50;
/// The SCCs that tenants are bound to, in turn.
const SCCS: [&str; 5] = ["anyuid", "nonroot-v2", "privileged", "hostnetwork-v2", "own-7"];
/// How the cluster's own decide the user, in turn.
const STRATEGIES: [&str; 3] = ["MustRunAsRange", "MustRunAsNonRoot", "RunAsAny"];

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds `--bench`.
    let count: usize = match std::env::args().skip(1).find(|argument| !argument.starts_with("--")) {
        Some(count) => count.parse()?,
        None => 100_000,
    };
    let texts: Vec<String> = (0..count).map(tenant).collect::<Result<_, _>>()?;
    let release = Release { major: 4, minor: 20 };
    let settings = Settings { mode: SyncMode::Enforcing, ..Settings::from_release(release) };
    let started = Instant::now();
    let mut builder = SyncBuilder::new(settings).with_defaults(false);
    let mut tree = yaml::Tree::new(FileId::default());
    let mut sink = Sink::new();
    let constraints = (0..OWN_SCCS).map(own_constraints).collect::<Result<Vec<_>, _>>()?;
    for text in constraints.iter().chain(&texts) {
        yaml::read_into(text, &mut tree, &mut sink);
        for object in tree.documents() {
            builder.add(object, Source::Declared)?;
        }
    }
    let read = started.elapsed();
    let started = Instant::now();
    let world = builder.build();
    let settled = started.elapsed();
    let started = Instant::now();
    let mut levels: BTreeMap<String, usize> = BTreeMap::new();
    for namespace in world.namespaces() {
        if let Some(outcome) = world.outcome(namespace) {
            *levels.entry(outcome.labels.get(PodSecurityLabel::Enforce).unwrap_or("none").to_owned()).or_default() += 1;
        }
    }
    let labelled = started.elapsed();
    let report = json!({
        "namespaces": count,
        "serviceAccounts": count * 3,
        "sccs": world.sccs().len(),
        "conversions": world.conversions(),
        "levels": levels,
        "readSeconds": read.as_secs_f64(),
        "settleSeconds": settled.as_secs_f64(),
        "labelSeconds": labelled.as_secs_f64(),
    });
    println!("{report}");
    Ok(())
}

/// Returns a namespace with its service accounts; each second namespace has a binding.
fn tenant(number: usize) -> Result<String, std::fmt::Error> {
    let mut text = format!("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: tenant-{number}\n");
    for account in ["builder", "default", "deployer"] {
        write!(
            text,
            "---\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {account}\n  namespace: tenant-{number}\n"
        )?;
    }
    if number % 2 == 1 {
        let scc = SCCS.get(number / 2 % SCCS.len()).copied().unwrap_or_default();
        write!(
            text,
            "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: scc\n  namespace: tenant-{number}\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: system:openshift:scc:{scc}\nsubjects:\n- kind: ServiceAccount\n  name: default\n  namespace: tenant-{number}\n"
        )?;
    }
    Ok(text)
}

/// Constraints of the cluster's own, with the role that grants them. Each third needs the range of the namespace.
fn own_constraints(number: usize) -> Result<String, std::fmt::Error> {
    let strategy = STRATEGIES.get(number % STRATEGIES.len()).copied().unwrap_or_default();
    let mut text = format!(
        "apiVersion: security.openshift.io/v1\nkind: SecurityContextConstraints\nmetadata:\n  name: own-{number}\nallowPrivilegeEscalation: false\nrequiredDropCapabilities:\n- ALL\nrunAsUser:\n  type: {strategy}\nseLinuxContext:\n  type: MustRunAs\nseccompProfiles:\n- runtime/default\nvolumes:\n- secret\n"
    );
    write!(
        text,
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: system:openshift:scc:own-{number}\nrules:\n- apiGroups:\n  - security.openshift.io\n  resources:\n  - securitycontextconstraints\n  resourceNames:\n  - own-{number}\n  verbs:\n  - use\n"
    )?;
    Ok(text)
}
