//! Which constraints admit a pod (`specs/openshift.md` 4.6): the first in the order of admission that may be used and that
//! accept the pod once they have filled in what it leaves open.
//!
//! Of the pod's creation only. An update may not fill anything in, and tries first what admitted the pod.

mod assign;
mod check;
mod resolve;

use std::fmt;

use super::Scc;
use super::order::sort;
use crate::pod::Pod;

/// The annotation by which a pod asks for one SCC and no other.
pub const REQUIRED_SCC: &str = "openshift.io/required-scc";

/// What the cluster allocated for the namespace of a pod: its annotations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allocated<'a> {
    /// The range of user ids.
    pub uid_range: Option<&'a str>,
    /// The ranges of group ids.
    pub supplemental_groups: Option<&'a str>,
    /// The SELinux level.
    pub mcs: Option<&'a str>,
}

/// What becomes of a pod.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Constraints have no say in it.
    Skipped,
    /// It is admitted.
    Admitted {
        /// By these constraints.
        scc: String,
        /// As this, with everything filled in.
        pod: Box<Pod>,
        /// Those that come before them and may be used, and why they do not accept it.
        refusals: Vec<Refusal>,
    },
    /// It is refused.
    Refused {
        /// Those that may be used, and why they do not accept it.
        refusals: Vec<Refusal>,
    },
    /// Nothing can be decided, whoever asks: one SCC of the cluster cannot be put to use here.
    Broken {
        /// Its name; empty when the namespace itself is to blame.
        scc: String,
        /// Why.
        why: Unusable,
    },
}

/// Why constraints do not accept a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Their name.
    pub scc: String,
    /// What they do not accept, a field and a few words each.
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
    /// A strategy that there is not, by its field.
    UnknownStrategy(&'static str),
    /// The pod asks for constraints that there are not.
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
            Unusable::HalfRange => formatter.write_str("`runAsUser` names one end of its range alone"),
            Unusable::UnknownStrategy(field) => write!(formatter, "the type of `{field}` is none that there is"),
            Unusable::NotThere => formatter.write_str("the pod asks for constraints that are not there"),
        }
    }
}

/// Decides, among all the constraints of a cluster, for a pod whose user or service account may use some of them.
pub fn admit(pod: &Pod, sccs: &[&Scc], may_use: impl Fn(&Scc) -> bool, allocated: Allocated<'_>) -> Verdict {
    if pod.spec.os.as_ref().is_some_and(|os| os.name == "windows") {
        return Verdict::Skipped;
    }
    let mut order = sccs.to_vec();
    sort(&mut order);
    if let Some(required) = pod.metadata.annotations.get(REQUIRED_SCC).filter(|name| !name.is_empty()) {
        order.retain(|scc| scc.name() == required);
        if order.is_empty() {
            return Verdict::Broken { scc: required.clone(), why: Unusable::NotThere };
        }
    }
    // The namespace is waited for before anything else, whether or not somebody needs what it lacks.
    if allocated.uid_range.is_none() {
        return Verdict::Broken { scc: String::new(), why: Unusable::NoUidRange };
    }
    if allocated.mcs.is_none() {
        return Verdict::Broken { scc: String::new(), why: Unusable::NoSeLinuxLevel };
    }
    let mut resolved = Vec::with_capacity(order.len());
    for scc in order {
        match resolve::resolve(scc, allocated) {
            Ok(ready) => resolved.push(ready),
            Err(why) => return Verdict::Broken { scc: scc.name().to_owned(), why },
        }
    }
    let mut refusals = Vec::new();
    for scc in resolved.iter().filter(|scc| may_use(scc)) {
        let mut filled = pod.clone();
        assign::pod(&mut filled, scc);
        let problems = check::problems(&mut filled, scc);
        if problems.is_empty() {
            return Verdict::Admitted { scc: scc.name().to_owned(), pod: Box::new(filled), refusals };
        }
        refusals.push(Refusal { scc: scc.name().to_owned(), problems });
    }
    Verdict::Refused { refusals }
}

/// True when constraints, valid as they are, keep every pod of the cluster from being created: they cannot be put to use
/// in any namespace, and admission asks all of them before it asks who may use them.
pub fn breaks_admission(scc: &Scc) -> Option<Unusable> {
    let allocated = Allocated { uid_range: Some("1000000000/10000"), supplemental_groups: None, mcs: Some("s0:c1,c0") };
    resolve::resolve(scc, allocated).err()
}
