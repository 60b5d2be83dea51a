//! Times of events.

use bailiwick_kubernetes::date::Date;

/// The seconds of a day.
const DAY: i64 = 86_400;

/// A time in whole seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Reads a time in the form of the API server, such as `2026-11-04T10:00:00.123456Z`; none for another form.
    pub fn read(text: &str) -> Option<Self> {
        let (date, time) = text.split_once('T')?;
        let date: Date = date.parse().ok()?;
        let time = time.strip_suffix('Z')?;
        let time = time.split_once('.').map_or(time, |(seconds, _)| seconds);
        let mut parts = time.split(':').map(|part| part.parse::<i64>().ok().filter(|number| (0..60).contains(number)));
        let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
        let days = Date::from_days(0).days_until(date);
        Some(Self(((days * 24 + hours) * 60 + minutes) * 60 + seconds)).filter(|_| parts.next().is_none())
    }

    /// Returns the number of the day in UTC, since 1970.
    pub(crate) fn day(self) -> i64 {
        self.0.div_euclid(DAY)
    }

    /// Returns the day in UTC.
    pub fn date(self) -> Date {
        Date::from_days(u64::try_from(self.day()).map_or(0, |days| days))
    }

    /// Returns the days from this time to a later one, a started day as a whole one.
    pub fn days_until(self, later: Self) -> i64 {
        (later.0 - self.0 + DAY - 1).div_euclid(DAY).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn reads_times_of_the_api_server() {
        let time = |text| Timestamp::read(text).map(|time| time.0);
        assert_eq!(time("1970-01-02T00:00:01.999999Z"), Some(86_401));
        assert_eq!(time("2026-11-04T10:00:00Z"), Some(1_793_786_400));
        for bad in ["", "2026-11-04", "2026-11-04T10:00Z", "2026-11-04T10:00:00+01:00", "2026-11-04T10:00:99Z", "T::Z"]
        {
            assert_eq!(time(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_started_day_counts() {
        let time = |text| Timestamp::read(text).expect("a time");
        let start = time("2026-11-04T10:00:00Z");
        assert_eq!(start.days_until(start), 1);
        assert_eq!(start.days_until(time("2026-11-05T10:00:00Z")), 1);
        assert_eq!(start.days_until(time("2026-11-05T10:00:01Z")), 2);
    }
}
