//! The one place that asks for the time.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::text::Text;

/// The time now as JavaScript's `new Date().toISOString()` writes it: UTC, milliseconds.
#[must_use]
pub fn now_iso() -> Text {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Text::from(iso(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
}

/// Days to year, month and day after Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms" (`civil_from_days`).
fn iso(unix_ms: u64) -> String {
    let (days, ms) = (unix_ms / 86_400_000, unix_ms % 86_400_000);
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z",
        ms % 1_000
    )
}

#[cfg(test)]
mod tests {
    use super::iso;

    #[test]
    fn dates_are_written_as_javascript_writes_them() {
        assert_eq!(iso(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(iso(1_735_689_599_999), "2024-12-31T23:59:59.999Z");
        assert_eq!(iso(4_107_542_400_000), "2100-03-01T00:00:00.000Z");
    }
}
