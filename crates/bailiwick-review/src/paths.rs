//! The escalation paths that come, go or become shorter.

use std::collections::{BTreeMap, BTreeSet};

use bailiwick_access::World;
use bailiwick_access::proof::{Chain, RuleLink};
use bailiwick_admission::installed::InstalledPolicies;
use bailiwick_analysis::account_names::AccountNames;
use bailiwick_analysis::classes::Spread;
use bailiwick_analysis::path_step::{ReviewedStep, reviewed_step};
use bailiwick_analysis::proof::{ProofPart, RightsProof};
use bailiwick_analysis::subject_classes::{Member, bound_by_inputs, joined};
use bailiwick_kubernetes::rbac::PolicyRule;
use bailiwick_paths::{Certainty, EdgeKind, EscalationGraph, EscalationPath, GraphInputs, PathStep, Power};
use bailiwick_yaml::diag::Origin;

use super::access::evidence;
use super::accounts::AccountComparison;
use super::causes::{CausePlace, InputChanges};
use super::record::{CauseKind, EffectSeverity, PathChangeKind, Side, SmallerChange};
use super::state::TargetState;

/// A change of an escalation path for a class of subjects.
#[derive(Debug, Clone)]
pub(super) struct PathDelta {
    pub(super) change: PathChangeKind,
    pub(super) members: Vec<Member>,
    pub(super) targets: Vec<String>,
    pub(super) reaches: String,
    /// Whether the power is one in a namespace, and not in the whole cluster.
    pub(super) within_namespace: bool,
    pub(super) severity: EffectSeverity,
    pub(super) certainty: Certainty,
    /// The power and the steps with holes for the names of a tenant, the same for alike paths.
    pub(super) shape: Vec<String>,
    /// The steps of the path of the first member.
    pub(super) steps: Vec<ReviewedStep>,
    pub(super) causes: Vec<CausePlace>,
    /// The subject of the steps.
    pub(super) subject: String,
    /// The rules behind the new steps; none for a path that goes.
    pub(super) needs: Vec<NeededRule>,
    /// A smaller, checked change without the path.
    pub(super) closes: Option<SmallerChange>,
}

impl PathDelta {
    /// Whether the path comes, or becomes shorter.
    pub(super) fn is_new(&self) -> bool {
        self.change != PathChangeKind::Gone
    }
}

/// A rule behind a new step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NeededRule {
    pub(super) edge: EdgeKind,
    /// The namespace of the step; none for the whole cluster.
    pub(super) namespace: Option<String>,
    /// The part of the rule that the step needs.
    pub(super) rule: PolicyRule,
    /// The places of the role and of the binding in the inputs.
    pub(super) places: Vec<InputPlace>,
}

/// A place in an input of a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InputPlace {
    pub(super) path: String,
    /// The first byte.
    pub(super) start: usize,
}

/// Both states of a target, with the changed lines of the inputs.
pub(super) struct PathComparison<'c> {
    /// The earlier state; none for a new target.
    pub(super) base: Option<&'c TargetState<'c>>,
    /// The earlier roles and bindings; of a new target the default policy.
    pub(super) base_world: &'c World,
    pub(super) head: &'c TargetState<'c>,
    pub(super) inputs: &'c InputChanges<'c>,
    pub(super) accounts: &'c AccountComparison,
    pub(super) spread: &'c Spread<'c>,
    /// The accounts of the namespaces of the earlier and of the reviewed state.
    pub(super) names: [&'c AccountNames<'c>; 2],
}

/// The paths of a state by subject and power.
type PathsByPower = BTreeMap<(String, Power), EscalationPath>;

/// The steps of paths: the nodes and the edge between them.
type StepKeys = BTreeSet<(String, String, String)>;

/// How many alike paths are reported one by one.
const MAXIMUM_APART: usize = 20;

/// The properties that equal changes of several subjects share.
type Likeness = (PathChangeKind, Certainty, Vec<String>);

