//! Small texts, and the secrets in them.

use everturn_secrets::scan::{Certainty, SecretRules};

use crate::random::Random;
use crate::secrets::FAMILIES;

/// A secret of a family.
fn one(family: &str) -> String {
    let make = FAMILIES.iter().find(|(name, _)| *name == family).unwrap().1;
    make(&mut Random::new(7)).secret
}

#[track_caller]
fn check(text: &str, expect: &[(&str, &str)]) {
    let hits = SecretRules::standard().find(text);
    let found: Vec<(&str, &str)> =
        hits.iter().map(|hit| (hit.family, &text[hit.range.clone()])).collect();
    assert_eq!(found, expect, "{text}");
}

#[test]
fn the_password_alone_is_taken_out_of_what_stands_around_it() {
    check("postgres://app:s3cr3t-Zebra@db/main", &[("database-url", "s3cr3t-Zebra")]);
    check("https://me:aB3dEfGh@host/x", &[("url-password", "aB3dEfGh")]);
    check("{\"password\":\"Zebra77!\"}", &[("password-assignment", "Zebra77!")]);
    check("{\\\"password\\\":\\\"Zebra77!\\\"}", &[("password-assignment", "Zebra77!")]);
    check("a\nDB_PASSWORD=quick-brown-fox\nb", &[("env-line", "quick-brown-fox")]);
    check("password%3DZebra77!x&a=b", &[("password-assignment", "Zebra77!x")]);
    check("password\\u003dZebra77!x", &[("password-assignment", "Zebra77!x")]);
    check("pwd = Zebra", &[]);
}

#[test]
fn a_right_checksum_makes_a_token_certain() {
    let token = one("github-token");
    let hits = SecretRules::standard().find(&token);
    assert_eq!(hits[0].certainty, Certainty::Certain);
    let last = token.chars().last().unwrap();
    let wrong = format!("{}{}", &token[..token.len() - 1], if last == 'a' { 'b' } else { 'a' });
    assert_eq!(SecretRules::standard().find(&wrong)[0].certainty, Certainty::Possible);
}

#[test]
fn a_token_that_was_wrapped_is_found_and_its_line_end_stays() {
    let token = one("github-token");
    for wrap in ["\n", "\r\n", "\\n"] {
        let text = format!("key: {}{wrap}{} end", &token[..17], &token[17..]);
        let (masked, counts) = SecretRules::standard().mask(&text);
        assert_eq!(counts.values().sum::<usize>(), 1, "{text}");
        assert!(masked.ends_with(&format!("]{wrap} end")), "{masked}");
        assert_eq!(SecretRules::standard().find(&text)[0].certainty, Certainty::Certain);
    }
}

#[test]
fn the_same_secret_has_the_same_placeholder() {
    let (a, b) = (one("groq-key"), one("slack-token"));
    let text = format!("{a} {b} {a}");
    let (masked, counts) = SecretRules::standard().mask(&text);
    let parts: Vec<&str> = masked.split(' ').collect();
    assert_eq!(parts[0], parts[2]);
    assert_ne!(parts[0], parts[1]);
    assert!(
        parts[0].starts_with("[secret:groq-key:")
            && parts[0].len() == "[secret:groq-key:12345678]".len()
    );
    assert_eq!(counts, [("groq-key", 2), ("slack-token", 1)].into());
}

#[test]
fn a_password_shows_less_of_its_hash_unless_there_is_a_key() {
    let text = "password: 'Zebra77!'";
    let plain = SecretRules::standard().mask(text).0.into_owned();
    assert_eq!(plain.len(), "password: '[secret:password-assignment:12]'".len());
    let (one, other) = (SecretRules::with_key([1; 32]), SecretRules::with_key([2; 32]));
    assert_eq!(one.mask(text).0.len(), plain.len() + 6);
    assert_ne!(one.mask(text).0, other.mask(text).0);
}

#[test]
fn bytes_that_are_no_text_are_looked_through() {
    let token = one("stripe-key");
    let bytes = [b"\xff\xfe\0", token.as_bytes(), b"\0\xff"].concat();
    let (masked, counts) = SecretRules::standard().mask_bytes(&bytes);
    assert_eq!(counts, [("stripe-key", 1)].into());
    assert!(masked.starts_with(b"\xff\xfe\0[secret:stripe-key:") && masked.ends_with(b"]\0\xff"));
}

#[test]
fn a_key_block_that_was_cut_off_is_found() {
    let block = one("private-key");
    let cut = &block[..block.len() - 60];
    let (masked, _) = SecretRules::standard().mask(cut);
    assert!(masked.starts_with("[secret:private-key:") && masked.len() < 40, "{masked}");
}
