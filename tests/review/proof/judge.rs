//! The judgement of one pair: the review, the questions, and the comparison of both.

use std::collections::BTreeSet;
use std::path::Path;

use bailiwick::admission::pod::Pod;
use bailiwick::app::review::{
    AccessChange, ChangeCertainty, ChangeReview, Direction, EffectChange, EffectSeverity, PodChange, PodChangeKind,
    ReviewBase, ReviewOptions, Scope, Verdict,
};
use bailiwick::k8s::rbac::PolicyRule;
use bailiwick::{Options, Workspace};
use serde_json::{Value, json};

use super::cluster::{ADMINISTRATOR, AND, Answer, Cluster, Part};
use super::probes::{Probe, probes};
use super::questions::{Answers, Question, question_of, questions, subjects};
use super::tally::Tally;
use super::worlds::{Area, Pair, Side};
use crate::access::{Evaluator, recorded_policy};
use crate::oracle::{Dice, Naive, implicit_groups};
use crate::support::rounds;

/// A pair with everything that answers questions about it.
struct Judgement<'p> {
    pair: &'p Pair,
    review: &'p ChangeReview,
    base: Cluster<'p>,
    head: Cluster<'p>,
    probes: Vec<Probe>,
    /// The subjects of the questions about pods.
    accounts: Vec<String>,
}

/// Reviews one pair, asks questions about it, and adds the answers to the tally.
pub(super) fn judge(pair: &Pair, dice: &mut Dice, count: usize, tally: &mut Tally) {
    let folder = tempfile::tempdir().expect("a folder");
    pair.base.write(&folder.path().join("base"));
    pair.head.write(&folder.path().join("head"));
    let review = review(folder.path());
    let (old, new) = (world(&pair.base), world(&pair.head));
    let (mut was, mut is) = (Answers::new(&old), Answers::new(&new));
    let objects: Vec<&Value> = pair.base.access.iter().chain(&pair.head.access).collect();
    let asked = questions(dice, [&pair.base.access, &pair.head.access], &differing_rules(pair), count);
    tally.questions += asked.len();
    let policies = DefaultPolicies::new(pair);
    let mut defaults = DefaultAnswers::new(&policies, &objects);
    let has_versions = pair.base.minor() != pair.head.minor();
    let mut differing: Vec<(&Question, bool, bool)> = Vec::new();
    let mut by_default = false;
    for question in &asked {
        let answers = [was.allow(question), is.allow(question)];
        if answers[0] == answers[1] {
            continue;
        }
        if has_versions && defaults.explain(question, answers) {
            by_default = true;
        } else {
            differing.push((question, answers[0], answers[1]));
        }
    }
    let accounts: Vec<String> = accounts();
    let judgement = Judgement {
        pair,
        review: &review,
        base: Cluster::new(&pair.base, &old, &accounts),
        head: Cluster::new(&pair.head, &new, &accounts),
        probes: if pair.area == Area::Access { Vec::new() } else { probes(dice, rounds(20, 60)) },
        accounts,
    };
    let pods = judgement.pods(tally);
    let elsewhere = judgement.elsewhere();
    let mut faults: Vec<String> = judgement.by_verdict(&differing, &pods).into_iter().collect();
    faults.extend(judgement.by_answers_elsewhere(&elsewhere));
    faults.extend(review.effects.iter().filter_map(|effect| judgement.unconfirmed(effect, &mut was, &mut is)));
    let proven = review.pods.iter().filter(|change| change.certainty == ChangeCertainty::Proven);
    let unconfirmed = proven.filter(|change| !judgement.is_confirmed(change));
    faults.extend(unconfirmed.map(|change| format!("no pod confirms {}", json!(change))));
    let has_possible = review.pods.iter().any(|change| change.certainty == ChangeCertainty::Possible);
    tally.possible += usize::from(has_possible && elsewhere.is_empty());
    // Every effect and every proven change of pods is confirmed, or a fault. Paths follow from the permissions of components of the
    // default policy, and from policies that no account of the inputs may use, too.
    let has_path = !review.paths.is_empty() && (by_default || judgement.differs_for_administrator());
    let differs = !differing.is_empty() || !pods.is_empty() || !elsewhere.is_empty() || has_path;
    let is_confirmed = differs || !judgement.is_cautious();
    tally.add(pair, &review, is_confirmed);
    tally.faults.extend(faults.into_iter().take(1).map(|fault| judgement.described(&fault)));
}

/// A pod with different answers of both sides.
struct Difference<'d> {
    subject: &'d str,
    namespace: &'static str,
    probe: &'d Probe,
    was: Answer,
    is: Answer,
}

