//! Sums of numbers that are there as text.

/// The sum of two JSON numbers; an error holds what cannot be written as one.
///
/// Integers are added exactly. If a fraction or an exponent is involved, the sum is that of 64-bit
/// floating-point numbers.
pub(super) fn add(a: &str, b: &str) -> Result<String, String> {
    if let (Ok(a), Ok(b)) = (a.parse::<i128>(), b.parse::<i128>()) {
        return a.checked_add(b).map(|sum| sum.to_string()).ok_or_else(|| format!("{a} + {b}"));
    }
    let (Ok(left), Ok(right)) = (a.parse::<f64>(), b.parse::<f64>()) else {
        return Err(format!("{a} + {b}"));
    };
    let sum = left + right;
    let text = serde_json::to_string(&sum).unwrap_or_default();
    if sum.is_finite() { Ok(text) } else { Err(format!("{a} + {b}")) }
}

#[cfg(test)]
mod tests {
    use super::add;

    #[track_caller]
    fn check(a: &str, b: &str, expect: &str) {
        assert_eq!(add(a, b).as_deref(), Ok(expect));
    }

    #[test]
    fn integers_are_added_exactly_and_others_as_floating_point() {
        check("3", "4", "7");
        check("9007199254740993", "1", "9007199254740994");
        check("-5", "5", "0");
        check("18446744073709551615", "1", "18446744073709551616");
        check("1.5", "1", "2.5");
        check("1e3", "1", "1001.0");
        assert!(add("1e308", "1e308").is_err());
        let huge = "170141183460469231731687303715884105727";
        assert!(add(huge, "1").is_err());
    }
}
