//! Adds numbers in text form.

/// The sum of two JSON numbers; the error contains a sum that cannot be written as a number.
///
/// Integers of up to 38 digits are added exactly, longer ones are refused. If one has a fraction or an exponent, they
/// are added as 64-bit floating-point numbers.
pub(super) fn add_numbers(a: &str, b: &str) -> Result<String, String> {
    let small = |text: &str| text.parse::<i64>().ok();
    if let Some(sum) = small(a).zip(small(b)).and_then(|(a, b)| a.checked_add(b)) {
        return Ok(sum.to_string());
    }
    let is_integer = |text: &str| !text.contains(['.', 'e', 'E']);
    let sum = if is_integer(a) && is_integer(b) {
        let sum = |a: i128, b: i128| a.checked_add(b).map(|sum| sum.to_string());
        a.parse().ok().zip(b.parse().ok()).and_then(|(a, b)| sum(a, b))
    } else {
        let sum = |a: f64, b: f64| Some(a + b).filter(|sum| sum.is_finite());
        let sum = a.parse().ok().zip(b.parse().ok()).and_then(|(a, b)| sum(a, b));
        sum.and_then(|sum| serde_json::to_string(&sum).ok())
    };
    sum.ok_or_else(|| format!("{a} + {b}"))
}

#[cfg(test)]
mod tests {
    use super::add_numbers;

    #[track_caller]
    fn check(a: &str, b: &str, expect: &str) {
        assert_eq!(add_numbers(a, b).as_deref(), Ok(expect));
    }

    #[test]
    fn integers_are_added_exactly_and_others_as_floating_point() {
        check("3", "4", "7");
        check("9007199254740993", "1", "9007199254740994");
        check("-5", "5", "0");
        check("18446744073709551615", "1", "18446744073709551616");
        check("1.5", "1", "2.5");
        check("1e3", "1", "1001.0");
        assert!(add_numbers("1e308", "1e308").is_err());
        let huge = "170141183460469231731687303715884105727";
        assert_eq!(add_numbers(huge, "1"), Err(format!("{huge} + 1")));
        assert_eq!(
            add_numbers(huge, "-1").as_deref(),
            Ok("170141183460469231731687303715884105726")
        );
        // One more digit: a floating-point sum would lose most of them.
        assert!(add_numbers("1000000000000000000000000000000000000000", "1").is_err());
    }
}
