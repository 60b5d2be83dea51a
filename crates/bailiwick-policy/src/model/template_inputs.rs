//! The values of every template beside the fields of its object.

use std::sync::Arc;

use bailiwick_yaml::diag::Origin;

use super::{Contribution, Data, MadeFor};

/// The names of the values. A field of an object with the same name comes first.
pub const TEMPLATE_INPUTS: [&str; 3] = [ACCOUNT, POLICY, TARGET];

const ACCOUNT: &str = "account";
const POLICY: &str = "policy";
const TARGET: &str = "target";

/// The origin of a unit, for the values of its template.
#[derive(Debug, Clone, Default)]
pub struct UnitSource {
    /// The position of the policy.
    pub policy: u32,
    /// The contribution of the policy.
    pub part: Contribution,
    /// The values of loops, the outermost first.
    pub loops: Vec<(Arc<str>, Data)>,
    /// Whether the object is an object of a manifest, which another program may have written.
    pub is_manifest: bool,
    /// The place of the name of the role in a binding of a manifest.
    pub role: Option<Origin>,
}

impl MadeFor<'_> {
    /// Returns a value of the template of a unit; none for another name.
    pub fn template_input(self, name: &str, source: &UnitSource) -> Option<Data> {
        match name {
            ACCOUNT => {
                let columns = self
                    .account
                    .into_iter()
                    .flat_map(|account| account.columns().iter().cloned().zip(account.values()))
                    .map(|(column, value)| (column, value.to_data()));
                Some(Data::map(columns.chain(source.loops.iter().cloned())))
            }
            POLICY => {
                let (kind, name) = (Data::text(self.policy.kind), Data::Str(Arc::clone(&self.policy.name)));
                Some(Data::map([("kind", kind), ("name", name)]))
            }
            TARGET => {
                let facts = self.target.facts();
                let own = self.target.variables.iter().map(|(name, value)| (name.as_str(), value.clone()));
                Some(Data::map(facts.into_iter().chain([("variables", Data::map(own))])))
            }
            _ => None,
        }
    }
}
