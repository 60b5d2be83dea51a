//! Values of a policy as expressions in CEL, the language of admission policies.
//!
//! Account values stay variables of the policy, read from an annotation of the pod's namespace when a pod is created.
//! So one policy serves any number of tenants.

use std::collections::BTreeSet;

use super::Range;
use crate::model::{Fill, NumberOrVariable, Pattern, Piece, Target};

/// Writes values for one target.
pub(super) struct Cel<'t> {
    target: &'t Target,
}

impl<'t> Cel<'t> {
    pub(super) fn new(target: &'t Target) -> Self {
        Self { target }
    }

    /// Converts a text; account variables are read from the namespace.
    pub(super) fn text(&self, text: &str) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut literal = String::new();
        for piece in Pattern::parse_checked(text).pieces() {
            match piece {
                Piece::Text(text) => literal.push_str(text),
                Piece::Variable(name) | Piece::Optional(name) if name.starts_with("target.") => {
                    let filled = Pattern::parse_checked(&format!("{{{name}}}")).fill(Fill::from_target(self.target));
                    literal.push_str(&filled);
                }
                Piece::Variable(name) | Piece::Optional(name) => {
                    if !literal.is_empty() {
                        parts.push(quoted(&std::mem::take(&mut literal)));
                    }
                    parts.push(variable(name));
                }
            }
        }
        if !literal.is_empty() || parts.is_empty() {
            parts.push(quoted(&literal));
        }
        parts.join(" + ")
    }

    /// Converts a list of texts.
    pub(super) fn texts<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> String {
        let items: Vec<String> = texts.into_iter().map(|text| self.text(text)).collect();
        format!("[{}]", items.join(", "))
    }

    /// Converts a whole number.
    pub(super) fn number(&self, number: &NumberOrVariable) -> String {
        match number {
            NumberOrVariable::Literal(number) => number.to_string(),
            NumberOrVariable::Variable(text) => format!("int({})", self.text(text)),
        }
    }

    /// Builds the test for a number in one of the ranges.
    pub(super) fn in_ranges(&self, number: &str, ranges: &[Range]) -> String {
        let each = ranges.iter().map(|range| {
            let (min, max) = (self.number(&range.min), self.number(&range.max));
            if min == max { format!("{number} == {min}") } else { format!("({number} >= {min} && {number} <= {max})") }
        });
        let each: Vec<String> = each.collect();
        match each.as_slice() {
            [] => "false".to_owned(),
            [only] => only.clone(),
            several => format!("({})", several.join(" || ")),
        }
    }
}

/// Returns the policy variable with the value of an account variable.
fn variable(name: &str) -> String {
    format!("variables.{}", variable_name(name))
}

/// Returns the name of the policy variable: letters, digits and `_`. Different variables get different names.
pub(super) fn variable_name(name: &str) -> String {
    let mut written = String::from("account_");
    for letter in name.chars() {
        match letter {
            '_' => written.push_str("__"),
            '-' => written.push_str("_d"),
            '.' => written.push_str("_p"),
            plain => written.push(plain),
        }
    }
    written
}

/// Returns the account variables with number values.
pub(super) fn numbers<'a>(ranges: impl IntoIterator<Item = &'a Range>) -> BTreeSet<String> {
    let ends = ranges.into_iter().flat_map(|range| [&range.min, &range.max]);
    let texts = ends.filter_map(|end| match end {
        NumberOrVariable::Variable(text) => Some(Pattern::parse_checked(text)),
        NumberOrVariable::Literal(_) => None,
    });
    texts.flat_map(|pattern| pattern.account_variables().collect::<Vec<_>>()).collect()
}

/// Quotes a string literal. Control characters are escaped, so that no value can end it.
pub(in crate::kinds) fn quoted(text: &str) -> String {
    let mut literal = String::from("'");
    for letter in text.chars() {
        match letter {
            '\'' => literal.push_str("\\'"),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            control if control.is_control() => literal.push_str(&format!("\\u{:04x}", u32::from(control))),
            plain => literal.push(plain),
        }
    }
    literal.push('\'');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_cannot_be_ended_by_its_text() {
        assert_eq!(quoted(r"a'b\c"), r"'a\'b\\c'");
        assert_eq!(quoted("a\nb\u{7}"), "'a\\nb\\u0007'");
    }

    #[test]
    fn accounts_stay_variables_and_targets_do_not() {
        let target = Target::plain("modern", 36);
        let cel = Cel::new(&target);
        assert_eq!(cel.text("/data/{name}/{target.name}"), "'/data/' + variables.account_name + '/modern'");
        assert_eq!(cel.text(""), "''");
        let range = Range { min: NumberOrVariable::Literal(1), max: NumberOrVariable::Variable("{uid}".to_owned()) };
        assert_eq!(cel.in_ranges("x", &[range]), "(x >= 1 && x <= int(variables.account_uid))");
        assert_eq!(variable_name("cost-centre"), "account_cost_dcentre");
        assert_ne!(variable_name("a-b"), variable_name("a_b"));
    }
}
