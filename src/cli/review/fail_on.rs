//! The values of `review --fail-on`.

use std::str::FromStr;

use schemars::JsonSchema;

use crate::app::review::{ChangeReview, EffectSeverity, HazardKind, PathChangeKind, PowerPattern, Verdict};
use crate::cli::form_file::Refused;
use crate::diag::nearest;
use crate::report::json;

/// A property of a review for which the run fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum FailOn {
    Severity(EffectSeverity),
    Becomes(PowerPattern),
    Verdict(String),
    Hazard(String),
}

/// The severities that a review can have beside `none`.
const SEVERITIES: [EffectSeverity; 5] =
    [EffectSeverity::Critical, EffectSeverity::High, EffectSeverity::Medium, EffectSeverity::Low, EffectSeverity::Info];

/// The words before a colon.
const PROPERTIES: [&str; 3] = ["becomes", "verdict", "hazard"];

impl FromStr for FailOn {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        if let Some(severity) = SEVERITIES.into_iter().find(|severity| severity.word() == text) {
            return Ok(Self::Severity(severity));
        }
        match text.split_once(':') {
            Some(("becomes", power)) => match PowerPattern::parse(power) {
                Ok(power) => Ok(Self::Becomes(power)),
                Err(error) => Err(Refused(format!("{error}; {}", error.help()))),
            },
            Some(("verdict", name)) => one_of::<Verdict>(name, "verdict", "verdicts").map(Self::Verdict),
            Some(("hazard", kind)) => one_of::<HazardKind>(kind, "hazard", "hazards").map(Self::Hazard),
            other => Err(unknown(other.map_or(text, |(property, _)| property))),
        }
    }
}

/// Returns the refusal of a text that begins with no known word.
fn unknown(word: &str) -> Refused {
    let severities = SEVERITIES.iter().map(|severity| severity.word());
    let near = nearest(word, severities.chain(PROPERTIES)).map(|near| format!("did you mean `{near}`? "));
    let forms = "write critical, high, medium, low, info, becomes:POWER, verdict:NAME or hazard:KIND";
    Refused(format!("{}{forms}", near.into_iter().collect::<String>()))
}

/// Returns a name that the schema of a type lists.
fn one_of<T: JsonSchema>(name: &str, one: &str, several: &str) -> Result<String, Refused> {
    let names = names_of::<T>();
    if names.iter().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    let help = nearest(name, names.iter().map(String::as_str))
        .map_or_else(|| format!("the {several} are: {}", names.join(", ")), |near| format!("did you mean `{near}`?"));
    Err(Refused(format!("there is no {one} `{name}`; {help}")))
}

/// Returns the names of the values of a type, in the order of its schema.
fn names_of<T: JsonSchema>() -> Vec<String> {
    let schema = schemars::schema_for!(T);
    let lists = ["oneOf", "enum"].into_iter().filter_map(|key| schema.get(key)?.as_array());
    let values = lists.flatten().flat_map(|value| match value.get("enum").and_then(|values| values.as_array()) {
        Some(values) => values.iter().collect(),
        None => vec![value.get("const").map_or(value, |name| name)],
    });
    values.filter_map(|value| value.as_str()).map(str::to_owned).collect()
}

impl FailOn {
    /// Whether a review has the property.
    pub(super) fn is_met(&self, review: &ChangeReview) -> bool {
        let word = |value: serde_json::Value| value.as_str().map_or_else(String::new, str::to_owned);
        match self {
            Self::Severity(severity) => review.severity >= *severity,
            Self::Becomes(power) => {
                let mut new = review.paths.iter().filter(|path| path.change != PathChangeKind::Gone);
                new.any(|path| path.reaches.parse().is_ok_and(|reached| power.is_in(&reached)))
            }
            Self::Verdict(name) => review.verdict.is_some_and(|verdict| word(json::value(&verdict)) == *name),
            Self::Hazard(kind) => review.hazards.iter().any(|hazard| word(json::value(&hazard.kind)) == *kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_closed_list_is_taken_and_a_slip_is_refused() {
        let verdicts = ["no-change", "only-less", "within-limits", "needs-approval", "cannot-tell"];
        assert_eq!(names_of::<Verdict>(), verdicts);
        assert_eq!(names_of::<HazardKind>().len(), 10);
        for text in ["high", "becomes:cluster-admin", "becomes:secrets:shop", "becomes:namespace-admin"] {
            assert!(text.parse::<FailOn>().is_ok(), "{text}");
        }
        for name in verdicts {
            assert!(format!("verdict:{name}").parse::<FailOn>().is_ok(), "{name}");
        }
        assert!("hazard:namespace-deleted".parse::<FailOn>().is_ok());
        for (wrong, help) in [
            ("verdict:within-limit", "there is no verdict `within-limit`; did you mean `within-limits`?"),
            ("becomes:nodez", "there is no power `nodez`; did you mean `nodes`?"),
            ("becomes:secrets:", "`` does not name the place of the power `secrets`; write `secrets:NAMESPACE`"),
            ("hazard:nosuch", "there is no hazard `nosuch`; the hazards are: namespace-deleted, "),
            ("verdicts:cannot-tell", "did you mean `verdict`? write critical, "),
            ("hihg", "did you mean `high`? write critical, "),
            ("none", "write critical, "),
        ] {
            let refused = wrong.parse::<FailOn>().expect_err(wrong).to_string();
            assert!(refused.starts_with(help), "{wrong}: {refused}");
        }
    }
}
