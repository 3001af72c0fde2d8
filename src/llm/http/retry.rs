//! When a request is sent again, and after how long.

use std::time::{Duration, SystemTime};

use reqwest::{StatusCode, header::HeaderMap};

/// A provider that asks for more is not waited for longer than this.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(8);

/// Whether a response with this status may be followed by another attempt. `x-should-retry` decides when present.
pub(super) fn may_retry(status: StatusCode, headers: &HeaderMap) -> bool {
    match text(headers, "x-should-retry") {
        Some("true") => true,
        Some("false") => false,
        _ => matches!(status.as_u16(), 408 | 409 | 429 | 500..),
    }
}

/// How long the provider asked to wait; past, negative and unreadable values count as nothing asked.
pub(super) fn asked_wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let number = |name, unit: f64| {
        let seconds = text(headers, name)?.parse::<f64>().ok()? * unit;
        Duration::try_from_secs_f64(seconds)
            .ok()
            .filter(|wait| !wait.is_zero())
    };
    number("retry-after-ms", 0.001)
        .or_else(|| number("retry-after", 1.0))
        .or_else(|| {
            let date = httpdate::parse_http_date(text(headers, "retry-after")?).ok()?;
            date.duration_since(now).ok().filter(|wait| !wait.is_zero())
        })
}

/// The wait before attempt `attempt` + 1 (the first attempt is 0); `chance` is a random number in 0..1.
pub(super) fn wait(asked: Option<Duration>, attempt: u32, chance: f64) -> Duration {
    if let Some(asked) = asked {
        return asked.min(LONGEST_WAIT);
    }
    let doubled = Duration::from_millis(500).saturating_mul(1 << attempt.min(10));
    doubled
        .min(LONGEST_BACK_OFF)
        .mul_f64(1.0 - chance.clamp(0.0, 1.0) * 0.25)
}

/// A random number in 0..1: enough to keep many clients from coming back at the same moment.
pub(super) fn chance() -> f64 {
    let (high, _) = uuid::Uuid::new_v4().as_u64_pair();
    f64::from(u32::try_from(high >> 32).unwrap_or(0)) / f64::from(u32::MAX)
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: Pairs) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    type Pairs = &'static [(&'static str, &'static str)];

    fn now() -> SystemTime {
        httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap()
    }

    #[test]
    fn the_statuses_that_may_pass_are_tried_again() {
        let tried =
            |status: u16| may_retry(StatusCode::from_u16(status).unwrap(), &HeaderMap::default());
        assert!([408, 409, 429, 500, 502, 529].into_iter().all(tried));
        assert!(![400, 401, 403, 404, 413, 422].into_iter().any(tried));
    }

    #[test]
    fn the_provider_decides_when_it_says_so() {
        let (no, yes) = (
            headers(&[("x-should-retry", "false")]),
            headers(&[("x-should-retry", "true")]),
        );
        assert!(!may_retry(StatusCode::INTERNAL_SERVER_ERROR, &no));
        assert!(may_retry(StatusCode::BAD_REQUEST, &yes));
    }

    #[test]
    fn a_wait_is_read_in_every_form_and_nonsense_is_not() {
        let cases: [(Pairs, Option<u64>); 10] = [
            (&[("retry-after-ms", "30"), ("retry-after", "9")], Some(30)),
            (&[("retry-after", "9")], Some(9_000)),
            (&[("retry-after", "1.5")], Some(1_500)),
            (
                &[("retry-after", "Sun, 06 Nov 1994 08:49:42 GMT")],
                Some(5_000),
            ),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT")], None),
            (&[("retry-after", "-3")], None),
            (&[("retry-after", "0")], None),
            (&[("retry-after", "soon")], None),
            (
                &[("retry-after-ms", "NaN"), ("retry-after", "2")],
                Some(2_000),
            ),
            (&[("retry-after", "1e300")], None),
        ];
        for (pairs, expected) in cases {
            let asked = asked_wait(&headers(pairs), now());
            assert_eq!(asked, expected.map(Duration::from_millis), "{pairs:?}");
        }
    }

    #[test]
    fn waits_grow_to_a_limit_and_scatter_downwards() {
        let millis = |attempt, chance| wait(None, attempt, chance).as_millis();
        assert_eq!(
            [0, 1, 2, 3, 4, 99].map(|n| millis(n, 0.0)),
            [500, 1_000, 2_000, 4_000, 8_000, 8_000]
        );
        assert_eq!(millis(0, 1.0), 375);
        assert_eq!(wait(Some(Duration::from_hours(1)), 0, 0.5), LONGEST_WAIT);
        assert!((0.0..=1.0).contains(&chance()));
    }
}
