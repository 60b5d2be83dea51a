//! The patterns of Kyverno (`validate.pattern` and `validate.anyPattern`), read as claims about fields of a pod.
//!
//! A pod passes a pattern without conditional anchors if it fulfils each claim by itself, so that each claim is a demand.
//! Left out, and not compared: conditional, global, existence and addition anchors, variables, and operators other than `|`
//! and `>0`. From `pkg/engine/anchor` and `pkg/engine/pattern` of Kyverno 1.19.

use std::collections::BTreeSet;

use bailiwick_yaml::{NodeRef, NodeValue};

use super::{Demand, UnreadRule};

/// The most claims of one pattern. The published patterns have up to 12.
const MOST_CLAIMS: usize = 200;

/// The deepest field of a pattern.
const DEEPEST: usize = 16;

/// The annotations with AppArmor profiles, as a pattern names them.
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/*";

/// The demand of a process group that is not root.
pub(super) const GROUPS: &str = "groups of processes other than 0";

/// The demand of a setting at the pod or at each container, where the level accepts either.
pub(super) const ONE_PLACE: &str = "a setting at one place, where the level accepts it at the pod or at each container";

/// The reason for a claim about another field.
const NO_CONTROL: &str = "a field that is no control of Pod Security";

/// The part of a pod with the field of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Labels and annotations.
    Metadata,
    /// The spec, without containers.
    Pod,
    /// Each container of one of the three lists.
    Containers,
}

/// The demand of a claim on the presence of its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// The field may be absent.
    Optional,
    /// The field is present.
    Required,
    /// The field is absent.
    Forbidden,
}

/// A claim about a field.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Claim {
    part: Part,
    /// The path below the part, such as `securityContext.privileged`, with `[]` behind a list.
    field: String,
    presence: Presence,
    /// The allowed values.
    values: BTreeSet<String>,
}

/// A key of a pattern without its anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step<'p> {
    name: &'p str,
    presence: Presence,
    is_list: bool,
}

/// Reads a pattern as demands. The error is the reason why it cannot be read.
pub(super) fn read(pattern: NodeRef<'_>) -> Result<Vec<Demand>, UnreadRule> {
    let claims = claims(pattern)?;
    if claims.is_empty() {
        return Err("the pattern is empty".into());
    }
    let mut demands: Vec<Demand> = Vec::new();
    for claim in &claims {
        let demand = claim.demand()?;
        if !demands.contains(&demand) {
            demands.push(demand);
        }
    }
    Ok(demands)
}

/// Reads alternatives. Two are known: a setting of the pod that no container loosens, or the same setting of each
/// container. A level with the check implies one of both for each pod.
pub(super) fn read_any(alternatives: NodeRef<'_>) -> Result<Vec<Demand>, UnreadRule> {
    let all: Vec<NodeRef<'_>> = alternatives.items().take(3).collect();
    if let [only] = all.as_slice() {
        return read(*only);
    }
    let [one, other] = all.as_slice() else { return Err("another number of alternatives than two".into()) };
    let (one, other) = (claims(*one)?, claims(*other)?);
    let demand = either(&one, &other).or_else(|| either(&other, &one));
    demand.map(|demand| vec![demand]).ok_or_else(|| UnreadRule::from("other alternatives than the published ones"))
}

/// Returns the demand of a setting at the pod, or else at each container.
fn either(at_pod: &[Claim], at_containers: &[Claim]) -> Option<Demand> {
    let first = at_pod.iter().find(|claim| claim.part == Part::Pod)?;
    let is_same = |claim: &Claim| claim.field == first.field && claim.values == first.values;
    let is_at_pod = at_pod.iter().all(|claim| {
        let expected = if claim.part == Part::Pod { Presence::Required } else { Presence::Optional };
        claim.part != Part::Metadata && claim.presence == expected && is_same(claim)
    });
    let is_at_containers = at_containers
        .iter()
        .all(|claim| claim.part == Part::Containers && claim.presence == Presence::Required && is_same(claim));
    if !is_at_pod || !is_at_containers || at_containers.is_empty() {
        return None;
    }
    match first.field.as_str() {
        "securityContext.runAsNonRoot" if has_only(&first.values, &["true"]) => Some(Demand::RunAsNonRoot),
        "securityContext.seccompProfile.type" => Some(Demand::SeccompForAll(first.values.clone())),
        "securityContext.runAsGroup" => Some(Demand::Beyond(GROUPS)),
        _ => None,
    }
}

fn claims(pattern: NodeRef<'_>) -> Result<Vec<Claim>, UnreadRule> {
    if !pattern.is_map() {
        return Err("the pattern is no map".into());
    }
    let mut found = Vec::new();
    collect(pattern, &mut Vec::new(), &mut found)?;
    Ok(found)
}

fn collect<'p>(map: NodeRef<'p>, path: &mut Vec<Step<'p>>, found: &mut Vec<Claim>) -> Result<(), UnreadRule> {
    if path.len() >= DEEPEST {
        return Err(format!("a field deeper than {DEEPEST}").into());
    }
    for (key, value) in map.entries() {
        let (name, presence) = anchor(key.as_key())?;
        let element = match value.value() {
            NodeValue::Seq(_) => Some(only_element(value)?),
            _ => None,
        };
        path.push(Step { name, presence, is_list: element.is_some() });
        let below = match element {
            Some(element) => element,
            None => value,
        };
        match below {
            inner if inner.is_map() && presence != Presence::Forbidden => collect(inner, path, found)?,
            leaf if found.len() < MOST_CLAIMS => found.push(Claim::new(path, leaf)?),
            _ => return Err(format!("more than {MOST_CLAIMS} fields").into()),
        }
        path.pop();
    }
    Ok(())
}

/// Returns the pattern of each element of a list. Kyverno applies the first pattern alone.
fn only_element(list: NodeRef<'_>) -> Result<NodeRef<'_>, UnreadRule> {
    match (list.items().next(), list.len()) {
        (Some(only), 1) if only.is_map() => Ok(only),
        _ => Err("a list without exactly one pattern for its elements".into()),
    }
}

/// Splits a key into its name and the presence by its anchor.
fn anchor(key: &str) -> Result<(&str, Presence), UnreadRule> {
    let inner = |prefix: &str| key.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(')'));
    match (inner("=("), inner("X(")) {
        (Some(name), _) => Ok((name, Presence::Optional)),
        (_, Some(name)) => Ok((name, Presence::Forbidden)),
        _ if key.is_empty() || key.contains(['(', ')', '{', '}']) => Err("an anchor that is not read".into()),
        _ => Ok((key, Presence::Required)),
    }
}

impl Claim {
    fn new(path: &[Step<'_>], leaf: NodeRef<'_>) -> Result<Self, UnreadRule> {
        let (part, own) = split(path)?;
        let (last, before) = own.split_last().ok_or_else(|| UnreadRule::from("a pattern without a field"))?;
        let are_all = |presence| own.iter().all(|step| step.presence == presence);
        let presence = match last.presence {
            Presence::Forbidden if before.iter().all(|step| step.presence == Presence::Optional) => Presence::Forbidden,
            Presence::Optional if are_all(Presence::Optional) => Presence::Optional,
            Presence::Required if are_all(Presence::Required) => Presence::Required,
            _ => return Err("fields that are required below optional fields, or the reverse".into()),
        };
        // A key with a dot is one field, and no path.
        let is_name = |step: &Step<'_>| step.name.chars().all(|letter| letter.is_ascii_alphanumeric());
        if part != Part::Metadata && !own.iter().all(is_name) {
            return Err(NO_CONTROL.into());
        }
        let values = values(leaf)?;
        if (presence == Presence::Forbidden) != has_only(&values, &["null"]) {
            return Err("`null` without the anchor `X()`, or the reverse".into());
        }
        let field: Vec<String> =
            own.iter().map(|step| format!("{}{}", step.name, if step.is_list { "[]" } else { "" })).collect();
        Ok(Self { part, field: field.join("."), presence, values })
    }

    /// Returns the demand of the claim by itself.
    fn demand(&self) -> Result<Demand, UnreadRule> {
        let allows = |values: &[&str]| has_only(&self.values, values);
        let demand = match (self.part, self.presence, self.field.as_str()) {
            (Part::Pod, Presence::Optional, "hostPID" | "hostIPC" | "hostNetwork") if allows(&["false"]) => {
                Demand::HostNamespaces
            }
            (Part::Pod, Presence::Forbidden, "volumes[].hostPath") => Demand::HostPath,
            (Part::Pod, Presence::Optional, "securityContext.sysctls[].name") => Demand::Sysctls(self.values.clone()),
            (Part::Pod, Presence::Optional, "securityContext.fsGroup" | "securityContext.supplementalGroups")
                if allows(&[">0"]) =>
            {
                Demand::Beyond(GROUPS)
            }
            (Part::Containers, Presence::Optional, "ports[].hostPort") if allows(&["0"]) => Demand::HostPorts,
            (Part::Metadata, Presence::Optional, field) if field.strip_prefix("annotations.") == Some(APP_ARMOR) => {
                Demand::AppArmorAnnotations(self.values.clone())
            }
            (Part::Containers, _, field) => match field.strip_prefix("securityContext.") {
                Some(field) => self.of_container(field).map_or_else(|| self.of_either(field), Ok)?,
                None => return Err(NO_CONTROL.into()),
            },
            (Part::Pod, _, field) => match field.strip_prefix("securityContext.") {
                Some(field) => self.of_either(field)?,
                None => return Err(NO_CONTROL.into()),
            },
            (Part::Metadata, ..) => return Err(NO_CONTROL.into()),
        };
        Ok(demand)
    }

    /// Returns the demand on a field of the security context that only containers have.
    fn of_container(&self, field: &str) -> Option<Demand> {
        let allows = |values: &[&str]| has_only(&self.values, values);
        match (self.presence, field) {
            (Presence::Optional, "privileged") if allows(&["false"]) => Some(Demand::Privileged),
            (Presence::Optional, "procMount") if allows(&["Default"]) => Some(Demand::ProcMount),
            (Presence::Required, "allowPrivilegeEscalation") if allows(&["false"]) => Some(Demand::PrivilegeEscalation),
            (Presence::Required, "readOnlyRootFilesystem") if allows(&["true"]) => Some(Demand::ReadOnlyRootFilesystem),
            _ => None,
        }
    }

    /// Returns the demand on a field of the security context that pods and containers have.
    fn of_either(&self, field: &str) -> Result<Demand, UnreadRule> {
        let allows = |values: &[&str]| has_only(&self.values, values);
        match (self.presence, field) {
            (Presence::Optional, "windowsOptions.hostProcess") if allows(&["false"]) => Ok(Demand::HostProcess),
            (Presence::Optional, "seLinuxOptions.type") => Ok(Demand::SeLinuxTypes(self.values.clone())),
            (Presence::Forbidden, "seLinuxOptions.user" | "seLinuxOptions.role") => Ok(Demand::SeLinuxUserAndRole),
            (Presence::Optional, "appArmorProfile.type") => Ok(Demand::AppArmorFields(self.values.clone())),
            (Presence::Optional, "seccompProfile.type") => Ok(Demand::Seccomp(self.values.clone())),
            (Presence::Optional, "runAsUser") if allows(&[">0"]) => Ok(Demand::RunAsUser),
            (Presence::Optional, "runAsNonRoot") if allows(&["true"]) => Ok(Demand::RunAsNonRoot),
            (Presence::Required, "runAsNonRoot" | "seccompProfile.type") => Ok(Demand::Beyond(ONE_PLACE)),
            (_, "runAsGroup") => Ok(Demand::Beyond(GROUPS)),
            _ => Err("a field of the security context with another demand than the checks".into()),
        }
    }
}

/// Splits a path into the part of the pod and the steps below it.
fn split<'s, 'p>(path: &'s [Step<'p>]) -> Result<(Part, &'s [Step<'p>]), UnreadRule> {
    let is_open = |step: &Step<'_>| step.presence != Presence::Forbidden && !step.is_list;
    let (part, own) = match path {
        [top, own @ ..] if top.name == "metadata" && top.presence == Presence::Optional && is_open(top) => {
            (Part::Metadata, own)
        }
        [top, list, own @ ..] if top.name == "spec" && is_open(top) && list.is_list && is_containers(list) => {
            (Part::Containers, own)
        }
        [top, own @ ..] if top.name == "spec" && is_open(top) => (Part::Pod, own),
        _ => return Err("a field outside of the spec of a pod".into()),
    };
    Ok((part, own))
}

/// Whether a step is a list of containers, without a demand on the presence of the list.
fn is_containers(step: &Step<'_>) -> bool {
    match step.name {
        "containers" => step.presence != Presence::Forbidden,
        "initContainers" | "ephemeralContainers" => step.presence == Presence::Optional,
        _ => false,
    }
}

/// Returns the alternatives of a leaf.
fn values(leaf: NodeRef<'_>) -> Result<BTreeSet<String>, UnreadRule> {
    let unread = || UnreadRule::from("a value with an operator that is not read");
    match leaf.value() {
        NodeValue::Bool(truth) => Ok(BTreeSet::from([truth.to_string()])),
        NodeValue::Int(number) => Ok(BTreeSet::from([number.to_string()])),
        NodeValue::Str(_) => {
            let text = leaf.as_str().ok_or_else(unread)?;
            text.split('|').map(|word| value(word.trim()).ok_or_else(unread)).collect()
        }
        _ => Err(unread()),
    }
}

/// Returns a value without wildcards and operators.
fn value(word: &str) -> Option<String> {
    let is_known = [">0", "localhost/*"].contains(&word);
    (is_known || is_plain(word)).then(|| word.to_owned())
}

/// Whether a word stands for itself in a pattern or a condition.
pub(super) fn is_plain(word: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '/');
    !word.is_empty() && word.chars().all(is_letter)
}

fn has_only(values: &BTreeSet<String>, wanted: &[&str]) -> bool {
    values.len() == wanted.len() && wanted.iter().all(|value| values.contains(*value))
}
