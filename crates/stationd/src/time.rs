//! Moments since boot as dates of the wall clock.
//!
//! Pure: what the two clocks differ by is given. It knows UTC only, and no leap seconds, as the kernel.

/// RFC 3339 in UTC, to the second below, of a moment in ns since boot. A moment that is no date of the
/// years 0 to 9999 is the nearest one that is.
pub(crate) fn rfc3339(boot_ns: u64, wall_offset_ns: i64) -> String {
    const FIRST: i128 = -62_167_219_200;
    const LAST: i128 = 253_402_300_799;
    let seconds = (i128::from(boot_ns) + i128::from(wall_offset_ns)).div_euclid(1_000_000_000);
    let seconds = seconds.clamp(FIRST, LAST) as i64;
    let (year, month, day) = date(seconds.div_euclid(86_400));
    let (hour, minute, second) = {
        let second = seconds.rem_euclid(86_400);
        (second / 3600, second / 60 % 60, second % 60)
    };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The date of a day, counted from 1970-01-01.
///
/// A year is taken to begin in March, so that the leap day is its last one; an era is 400 years. After
/// Howard Hinnant, “chrono-compatible low-level date algorithms”,
/// <https://howardhinnant.github.io/date_algorithms.html#civil_from_days>.
fn date(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let (era, day_of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day_of_month)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_moments_have_their_dates() {
        let at = |seconds: i64| rfc3339(0, seconds * 1_000_000_000);
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_795_305_599), "2026-11-21T23:59:59Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00Z");
        assert_eq!(at(-1), "1969-12-31T23:59:59Z");
    }

    #[test]
    fn boot_and_wall_clock_add_up_to_the_second_below() {
        assert_eq!(rfc3339(1_999_999_999, 0), "1970-01-01T00:00:01Z");
        assert_eq!(rfc3339(600_000_000, 500_000_000), "1970-01-01T00:00:01Z");
    }

    proptest! {
        #[test]
        fn the_next_day_is_the_next_date(day in -700_000_i64..2_900_000) {
            let ((year, month, of_month), next) = (date(day), date(day + 1));
            let next_of_month = (year, month, of_month + 1) == next && of_month < 31;
            let next_month = (year, month + 1, 1) == next && of_month >= 28;
            prop_assert!(next_of_month || next_month || (year + 1, 1, 1) == next && month == 12);
        }
    }
}
