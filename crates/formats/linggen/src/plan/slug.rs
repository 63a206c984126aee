//! The file name of a plan, made from its title.

/// The first five words of a text, in lower case. Everything but letters and digits separates words.
///
/// ```
/// use everturn_linggen::slug;
///
/// assert_eq!(slug("Refactor the auth module: now!"), "refactor-the-auth-module-now");
/// assert_eq!(slug("???"), "plan");
/// ```
#[must_use]
pub fn slug(text: &str) -> String {
    let words = text.split(|character: char| !character.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).take(5).collect();
    let mut slug = words.join("-").to_ascii_lowercase();
    // A file system would refuse a longer name.
    let room = slug.floor_char_boundary(200);
    slug.truncate(room);
    if slug.is_empty() { "plan".to_owned() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn names_are_made_as_programs_make_them() {
        let check = |text: &str, expect: &str| assert_eq!(slug(text), expect, "{text:?}");
        check("Refactor auth module", "refactor-auth-module");
        check("Build: a thing", "build-a-thing");
        check("one two three four five six", "one-two-three-four-five");
        check("  spaced   out  ", "spaced-out");
        check("Straße Ünder 日本語", "straße-Ünder-日本語");
        check("a/b ../c", "a-b-c");
        check("../../etc/passwd", "etc-passwd");
        check("", "plan");
        check("!!!", "plan");
        check("snake_case-and.dots", "snake-case-and-dots");
        check(&"x".repeat(500), &"x".repeat(200));
    }
}
