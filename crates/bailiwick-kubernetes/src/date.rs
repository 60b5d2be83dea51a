//! Days of the calendar.

use std::fmt;
use std::str::FromStr;

/// A day, such as 2026-12-31.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

/// Why a text is not a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateError;

impl fmt::Display for DateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("write a date as year, month and day, such as 2026-12-31")
    }
}

impl std::error::Error for DateError {}

impl Date {
    /// Converts a number of days after 1970-01-01 to a day of the Gregorian calendar.
    ///
    /// The method is from Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms": years begin in March, so the
    /// leap day is the last day of its year.
    pub fn from_days(days: u64) -> Self {
        const DAYS_IN_400_YEARS: u64 = 146_097;
        let days = days + 719_468;
        let (era, of_era) = (days / DAYS_IN_400_YEARS, days % DAYS_IN_400_YEARS);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * march_month + 2) / 5 + 1;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        let small = |number: u64| u8::try_from(number).unwrap_or(u8::MAX);
        Self { year: u16::try_from(year).unwrap_or(u16::MAX), month: small(month), day: small(day) }
    }

    /// Returns the number of days from this day to another; negative for an earlier day.
    pub fn days_until(self, other: Self) -> i64 {
        other.number() - self.number()
    }

    /// Returns the number of days after the first of March of the year 0, the inverse of [`Date::from_days`].
    fn number(self) -> i64 {
        let year = i64::from(self.year) - i64::from(self.month <= 2);
        let march_month = (i64::from(self.month) + 9) % 12;
        let of_year = (153 * march_month + 2) / 5 + i64::from(self.day) - 1;
        year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year
    }

    fn days_in_month(year: u16, month: u8) -> u8 {
        let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        match month {
            2 if is_leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }
}

impl FromStr for Date {
    type Err = DateError;

    fn from_str(text: &str) -> Result<Self, DateError> {
        let mut parts = text.split('-');
        let mut number = |digits: usize| {
            let part =
                parts.next().filter(|part| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit()));
            part.and_then(|part| part.parse::<u16>().ok()).ok_or(DateError)
        };
        let (year, month, day) = (number(4)?, number(2)?, number(2)?);
        let small = |number: u16| u8::try_from(number).map_err(|_| DateError);
        let (month, day) = (small(month)?, small(day)?);
        let fits = parts.next().is_none()
            && (1..=12).contains(&month)
            && (1..=Self::days_in_month(year, month)).contains(&day);
        if fits { Ok(Self { year, month, day }) } else { Err(DateError) }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_days_of_the_calendar_only() {
        for good in ["2026-12-31", "2024-02-29", "2000-02-29", "0001-01-01"] {
            assert_eq!(good.parse::<Date>().expect("a day").to_string(), good);
        }
        for bad in [
            "2026-13-01",
            "2025-02-29",
            "1900-02-29",
            "2026-04-31",
            "2026-1-1",
            "2026-00-10",
            "26-12-31",
            "soon",
            "2026-12-31T00:00:00Z",
            "+026-12-31",
            "",
        ] {
            assert_eq!(bad.parse::<Date>(), Err(DateError), "{bad}");
        }
    }

    #[test]
    fn counts_days_from_1970() {
        for (days, date) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (19_782, "2024-02-29"),
            (20_819, "2027-01-01"),
        ] {
            assert_eq!(Date::from_days(days).to_string(), date);
        }
        assert!(Date::from_days(1) > Date::from_days(0));
        for days in (0..1_000_000).step_by(97) {
            let (first, later) = (Date::from_days(0), Date::from_days(days));
            let days = i64::try_from(days).expect("a small number");
            assert_eq!((first.days_until(later), later.days_until(first)), (days, -days));
        }
    }
}