impl PathComparison<'_> {
    /// Compares the paths of all subjects.
    pub(super) fn compare(&self) -> Vec<PathDelta> {
        let before = self.base.map_or_else(PathsByPower::new, |base| paths(base, Some(self.head)));
        let after = paths(self.head, self.base);
        let known: StepKeys = before.values().flat_map(|path| &path.steps).map(step_key).collect();
        let mut bound = bound_by_inputs(self.base_world);
        bound.extend(bound_by_inputs(&self.head.loaded.world));
        let mut groups: BTreeMap<Likeness, Vec<&EscalationPath>> = BTreeMap::new();
        let mut add = |change: PathChangeKind, path| {
            if !self.is_of_new_account(path) {
                groups.entry((change, path.certainty, self.shape_beside(&bound, path))).or_default().push(path);
            }
        };
        for (key, path) in &after {
            match before.get(key) {
                None => add(PathChangeKind::New, path),
                Some(old) if (path.certainty, path.steps.len()) < (old.certainty, old.steps.len()) => {
                    add(PathChangeKind::Shorter, path);
                }
                Some(_) => {}
            }
        }
        before
            .iter()
            .filter(|(key, _)| !after.contains_key(*key))
            .for_each(|(_, path)| add(PathChangeKind::Gone, path));
        let mut deltas = Vec::new();
        for ((change, _, shape), paths) in groups {
            let folded = if paths.iter().map(|path| self.weight(path)).sum::<usize>() > MAXIMUM_APART {
                vec![paths]
            } else {
                paths.into_iter().map(|path| vec![path]).collect()
            };
            deltas.extend(folded.iter().filter_map(|paths| self.delta(change, paths, &shape, &known)));
        }
        deltas
    }

    /// Returns how many paths a path stands for.
    fn weight(&self, path: &EscalationPath) -> usize {
        let namespaces = path.steps.iter().filter_map(|step| step.namespace.as_deref());
        namespaces.map(|namespace| self.spread.weight(namespace)).max().map_or(1, |weight| weight)
    }

    /// Whether a path stays within accounts of an unchanged class that come or go.
    fn is_of_new_account(&self, path: &EscalationPath) -> bool {
        let is_folded =
            |namespace: &str| self.accounts.added.contains(namespace) || self.accounts.removed.contains(namespace);
        let is_within = |step: &PathStep| step.namespace.as_deref().is_some_and(is_folded);
        let is_local = match &path.reaches {
            Power::NamespaceAdmin(namespace) | Power::Secrets(namespace) | Power::Account { namespace, .. } => {
                is_folded(namespace)
            }
            _ => false,
        };
        is_local && path.steps.iter().all(is_within)
    }

    /// Returns the change of alike paths.
    fn delta(
        &self,
        change: PathChangeKind,
        paths: &[&EscalationPath],
        shape: &[String],
        known: &StepKeys,
    ) -> Option<PathDelta> {
        // The path of the first namespace stands for the others.
        let namespace = |path: &EscalationPath| path.steps.first().and_then(|step| step.namespace.clone());
        let first = paths.iter().min_by_key(|path| (namespace(path), &path.subject))?;
        let earlier = self.base.filter(|_| change == PathChangeKind::Gone);
        let state = earlier.map_or(self.head, |base| base);
        let member = |path: &&EscalationPath| Member {
            subject: path.subject.clone(),
            namespaces: namespace(path).into_iter().collect(),
        };
        Some(PathDelta {
            change,
            members: joined(paths.iter().map(member).collect()),
            targets: vec![state.target.name.clone()],
            reaches: first.reaches.to_string(),
            within_namespace: first.reaches.is_within_namespace(),
            severity: severity(first, change),
            certainty: first.certainty,
            shape: shape.to_vec(),
            steps: self.steps(first, state, known),
            causes: self.causes(first, change, known),
            subject: first.subject.clone(),
            needs: if change == PathChangeKind::Gone { Vec::new() } else { self.needs(first, known) },
            closes: None,
        })
    }

    /// Returns the shape of a path. Components of the control plane are alike whatever their way to the power, if the default policy
    /// alone binds them.
    fn shape_beside(&self, bound: &BTreeSet<String>, path: &EscalationPath) -> Vec<String> {
        let is_of_default_policy = is_component(&path.subject) && !bound.contains(&path.subject);
        if is_of_default_policy { vec![path.reaches.to_string()] } else { self.shape(path) }
    }

    /// Returns the power and the steps of a path, with holes for the names of a tenant. Another subject keeps its name.
    fn shape(&self, path: &EscalationPath) -> Vec<String> {
        let own = |text: &str| self.without_own_names(text, path);
        let mut shape = vec![own(&path.reaches.to_string())];
        for step in &path.steps {
            shape.push(own(&step.label()));
            shape.push(own(&step.to.to_string()));
        }
        if !self.is_like_others(path) {
            shape.push(path.subject.clone());
        }
        shape
    }

    /// Whether a namespace belongs to an account of a Tenancy.
    fn is_account(&self, namespace: &str) -> bool {
        let is_in = |state: &TargetState<'_>| state.accounts.contains_key(namespace);
        is_in(self.head) || self.base.is_some_and(is_in)
    }

    /// Whether a path runs through an account of a Tenancy, so that other accounts can have the same.
    fn is_like_others(&self, path: &EscalationPath) -> bool {
        path.steps.first().and_then(|step| step.namespace.as_deref()).is_some_and(|name| self.is_account(name))
    }

    /// Puts holes in the place of the subject, of the namespaces of accounts, and of the values of the account of the first step.
    fn without_own_names(&self, text: &str, path: &EscalationPath) -> String {
        if text == path.subject {
            return "{subject}".to_owned();
        }
        let mut own = text.to_owned();
        for name in text.split(['@', '/', ':']).filter(|name| self.is_account(name)) {
            own = own.replace(name, "{namespace}");
        }
        match path.steps.first().and_then(|step| step.namespace.as_deref()) {
            Some(namespace) => self.names.iter().fold(own, |own, names| names.template(&own, Some(namespace))),
            None => own,
        }
    }

    fn steps(&self, path: &EscalationPath, state: &TargetState<'_>, known: &StepKeys) -> Vec<ReviewedStep> {
        let files = &state.workspace.project().files;
        let root = self.inputs.path_from_root("");
        path.steps.iter().map(|step| reviewed_step(step, files, &root, !known.contains(&step_key(step)))).collect()
    }

    /// Returns the rules behind the new steps of a path of the reviewed state.
    fn needs(&self, path: &EscalationPath, known: &StepKeys) -> Vec<NeededRule> {
        let files = &self.head.workspace.project().files;
        let at = |place: Origin| InputPlace {
            path: files.get(place.file).path().to_owned(),
            start: place.span.start as usize,
        };
        let new = path.steps.iter().filter(|step| !known.contains(&step_key(step)));
        let rules = new.flat_map(|step| {
            let chains = step.chains.iter();
            chains.flat_map(move |chain| chain.rules.iter().map(move |rule| (step, chain, rule)))
        });
        let need = |(step, chain, rule): (&PathStep, &Chain, &RuleLink)| {
            let roles = rule.gathered_from.iter().chain([&chain.role, &chain.binding]);
            NeededRule {
                edge: step.edge,
                namespace: step.namespace.clone(),
                rule: rule.rule.clone(),
                places: roles.filter_map(|link| link.place.map(at)).collect(),
            }
        };
        rules.map(need).collect()
    }

    /// Returns the causes of a path: the changed lines of the bindings and roles of its new steps.
    fn causes(&self, path: &EscalationPath, change: PathChangeKind, known: &StepKeys) -> Vec<CausePlace> {
        let (side, other) = match change {
            PathChangeKind::Gone => (Side::Base, &self.head.loaded.world),
            PathChangeKind::New | PathChangeKind::Shorter => (Side::Head, self.base_world),
        };
        let is_new = |step: &&PathStep| change == PathChangeKind::Gone || !known.contains(&step_key(step));
        let chains: Vec<&Chain> = path.steps.iter().filter(is_new).flat_map(|step| &step.chains).collect();
        let parts = chains.into_iter().flat_map(|chain| {
            chain.rules.iter().map(move |rule| ProofPart { chain: chain.clone(), rule: rule.clone() })
        });
        let proof = RightsProof { parts: parts.collect() };
        let places: BTreeSet<CausePlace> =
            proof.parts.iter().filter_map(|part| self.inputs.cause_of(&evidence(part, side, other))).collect();
        if places.is_empty() {
            return self.inputs.first(CauseKind::File).into_iter().collect();
        }
        places.into_iter().map(|place| place.as_kind(CauseKind::Rule)).collect()
    }
}

