//! A note of the objects that are not checked by all rules of the API server.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use super::session::Session;
use crate::model::{ObjectType, Target};
use crate::report::page::Page;
use crate::validate::Reach;

/// How many kinds a line names.
const MOST_NAMED: usize = 6;

/// Prints how many brought-in objects are checked for their fields or metadata alone, a line for each. A run of parts prints
/// them once, when the parts are merged.
pub(super) fn note(session: &Session<'_>, targets: &[&Target]) {
    if session.shard.is_some() {
        return;
    }
    let project = &session.project;
    let mut kinds: BTreeMap<(Reach, String), usize> = BTreeMap::new();
    for policy in &project.policies {
        let on = targets.iter().filter(|target| policy.meta().targets.contains(&target.name));
        let on: Vec<_> = on.map(|target| (target.version.minor(), project.custom_fields(target))).collect();
        let mut counts: HashMap<ObjectType, usize> = HashMap::new();
        policy.brought_types(&mut |object_type| match counts.get_mut(object_type) {
            Some(count) => *count += 1,
            None => _ = counts.insert(object_type.clone(), 1),
        });
        for (object_type, count) in counts {
            let (api_version, kind) = (&*object_type.api_version, &*object_type.kind);
            let reaches = on.iter().map(|(minor, definitions)| Reach::find(*minor, definitions, api_version, kind));
            if let Some(reach) = reaches.min() {
                let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
                let name = if reach == Reach::Metadata { format!("{kind}.{group}") } else { kind.to_owned() };
                *kinds.entry((reach, name)).or_default() += count;
            }
        }
    }
    let mut page = Page::new();
    for (reach, what) in [
        (Reach::Fields, "for fields, types and metadata, not for every rule of the kind"),
        (Reach::Metadata, "for metadata alone, as no CustomResourceDefinition among the inputs describes the kind"),
    ] {
        let mut found: Vec<(&str, usize)> = kinds
            .iter()
            .filter(|((at, _), _)| *at == reach)
            .map(|((_, name), count)| (name.as_str(), *count))
            .collect();
        if found.is_empty() {
            continue;
        }
        found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let all: usize = found.iter().map(|(_, count)| count).sum();
        let named: Vec<String> = found.iter().take(MOST_NAMED).map(|(name, count)| format!("{count} {name}")).collect();
        let more = found.len().saturating_sub(MOST_NAMED);
        let more = if more > 0 { format!(", and {more} more kinds") } else { String::new() };
        let objects = if all == 1 { "1 object is".to_owned() } else { format!("{all} objects are") };
        writeln!(page, "note: {objects} checked {what}: {}{more}", named.join(", "));
    }
    session.global.terminal().note(page.as_str());
}
