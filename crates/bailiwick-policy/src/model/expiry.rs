//! The expiry of grants, as set by a workspace.

use bailiwick_codes as codes;
use bailiwick_yaml::Spanned;
use bailiwick_yaml::diag::{Diagnostic, Sink};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Date;

/// The days that decide about grants with an expiry date.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ExpirySpec {
    /// How many days before its last day a grant is reported; 0 for no report. Default: 14.
    #[serde(default)]
    pub warn_days: Option<u16>,
    /// The day of the output: `2026-12-01`. Grants that expire before it are left out. Default: none, and no grant is
    /// left out. `bailiwick expire` writes the current day.
    #[serde(default)]
    pub as_of: Option<Spanned<String>>,
}

/// `spec.expiry` of a workspace, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpirySettings {
    /// How many days before its last day a grant is reported.
    warn_days: u16,
    /// The day of the output.
    pub as_of: Option<Spanned<Date>>,
}

/// The validity of a grant on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    /// The grant is not in the output.
    LeftOut,
    /// The last day is over, and the grant is in the output.
    Expired,
    /// The last day is near.
    ExpiresSoon,
    /// The last day is far off.
    Valid,
}

impl ExpirySettings {
    /// Checks the settings and reports a text that is no day.
    pub(super) fn link(written: &ExpirySpec, sink: &mut Sink) -> Self {
        let mut as_of = None;
        if let Some(day) = &written.as_of {
            match day.parse() {
                Ok(date) => as_of = Some(Spanned::new(date, day.origin)),
                Err(error) => sink.push(
                    Diagnostic::error(codes::INVALID_WORKSPACE, format!("`{}` is not a date", day.value))
                        .at(day.origin)
                        .help(format!("{error}")),
                ),
            }
        }
        Self { warn_days: written.warn_days.map_or(14, |days| days), as_of }
    }

    /// Whether a grant with this last day is left out of the output. The current day has no influence.
    pub fn leaves_out(&self, until: Date) -> bool {
        self.as_of.is_some_and(|as_of| until < as_of.value)
    }

    /// Returns the validity of a grant with a last day.
    pub fn validity(&self, until: Date, today: Date) -> Validity {
        if self.leaves_out(until) {
            Validity::LeftOut
        } else if until < today {
            Validity::Expired
        } else if self.warn_days > 0 && today.days_until(until) <= i64::from(self.warn_days) {
            Validity::ExpiresSoon
        } else {
            Validity::Valid
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_yaml::diag::Origin;

    #[test]
    fn the_days_of_the_table_decide() {
        let day = |text: &str| text.parse::<Date>().expect("a day");
        let as_of = Some(Spanned::new(day("2026-12-01"), Origin::default()));
        let settings = ExpirySettings { warn_days: 14, as_of };
        let today = day("2026-12-10");
        for (until, validity) in [
            ("2026-11-30", Validity::LeftOut),
            ("2026-12-01", Validity::Expired),
            ("2026-12-09", Validity::Expired),
            ("2026-12-10", Validity::ExpiresSoon),
            ("2026-12-24", Validity::ExpiresSoon),
            ("2026-12-25", Validity::Valid),
        ] {
            assert_eq!(settings.validity(day(until), today), validity, "{until}");
        }
        let silent = ExpirySettings { warn_days: 0, as_of: None };
        assert_eq!(silent.validity(today, today), Validity::Valid);
        assert_eq!(silent.validity(day("2026-11-30"), today), Validity::Expired);
    }
}