/// Returns the graph of the paths of a state, with the subjects of the other state.
pub(super) fn graph<'s>(state: &'s TargetState<'_>, further_subjects: &'s [String]) -> Option<EscalationGraph<'s>> {
    let installed: Option<&InstalledPolicies> =
        (!state.pods.admission_policies.is_empty()).then_some(&state.pods.admission_policies);
    Some(EscalationGraph::new(GraphInputs {
        world: &state.loaded.world,
        cluster: state.loaded.cluster()?,
        admission: &state.pods.objects,
        installed,
        is_openshift: state.target.platform == bailiwick_policy::model::Platform::Openshift,
        further_subjects,
    }))
}

/// Returns the names of the subjects of bindings.
fn subject_names(state: &TargetState<'_>) -> Vec<String> {
    state.loaded.world.subjects_with_scopes().into_iter().map(|subject| subject.name).collect()
}

/// Returns the paths of a state, without paths that a better one includes. A subject that only bindings of the other state name has
/// the paths of its groups.
fn paths(state: &TargetState<'_>, other: Option<&TargetState<'_>>) -> PathsByPower {
    let further = other.map_or_else(Vec::new, subject_names);
    let Some(graph) = graph(state, &further) else { return PathsByPower::new() };
    let subjects = graph.subjects();
    let kept = subjects.iter().flat_map(|subject| graph.separate_paths_of(subject));
    kept.map(|path| ((path.subject.clone(), path.reaches.clone()), path)).collect()
}

/// Whether a subject has the name of a component of the control plane.
fn is_component(subject: &str) -> bool {
    subject.starts_with("ServiceAccount/kube-system/") || subject.starts_with("User/system:")
}

fn step_key(step: &PathStep) -> (String, String, String) {
    (step.from.to_string(), step.label(), step.to.to_string())
}

/// Returns the severity of a path: the severity of its power, one step less for a possible path.
fn severity(path: &EscalationPath, change: PathChangeKind) -> EffectSeverity {
    if change == PathChangeKind::Gone {
        return EffectSeverity::None;
    }
    path.certainty.severity_of(&path.reaches).into()
}
