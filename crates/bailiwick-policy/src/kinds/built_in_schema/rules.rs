//! The rules of a schema: its keywords with an effect on a check.
//!
//! To compile the schemas of the policies, or only to generate them, takes longer than the rest of a run on a small workspace. The rules are
//! constants of the program, which need no preparation. A test generates them from the schemas.

use bailiwick_yaml::{NodeRef, NodeValue};

/// The rules of a schema, or of a part of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rules {
    /// The types; none for each type.
    pub(super) types: &'static [JsonType],
    /// The alternatives; none without alternatives.
    pub(super) any_of: &'static [&'static Rules],
    /// The only texts; none for each value.
    pub(super) words: &'static [&'static str],
    /// The shortest text, in characters.
    pub(super) minimum_length: usize,
    /// Whether a text is the name of a variable, such as `{uid}`.
    pub(super) is_variable: bool,
    /// The smallest number.
    pub(super) minimum: Option<i64>,
    /// The largest number.
    pub(super) maximum: Option<i64>,
    /// The rules of each item of a list.
    pub(super) items: Option<&'static Rules>,
    /// The shortest list.
    pub(super) minimum_items: usize,
    /// The fields of a map that are never absent.
    pub(super) required: &'static [&'static str],
    /// The known fields of a map.
    pub(super) properties: &'static [Property],
    /// The other fields of a map.
    pub(super) other_properties: OtherProperties,
}

/// A known field of a map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Property {
    pub(super) name: &'static str,
    pub(super) rules: &'static Rules,
}

/// The fields of a map without an own rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum OtherProperties {
    /// There may be any.
    Any,
    /// There is none.
    None,
    /// Each fits these rules.
    Fit(&'static Rules),
}

/// A type of JSON. A schema with the type `number` has no rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonType {
    Null,
    Boolean,
    Integer,
    String,
    Array,
    Object,
}

impl Rules {
    /// The rules that each value fits.
    pub(super) const ANY: Self = Self {
        types: &[],
        any_of: &[],
        words: &[],
        minimum_length: 0,
        is_variable: false,
        minimum: None,
        maximum: None,
        items: None,
        minimum_items: 0,
        required: &[],
        properties: &[],
        other_properties: OtherProperties::Any,
    };

    /// Whether a node fits for sure. If false, the compiled schema decides: it accepts a fraction such as `2.0` as a whole number.
    ///
    /// The time is linear in the size of the node.
    pub(super) fn fit(&self, node: NodeRef<'_>) -> bool {
        let has_type = self.types.is_empty() || JsonType::of(node).is_some_and(|own| self.types.contains(&own));
        has_type
            && (self.any_of.is_empty() || self.any_of.iter().any(|rules| rules.fit(node)))
            && (self.words.is_empty() || node.as_str().is_some_and(|text| self.words.contains(&text)))
            && node.as_str().is_none_or(|text| self.fit_text(text))
            && self.fit_number(node)
            && (!node.is_seq() || self.fit_list(node))
            && (!node.is_map() || self.fit_map(node))
    }

    fn fit_text(&self, text: &str) -> bool {
        let is_long = self.minimum_length == 0 || text.chars().count() >= self.minimum_length;
        is_long && (!self.is_variable || is_variable(text))
    }

    fn fit_number(&self, node: NodeRef<'_>) -> bool {
        match node.value() {
            NodeValue::Int(number) => {
                self.minimum.is_none_or(|minimum| number >= minimum)
                    && self.maximum.is_none_or(|maximum| number <= maximum)
            }
            NodeValue::Float(_) => self.minimum.is_none() && self.maximum.is_none(),
            _ => true,
        }
    }

    fn fit_list(&self, list: NodeRef<'_>) -> bool {
        list.len() >= self.minimum_items && self.items.is_none_or(|rules| list.items().all(|item| rules.fit(item)))
    }

    fn fit_map(&self, map: NodeRef<'_>) -> bool {
        let fits = |name: &str, value: NodeRef<'_>| match self.properties.iter().find(|known| known.name == name) {
            Some(known) => known.rules.fit(value),
            None => match self.other_properties {
                OtherProperties::Any => true,
                OtherProperties::None => false,
                OtherProperties::Fit(rules) => rules.fit(value),
            },
        };
        self.required.iter().all(|name| map.get(name).is_some())
            && map.entries().all(|(key, value)| key.as_str().is_some_and(|name| fits(name, value)))
    }
}

impl JsonType {
    /// Returns the type of a node; none for a number that may be a fraction.
    fn of(node: NodeRef<'_>) -> Option<Self> {
        Some(match node.value() {
            NodeValue::Null => Self::Null,
            NodeValue::Bool(_) => Self::Boolean,
            NodeValue::Int(_) => Self::Integer,
            NodeValue::Float(_) => return None,
            NodeValue::Str(_) => Self::String,
            NodeValue::Seq(_) => Self::Array,
            NodeValue::Map(_) => Self::Object,
        })
    }
}

/// Whether a text matches [`VARIABLE`](bailiwick_yaml::schema::VARIABLE).
fn is_variable(text: &str) -> bool {
    let name = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(|name| !name.is_empty() && !name.contains(['{', '}']))
}
