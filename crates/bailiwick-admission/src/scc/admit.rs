//! The admission of a pod by constraints: the first usable constraints, in the order of priority, without a violation
//! after their defaults (`pkg/securitycontextconstraints/sccadmission/admission.go` of
//! openshift/apiserver-library-go).
//!
//! Covers the creation of a pod. An update fills in no defaults, and tries the constraints of the first admission
//! first.

mod assign;
mod check;
mod resolve;

use std::fmt;

use super::Scc;
use super::order::sort;
use crate::pod::Pod;

/// The annotation of a pod with the name of the one SCC to use.
pub const REQUIRED_SCC: &str = "openshift.io/required-scc";

/// The annotation of a pod with the name of the constraints that admitted it.
pub const CONSTRAINTS: &str = "openshift.io/scc";

/// The annotations of the namespace allocated by the cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allocated<'a> {
    /// The range of user ids.
    pub uid_range: Option<&'a str>,
    /// The ranges of group ids.
    pub supplemental_groups: Option<&'a str>,
    /// The SELinux level.
    pub mcs: Option<&'a str>,
}

/// The result of admission for a pod.
#[derive(Debug, Clone, PartialEq)]
pub enum SccAdmission {
    /// The pod is exempt from constraints.
    Skipped,
    /// The pod is admitted with defaults.
    Admitted {
        /// By these constraints.
        scc: String,
        /// As this, with everything filled in.
        pod: Box<Pod>,
        /// The usable constraints with a higher priority, and their violations.
        refusals: Vec<SccRejection>,
    },
    /// The pod is rejected by every usable SCC.
    Refused {
        /// The usable constraints, and their violations.
        refusals: Vec<SccRejection>,
    },
    /// No decision for any user: one SCC of the cluster is unusable here.
    Broken {
        /// Name of the SCC; empty if the namespace is the cause.
        scc: String,
        /// The error.
        why: Unusable,
    },
}

/// Why constraints do not accept a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SccRejection {
    /// Their name.
    pub scc: String,
    /// The violations, each with a field and a short text.
    pub problems: Vec<String>,
}

/// Why constraints cannot be put to use in a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unusable {
    /// The namespace has no range of user ids.
    NoUidRange,
    /// The namespace has no SELinux level.
    NoSeLinuxLevel,
    /// The namespace has no range of group ids.
    NoGroups,
    /// A range of the namespace cannot be read.
    MalformedRange,
    /// `MustRunAs` without a user.
    NoUser,
    /// `MustRunAsRange` with one end of the range alone.
    HalfRange,
    /// An unknown strategy, by its field.
    UnknownStrategy(&'static str),
    /// The pod requires unknown constraints.
    NotThere,
}

impl fmt::Display for Unusable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::NoUidRange => formatter.write_str("the namespace has no range of user ids"),
            Unusable::NoSeLinuxLevel => formatter.write_str("the namespace has no SELinux level"),
            Unusable::NoGroups => formatter.write_str("the namespace has no range of group ids"),
            Unusable::MalformedRange => formatter.write_str("a range of the namespace cannot be read"),
            Unusable::NoUser => formatter.write_str("`runAsUser` is `MustRunAs` and names no user"),
            Unusable::HalfRange => formatter.write_str("`runAsUser` has only one end of its range"),
            Unusable::UnknownStrategy(field) => write!(formatter, "the type of `{field}` is none that there is"),
            Unusable::NotThere => formatter.write_str("the pod asks for constraints that are not there"),
        }
    }
}

/// Decides about a pod, among all constraints of a cluster, with the constraints usable by its user or service
/// account.
pub fn admit(pod: &Pod, sccs: &[&Scc], may_use: impl Fn(&Scc) -> bool, allocated: Allocated<'_>) -> SccAdmission {
    if pod.spec.os.as_ref().is_some_and(|os| os.name == "windows") {
        return SccAdmission::Skipped;
    }
    let mut order = sccs.to_vec();
    sort(&mut order);
    if let Some(required) = pod.metadata.annotations.get(REQUIRED_SCC).filter(|name| !name.is_empty()) {
        order.retain(|scc| scc.name() == required);
        if order.is_empty() {
            return SccAdmission::Broken { scc: required.clone(), why: Unusable::NotThere };
        }
    }
    // Admission waits for the annotations of the namespace first, needed or not.
    if allocated.uid_range.is_none() {
        return SccAdmission::Broken { scc: String::new(), why: Unusable::NoUidRange };
    }
    if allocated.mcs.is_none() {
        return SccAdmission::Broken { scc: String::new(), why: Unusable::NoSeLinuxLevel };
    }
    let mut resolved = Vec::with_capacity(order.len());
    for scc in order {
        match resolve::resolve(scc, allocated) {
            Ok(ready) => resolved.push(ready),
            Err(why) => return SccAdmission::Broken { scc: scc.name().to_owned(), why },
        }
    }
    let mut refusals = Vec::new();
    for scc in resolved.iter().filter(|scc| may_use(scc)) {
        let mut filled = pod.clone();
        assign::pod(&mut filled, scc);
        let problems = check::problems(&mut filled, scc);
        if problems.is_empty() {
            return SccAdmission::Admitted { scc: scc.name().to_owned(), pod: Box::new(filled), refusals };
        }
        refusals.push(SccRejection { scc: scc.name().to_owned(), problems });
    }
    SccAdmission::Refused { refusals }
}

/// Returns the error of valid constraints with a block on every pod of the cluster: they are unusable in any
/// namespace, and admission resolves all constraints before it checks access.
pub fn breaks_admission(scc: &Scc) -> Option<Unusable> {
    let allocated = Allocated { uid_range: Some("1000000000/10000"), supplemental_groups: None, mcs: Some("s0:c1,c0") };
    resolve::resolve(scc, allocated).err()
}