/// The namespaces of both sides.
const NAMESPACES: [&str; 2] = ["a", "b"];

impl Judgement<'_> {
    /// Returns the pods with different answers of both sides.
    fn pods(&self, tally: &mut Tally) -> Vec<Difference<'_>> {
        let mut found = Vec::new();
        let mut known = BTreeSet::new();
        for (subject, namespace) in self.accounts.iter().flat_map(|subject| NAMESPACES.map(|name| (subject, name))) {
            // Subjects that may use the same policies have the same answers.
            let usable = [&self.base, &self.head].map(|cluster| cluster.usable(subject, namespace));
            if !known.insert((namespace, usable)) {
                continue;
            }
            for probe in &self.probes {
                let was = self.base.answer(subject, namespace, probe);
                let is = self.head.answer(subject, namespace, probe);
                tally.pods += 1;
                if was != is {
                    found.push(Difference { subject, namespace, probe, was, is });
                }
            }
        }
        found
    }

    /// Whether a pod of a user of all policies has different answers of both sides.
    fn differs_for_administrator(&self) -> bool {
        let places = NAMESPACES.iter().flat_map(|namespace| self.probes.iter().map(move |probe| (namespace, probe)));
        places.into_iter().any(|(namespace, probe)| {
            let [was, is] = [&self.base, &self.head].map(|side| side.answer(ADMINISTRATOR, namespace, probe));
            was != is
        })
    }

    /// Returns the answers of the admission policies of both sides that differ in Namespaces beside the Namespaces of the sides.
    fn elsewhere(&self) -> Vec<[bool; 2]> {
        let labels = [json!({}), json!({"team": "x"}), json!({"team": "y"})];
        let places = labels.map(|labels| json!({"kind": "Namespace", "metadata": {"name": "zz", "labels": labels}}));
        let asked = places.iter().flat_map(|place| self.probes.iter().map(move |probe| (place, probe)));
        let answers = asked.filter(|_| self.pair.area == Area::Policy).map(|(place, probe)| {
            [&self.base, &self.head].map(|cluster| cluster.policies_admit_in("zz", place, probe))
        });
        answers.filter(|[was, is]| was != is).collect()
    }

    /// Compares the verdict with answers in Namespaces beside the Namespaces of the sides.
    fn by_answers_elsewhere(&self, answers: &[[bool; 2]]) -> Option<String> {
        let is_wrong = match self.review.verdict {
            Some(Verdict::NoChange) => !answers.is_empty(),
            Some(Verdict::OnlyLess) => answers.contains(&[false, true]),
            _ => false,
        };
        is_wrong.then(|| "admission policies differ in another namespace".to_owned())
    }

    /// Compares the verdict with the answers.
    fn by_verdict(&self, differing: &[(&Question, bool, bool)], pods: &[Difference<'_>]) -> Option<String> {
        let question = |(question, was, is): &(&Question, bool, bool)| {
            format!("{} is answered {was} and then {is}", question.asked)
        };
        let pod = |found: &Difference<'_>| {
            let Difference { subject, namespace, probe, was, is } = found;
            format!("{subject} in {namespace}: {}\nwas {was:?}\nis {is:?}", probe.json)
        };
        let has_hazard = self.review.hazards.iter().any(|hazard| hazard.severity > EffectSeverity::Info);
        let review = self.review;
        // A new component of another version can have a path that others had.
        let is_empty = review.effects.is_empty() && review.pods.is_empty() && review.paths.is_empty();
        match self.review.verdict {
            None => Some("no verdict".to_owned()),
            Some(Verdict::CannotTell) => None,
            Some(Verdict::NoChange) => differing.first().map(question).or_else(|| pods.first().map(pod)),
            Some(Verdict::OnlyLess) => {
                let gained = differing.iter().find(|(_, was, is)| !was && *is);
                let admitted = pods.iter().find(|found| !found.was.is_allowed && found.is.is_allowed);
                gained.map(question).or_else(|| admitted.map(pod))
            }
            Some(_) if is_empty && !has_hazard => Some("nothing is listed".to_owned()),
            Some(_) => None,
        }
        .or_else(|| {
            let is_wrong = self.pair.is_equal && self.review.verdict != Some(Verdict::NoChange) && !has_hazard;
            let is_known = self.review.verdict == Some(Verdict::CannotTell) || self.is_cautious();
            (is_wrong && !is_known).then(|| "both sides are equal by construction".to_owned())
        })
    }

    /// Whether the review lists no effect but possible changes of admission policies.
    fn is_cautious(&self) -> bool {
        let is_possible = |change: &PodChange| change.certainty == ChangeCertainty::Possible;
        self.review.effects.is_empty() && self.review.pods.iter().all(is_possible)
    }

    /// Returns the first right of an effect that no question confirms.
    fn unconfirmed(&self, effect: &AccessChange, was: &mut Answers<'_>, is: &mut Answers<'_>) -> Option<String> {
        let class = &self.review.classes[effect.class];
        let wanted = (effect.change == EffectChange::Lost, effect.change == EffectChange::Gained);
        for member in class.members.iter() {
            let scopes = match effect.scope {
                Scope::Cluster => vec!["zz", ""],
                Scope::Namespaces => member.namespaces().filter_map(scope).collect(),
            };
            for atom in effect.rights.iter().flat_map(PolicyRule::atoms) {
                let mut confirms = |scope: &&'static str| {
                    let question = question_of(member.subject, &atom, scope);
                    (was.allow(&question), is.allow(&question)) == wanted
                };
                if !scopes.iter().any(&mut confirms) {
                    return Some(format!("{} {:?} {atom:?} is not confirmed", member.subject, effect.change));
                }
            }
        }
        None
    }

    /// Whether a pod confirms a change of the admission of pods: it is admitted in one state alone, or it may do less in one state.
    fn is_confirmed(&self, change: &PodChange) -> bool {
        let confirms = |was: Option<(String, Pod)>, is: Option<(String, Pod)>| match change.direction {
            Direction::Wider => has_more(&is, &was),
            Direction::Narrower => has_more(&was, &is),
            _ => was != is,
        };
        let parts = self.parts(change);
        let is_everywhere = change.namespaces.iter().any(|name| name == "*");
        let places: Vec<&str> = NAMESPACES
            .into_iter()
            .filter(|name| is_everywhere || change.namespaces.iter().any(|own| own == name))
            .collect();
        // Levels and admission policies are the same for every subject.
        let is_for_all = matches!(change.kind, PodChangeKind::Level | PodChangeKind::Policy);
        let others = self.accounts.iter().filter(|_| !is_for_all);
        let members = members(&self.accounts).filter(|_| change.direction == Direction::Order);
        let subjects = std::iter::once(ADMINISTRATOR.to_owned()).chain(others.cloned()).chain(members);
        subjects.into_iter().any(|subject| {
            let asked = places.iter().flat_map(|namespace| self.probes.iter().map(move |probe| (namespace, probe)));
            asked.flat_map(|asked| parts.iter().map(move |part| (*part, asked))).any(|(part, (namespace, probe))| {
                let was = self.base.part(part, &subject, namespace, probe);
                let is = self.head.part(part, &subject, namespace, probe);
                confirms(was, is)
            })
        })
    }

    /// Returns the parts of admission that a change is about.
    fn parts<'c>(&'c self, change: &'c PodChange) -> Vec<Part<'c>> {
        let name = change.after.as_deref().or(change.before.as_deref()).unwrap_or_default();
        match change.kind {
            PodChangeKind::Level => vec![Part::Level],
            PodChangeKind::Policy => vec![Part::Policies],
            // The review does not name the policy.
            PodChangeKind::Psp => ["x0", "x1", "x2", "x9"].map(Part::Psp).into(),
            PodChangeKind::Scc if change.direction == Direction::Order => vec![Part::Choice],
            PodChangeKind::Scc => vec![Part::Scc(name)],
            PodChangeKind::Profile | PodChangeKind::Workload => Vec::new(),
        }
    }

    fn described(&self, fault: &str) -> String {
        let side = |side: &Side| {
            format!(
                "{} set {}\n{}\n{}",
                side.version,
                side.has_namespace_set,
                json!(side.access),
                json!(side.admission)
            )
        };
        let (pair, line) = (self.pair, &self.review.line);
        format!(
            "{:?} {}, equal {}: {line}\n{fault}\nbase {}\nhead {}",
            pair.area,
            pair.number,
            pair.is_equal,
            side(&pair.base),
            side(&pair.head)
        )
    }
}

