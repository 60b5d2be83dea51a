//! The texts accepted as a time by Go's `time.Parse`, with the two layouts of Kubernetes (`meta/v1/time.go` and
//! `meta/v1/micro_time.go` of k8s.io/apimachinery v0.37.2).

/// Whether a text is a time in the layout `2006-01-02T15:04:05Z07:00`. Go takes an hour of one digit, and a fraction of a second.
pub(super) fn is_rfc3339(text: &str) -> bool {
    is_time(text, |rest| match rest.strip_prefix(['.', ',']) {
        Some(fraction) => {
            let after = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
            (after.len() < fraction.len()).then_some(after)
        }
        None => Some(rest),
    })
}

/// Whether a text is a time in the layout `2006-01-02T15:04:05.000000Z07:00`.
pub(super) fn is_rfc3339_micro(text: &str) -> bool {
    is_time(text, |rest| {
        let fraction = rest.strip_prefix(['.', ','])?;
        let (digits, after) = fraction.split_at_checked(6)?;
        digits.bytes().all(|digit| digit.is_ascii_digit()).then_some(after)
    })
}

fn is_time(text: &str, skip_fraction: impl Fn(&str) -> Option<&str>) -> bool {
    let read = || -> Option<()> {
        let (year, rest) = digits(text, 4)?;
        let (month, rest) = digits(rest.strip_prefix('-')?, 2)?;
        let (day, rest) = digits(rest.strip_prefix('-')?, 2)?;
        let rest = rest.strip_prefix('T')?;
        let (hour, rest) = digits(rest, 2).or_else(|| digits(rest, 1))?;
        let (minute, rest) = digits(rest.strip_prefix(':')?, 2)?;
        let (second, rest) = digits(rest.strip_prefix(':')?, 2)?;
        let rest = skip_fraction(rest)?;
        let is_moment = (1..=12).contains(&month) && (1..=days(year, month)).contains(&day);
        (is_moment && hour < 24 && minute < 60 && second < 60 && is_zone(rest)).then_some(())
    };
    read().is_some()
}

/// Whether a text is `Z` or an offset such as `+01:00`. Go takes up to 24 hours and 60 minutes.
fn is_zone(text: &str) -> bool {
    let read = || -> Option<bool> {
        let (hours, rest) = digits(text.strip_prefix(['+', '-'])?, 2)?;
        let (minutes, rest) = digits(rest.strip_prefix(':')?, 2)?;
        Some(rest.is_empty() && hours <= 24 && minutes <= 60)
    };
    text == "Z" || read() == Some(true)
}

/// Returns a number of exactly so many digits, and the rest of the text.
fn digits(text: &str, count: usize) -> Option<(u32, &str)> {
    let (number, rest) = text.split_at_checked(count)?;
    let is_number = number.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then(|| number.parse().ok()).flatten().map(|number| (number, rest))
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each verdict is from Go 1.26: `time.Parse(time.RFC3339, text)`.
    #[test]
    fn times_are_those_of_go() {
        for text in [
            "2026-01-02T15:04:05Z",
            "2026-01-02T5:04:05Z",
            "2024-02-29T15:04:05.123456789123Z",
            "2026-01-02T15:04:05,5+01:00",
            "0000-01-02T00:00:00-24:60",
        ] {
            assert!(is_rfc3339(text), "{text}");
        }
        for text in [
            "",
            "2026-01-02",
            "2026-01-02t15:04:05z",
            "2026-01-02 15:04:05Z",
            "2026-02-29T15:04:05Z",
            "2026-13-01T15:04:05Z",
            "2026-01-02T24:04:05Z",
            "2026-01-02T15:04:60Z",
            "2026-01-02T15:04:05",
            "2026-01-02T15:04:05.Z",
            "2026-01-02T15:04:05+0100",
            "2026-01-02T15:04:05+25:00",
            "2026-01-02T15:04:05Z ",
            "２026-01-02T15:04:05Z",
        ] {
            assert!(!is_rfc3339(text), "{text}");
        }
    }

    #[test]
    fn microseconds_have_six_digits() {
        assert!(is_rfc3339_micro("2026-01-02T15:04:05.000000Z"));
        assert!(!is_rfc3339_micro("2026-01-02T15:04:05Z"));
        assert!(!is_rfc3339_micro("2026-01-02T15:04:05.00000Z"));
        assert!(!is_rfc3339_micro("2026-01-02T15:04:05.0000000Z"));
    }
}
