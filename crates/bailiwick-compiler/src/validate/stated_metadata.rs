//! The labels and annotations of an object by a template of its policy.
//!
//! No built-in template defines the content of such an object. Its labels and annotations are an exception: the policy and
//! `commonMetadata` state them, and the template has to print them. Texts that are alike can differ in a label, so that every object
//! is checked.

use bailiwick_codes as codes;
use bailiwick_kubernetes::absent;
use bailiwick_policy::model::{Data, Unit};
use bailiwick_yaml::diag::{Diagnostic, Sink};
use bailiwick_yaml::{NodeRef, schema};

use super::meaning::Change;
use crate::render::TemplateSet;

/// The prefix of the labels and annotations of this program.
const OWN_PREFIX: &str = "bailiwick.dev/";

/// Whether an object has the labels and annotations of its policy, and no key of this program; the differences are in the sink.
pub fn check(unit: &Unit, root: NodeRef<'_>, templates: &TemplateSet, sink: &mut Sink) -> bool {
    if !unit.template.is_own() {
        return true;
    }
    let before = sink.len();
    for section in ["labels", "annotations"] {
        let rendered = root.path(&["metadata", section]);
        let place = |key: &str| templates.place_of(&unit.template, [key, section, "metadata"].into_iter());
        let in_object = |diagnostic: Diagnostic| diagnostic.note(format!("in {}", unit.identity)).foldable();
        for key in rendered.into_iter().flat_map(NodeRef::entries).map(|(key, _)| key.as_key()) {
            if key.starts_with(OWN_PREFIX) {
                let message = format!("only this program writes `{key}`");
                let diagnostic = Diagnostic::error(codes::INVALID_VALUE, message).at_maybe(place(key));
                sink.push(in_object(diagnostic.help("remove it")));
            }
        }
        let Some(Data::Map(stated)) = unit.data.get(section) else { continue };
        for (key, value) in stated.iter() {
            let own = rendered.and_then(|rendered| rendered.get(key));
            if absent::text(own.and_then(NodeRef::as_str)) == absent::text(value.as_str()) && own.is_some() {
                continue;
            }
            let path = ["metadata", section, key].map(str::to_owned).to_vec();
            let change = Change { path, stated: Some(value.to_json()), rendered: own.map(schema::to_json) };
            let diagnostic = Diagnostic::error(codes::TEMPLATE_MEANING, change.message()).at_maybe(place(key));
            let help = "print `labels` and `annotations` with `{% include \"_metadata.yaml.j2\" %}`";
            sink.push(in_object(diagnostic.and(unit.origin, "requested here").help(help)));
        }
    }
    sink.len() == before
}