/// Whether a pod is admitted in one state alone, or drops more capabilities in the other state.
fn has_more(one: &Option<(String, Pod)>, other: &Option<(String, Pod)>) -> bool {
    let drops = |pod: &Pod| -> BTreeSet<String> {
        let contexts = pod.spec.containers.iter().filter_map(|container| container.security_context.as_ref());
        let drops =
            contexts.filter_map(|context| context.capabilities.as_ref()).flat_map(|capabilities| &capabilities.drop);
        drops.cloned().collect()
    };
    match (one, other) {
        (Some(_), None) => true,
        (Some((_, one)), Some((_, other))) => !drops(other).is_subset(&drops(one)),
        (None, _) => false,
    }
}

/// Returns a scope of questions by its name.
fn scope(name: &str) -> Option<&'static str> {
    ["a", "b", "zz"].into_iter().find(|scope| *scope == name)
}

/// Returns the subjects of the questions about pods.
fn accounts() -> Vec<String> {
    let accounts =
        ["ServiceAccount/a/s1", "ServiceAccount/a/s2", "ServiceAccount/b/s2", "User/u1", "User/other", "Group/g1"];
    accounts.map(str::to_owned).into()
}

/// Returns the users of [`accounts`] as members of its groups. The order of constraints decides where a user and a group may use
/// one of two constraints each.
fn members(accounts: &[String]) -> impl Iterator<Item = String> {
    let of_kind = |kind: &'static str| accounts.iter().filter(move |account| account.starts_with(kind));
    of_kind("User/").flat_map(move |user| of_kind("Group/").map(move |group| format!("{user}{AND}{group}")))
}

