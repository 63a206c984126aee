//! Recognises example values, and measures how random others look.

/// The length of an ascending or repeating run of bytes that marks an example.
const ROW: usize = 7;

/// Words that mark examples.
const WORDS: &[&str] = &[
    "example",
    "xxxx",
    "****",
    "....",
    "your_",
    "your-",
    "yourpass",
    "yourtoken",
    "yoursecret",
    "yourkey",
    "yourapi",
    "placeholder",
    "redacted",
    "changeme",
    "change-me",
    "change_me",
    "replace_me",
    "replace-me",
    "insert_",
    "insert-",
    "dummy",
    "sample",
    "notreal",
    "not-real",
    "[secret:",
];

/// Values of examples, and values of programs that are not secrets.
const VALUES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "secret",
    "token",
    "api_key",
    "apikey",
    "key",
    "user",
    "username",
    "admin",
    "root",
    "postgres",
    "guest",
    "test",
    "testing",
    "mysql",
    "redis",
    "mongo",
    "none",
    "null",
    "nil",
    "true",
    "false",
    "undefined",
    "string",
    "required",
    "optional",
    "foobar",
    "hidden",
    "empty",
    "unset",
    "default",
    "hunter2",
    "localhost",
    "value",
    "text",
    "masked",
    "sensitive",
    "encrypted",
    "p@ssw0rd",
    "passw0rd",
    "s3cr3t",
    "foo",
    "bar",
    "baz",
];

/// Whether a value only represents a secret, as in an example or a template.
pub(super) fn is_dummy(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    let text = String::from_utf8_lossy(&lower);
    VALUES.contains(&&*text)
        || WORDS.iter().any(|word| text.contains(word))
        || has_row(value)
        || has_few_distinct_bytes(value)
}

/// Whether a run of bytes ascends or repeats.
fn has_row(value: &[u8]) -> bool {
    let (mut same, mut rising) = (1, 1);
    for pair in value.windows(2) {
        let [a, b] = pair else { continue };
        same = if a == b { same + 1 } else { 1 };
        rising = if b.checked_sub(*a) == Some(1) { rising + 1 } else { 1 };
        if same >= ROW || rising >= ROW {
            return true;
        }
    }
    false
}

/// Whether a long value has very few distinct bytes.
fn has_few_distinct_bytes(value: &[u8]) -> bool {
    value.len() >= 16 && byte_counts(value).iter().filter(|count| **count > 0).count() < 6
}

/// Whether a value is a variable or a template, not a literal.
pub(super) fn is_reference(value: &[u8]) -> bool {
    let text = String::from_utf8_lossy(value);
    let starts = [
        "$", "{", "<", "[", "%", "(", "*", "@", "&", "#", "/", "~", "os.", "process.", "env.",
        "ENV[", "self.",
    ];
    let inside = ["${", "{{", "$(", "getenv", "environ", "()", "::", "->", "=>", "|"];
    starts.iter().any(|start| text.starts_with(start))
        || inside.iter().any(|part| text.contains(part))
}

fn byte_counts(value: &[u8]) -> [u32; 256] {
    let mut counts = [0; 256];
    for byte in value {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    counts
}

/// The entropy of the value in bits per byte.
pub(super) fn entropy(value: &[u8]) -> f64 {
    let Ok(length) = u32::try_from(value.len()) else { return 0.0 };
    let length = f64::from(length);
    let share = |count: &u32| f64::from(*count) / length;
    byte_counts(value).iter().filter(|count| **count > 0).map(share).map(|it| -it * it.log2()).sum()
}

/// The number of classes among lower case, upper case inside, digits and symbols. Word separators are not symbols.
pub(super) fn character_classes(value: &[u8]) -> usize {
    let small = value.iter().any(u8::is_ascii_lowercase);
    let large = value.iter().skip(1).any(u8::is_ascii_uppercase);
    let digit = value.iter().any(u8::is_ascii_digit);
    let sign = value.iter().any(|byte| !byte.is_ascii_alphanumeric() && !b"-_. ".contains(byte));
    [small, large, digit, sign].into_iter().filter(|has| *has).count()
}

/// Whether the value has digits, or both lower and upper case, like random ones.
pub(super) fn is_mixed(value: &[u8]) -> bool {
    let small = value.iter().any(u8::is_ascii_lowercase);
    let large = value.iter().any(u8::is_ascii_uppercase);
    value.iter().any(u8::is_ascii_digit) || (small && large)
}
