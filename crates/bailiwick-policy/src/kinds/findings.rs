//! Diagnostics of a policy, reported once for all affected targets.

use std::collections::BTreeMap;

use bailiwick_codes as codes;
use bailiwick_yaml::diag::{Code, Diagnostic, Origin, Sink};

use crate::model::Target;

/// Diagnostics with the targets they concern.
pub struct Findings {
    targets: usize,
    found: BTreeMap<Key, (Diagnostic, Vec<Place>)>,
}

/// The parts of a diagnostic that decide whether two are equal.
type Key = (Option<Origin>, Code, String);

/// Name and version of a target.
type Place = (String, String);

impl Findings {
    /// Creates an empty list, for a policy with a number of targets.
    pub fn new(targets: usize) -> Self {
        Self { targets, found: BTreeMap::new() }
    }

    /// Adds a diagnostic of a target; for a repeated one, only the target is recorded.
    pub fn add(&mut self, target: &Target, diagnostic: Diagnostic) {
        let key = (diagnostic.origin, diagnostic.code, diagnostic.message.clone());
        let (_, targets) = self.found.entry(key).or_insert((diagnostic, Vec::new()));
        let place = (target.name.clone(), target.version.to_string());
        if !targets.contains(&place) {
            targets.push(place);
        }
    }

    /// Reports all diagnostics.
    pub fn tell(self, sink: &mut Sink) {
        for (diagnostic, targets) in self.found.into_values() {
            let note = match targets.as_slice() {
                all if all.len() == self.targets && !depends_on_version(diagnostic.code) => None,
                [(name, version)] => Some(format!("on the target `{name}`, which runs Kubernetes {version}")),
                some => {
                    let names: Vec<String> = some.iter().take(5).map(|(name, _)| format!("`{name}`")).collect();
                    let more = some.len().saturating_sub(names.len());
                    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                    Some(format!("on the targets {}{more}", names.join(", ")))
                }
            };
            sink.push(note.into_iter().fold(diagnostic, Diagnostic::note));
        }
    }
}

/// Whether the diagnostic depends on the version of Kubernetes.
fn depends_on_version(code: Code) -> bool {
    [codes::UNSERVED_RESOURCE, codes::DEAD_VERB, codes::UNKNOWN_RESOURCE, codes::AMBIGUOUS_RESOURCE].contains(&code)
}