/// Returns the second evaluator with the access of a side.
fn world(side: &Side) -> Naive {
    let mut world = Naive::default();
    world.world(&side.roles_and_bindings(), Some(&format!("1.{}", side.minor())));
    world
}

/// Returns the rules that the default policy of one side alone has.
fn differing_rules(pair: &Pair) -> Vec<Value> {
    let rules = |side: &Side| -> Vec<Value> {
        let policy = recorded_policy(&format!("1.{}", side.minor())).unwrap_or_default();
        policy.iter().flat_map(|object| object["rules"].as_array().cloned().unwrap_or_default()).collect()
    };
    if pair.base.minor() == pair.head.minor() {
        return Vec::new();
    }
    let (old, new) = (rules(&pair.base), rules(&pair.head));
    let gone = old.iter().filter(|rule| !new.contains(rule));
    gone.chain(new.iter().filter(|rule| !old.contains(rule))).cloned().collect()
}

/// The default policies of both sides alone: their changes for subjects that no other binding names are no change.
struct DefaultPolicies {
    worlds: [Naive; 2],
}

impl DefaultPolicies {
    fn new(pair: &Pair) -> Self {
        let alone = |side: &Side| {
            let mut world = Naive::default();
            world.world(&[], Some(&format!("1.{}", side.minor())));
            world
        };
        Self { worlds: [alone(&pair.base), alone(&pair.head)] }
    }
}

/// The answers of the default policies.
struct DefaultAnswers<'d> {
    answers: [Answers<'d>; 2],
    /// The subjects of the bindings of both sides.
    bound: BTreeSet<String>,
}

impl<'d> DefaultAnswers<'d> {
    fn new(policies: &'d DefaultPolicies, objects: &[&Value]) -> Self {
        Self { answers: policies.worlds.each_ref().map(Answers::new), bound: subjects(objects) }
    }

    /// Whether the default policy alone changes an answer as the sides do, for names that the sides do not bind.
    fn explain(&mut self, question: &Question, answers: [bool; 2]) -> bool {
        if self.answers.each_mut().map(|side| side.allow(question)) != answers {
            return false;
        }
        let groups = match question.asked["groups"].as_array() {
            Some(groups) => groups.iter().filter_map(|group| group.as_str().map(str::to_owned)).collect(),
            None => implicit_groups(question.asked["user"].as_str().unwrap_or_default()),
        };
        groups.into_iter().filter(|group| self.bound.contains(&format!("Group/{group}"))).all(|group| {
            let mut asked = question.asked.clone();
            (asked["user"], asked["groups"]) = (json!(""), json!([group]));
            let alone = Question { subject: format!("{group} alone"), scope: question.scope, asked };
            self.answers.each_mut().map(|side| side.allow(&alone)) != answers
        }) && !self.names(&question.subject)
    }

    /// Whether the sides bind a component of the control plane, a user of the default policy. The default policy binds no account of the
    /// sides, and its groups are asked alone.
    fn names(&self, subject: &str) -> bool {
        let is_component = |user: &str| user.starts_with("system:") && !user.starts_with("system:serviceaccount:");
        self.bound.contains(subject) && subject.strip_prefix("User/").is_some_and(is_component)
    }
}

fn review(folder: &Path) -> ChangeReview {
    let workspace = Workspace::open(&Options::in_folder(folder.join("head"))).unwrap_or_else(|error| panic!("{error}"));
    let options = ReviewOptions { base: ReviewBase::Folder(folder.join("base")), ..ReviewOptions::default() };
    bailiwick::review(&workspace, &options).unwrap_or_else(|error| panic!("{error}"))
}
