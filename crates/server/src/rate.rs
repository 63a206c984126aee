//! [`RateLimit`]: how many requests are let in per second.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How many seconds' worth of requests may come at once.
const BURST: f64 = 4.0;

/// A bucket that fills with time.
#[derive(Debug)]
pub(crate) struct RateLimit {
    per_second: f64,
    bucket: Mutex<Bucket>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    level: f64,
    at: Instant,
}

impl RateLimit {
    pub(crate) fn new(per_second: u32, now: Instant) -> RateLimit {
        let per_second = f64::from(per_second);
        RateLimit { per_second, bucket: Mutex::new(Bucket { level: per_second * BURST, at: now }) }
    }

    /// Takes one request out of the bucket; `false` if it is empty.
    pub(crate) fn take(&self, now: Instant) -> bool {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.level = (bucket.level + passed * self.per_second).min(self.per_second * BURST);
        bucket.at = bucket.at.max(now);
        if bucket.level < 1.0 {
            return false;
        }
        bucket.level -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_is_let_in_and_then_the_rate() {
        let start = Instant::now();
        let limit = RateLimit::new(5, start);
        assert_eq!((0..100).filter(|_| limit.take(start)).count(), 20);
        let later = start + Duration::from_secs(1);
        assert_eq!((0..100).filter(|_| limit.take(later)).count(), 5);
        let much_later = later + Duration::from_secs(1000);
        assert_eq!((0..100).filter(|_| limit.take(much_later)).count(), 20);
    }
}
