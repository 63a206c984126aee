//! Finds keys, tokens and passwords in text by their form, and replaces them with placeholders.
//!
//! One pass searches the text for a few hundred prefixes (`ghp_`, `-----BEGIN `, `password`); only at a match does the
//! check of its family run. Randomness alone decides nothing: it is tested second, after a name such as `password` has
//! announced a secret.
//!
//! ```
//! use everturn_secrets::scan::SecretRules;
//!
//! let rules = SecretRules::standard();
//! let text = "postgres://app:Tr0ub4dor@db.internal/main";
//! let (masked, counts) = rules.mask(text);
//! assert!(masked.starts_with("postgres://app:[secret:database-url:"));
//! assert!(masked.ends_with("]@db.internal/main"));
//! assert_eq!(counts.get("database-url"), Some(&1));
//! // What stands in the place of a secret is none.
//! assert!(rules.find(&masked).is_empty());
//! ```

mod assignment;
mod boundaries;
mod dummy_values;
mod encoded;
mod escapes;
mod families;
mod headers;
mod key_block;
mod named;
mod proofs;
mod services;
mod token;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use sha2::{Digest, Sha256};

use escapes::{UnescapedText, unescaped};
use families::TOKENS;
use services::SERVICES;
use token::TokenPattern;

/// How certain it is that a match is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// A name announces a secret, and the value looks like one.
    Possible,
    /// It has the form of its family, which nothing else has.
    Likely,
    /// Its checksum or its structure is valid.
    Certain,
}

impl Certainty {
    /// The word for it in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Certainty::Possible => "possible",
            Certainty::Likely => "likely",
            Certainty::Certain => "certain",
        }
    }
}

/// How a secret is encoded in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretEncoding {
    /// Not encoded.
    Plain,
    /// Inside a run of base64, which is the range of the match.
    Base64,
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretMatch {
    /// Its range in bytes.
    pub range: Range<usize>,
    /// The family of the secret, such as `github-token`.
    pub family: &'static str,
    /// How certain the match is.
    pub certainty: Certainty,
    /// How it is encoded.
    pub form: SecretEncoding,
}

impl SecretMatch {
    fn plain(range: Range<usize>, family: &'static str, certainty: Certainty) -> SecretMatch {
        SecretMatch { range, family, certainty, form: SecretEncoding::Plain }
    }
}

/// The number of secrets by family.
pub type FamilyCounts = BTreeMap<&'static str, usize>;

/// Checks the text around a matched prefix.
type CheckFn = fn(&[u8], Range<usize>) -> Option<SecretMatch>;

/// The check for a matched prefix.
#[derive(Debug, Clone, Copy)]
enum SearchAnchor {
    /// A token of the tables.
    Token(&'static TokenPattern),
    /// A check function.
    Check(CheckFn),
    /// A prefix in base64: its byte offset modulo three, and the number of digits that are omitted.
    Base64 { shift: usize, skipped: usize },
}

/// The families of secrets, and the search for their prefixes.
#[derive(Debug)]
pub struct SecretRules {
    search: Option<AhoCorasick>,
    anchors: Vec<SearchAnchor>,
    key: Option<[u8; 32]>,
}

/// The maximum length of a match, with the context that its check needs. A caller that scans a text in pieces must let
/// them overlap by this much.
pub const MAX_SECRET_SPAN: usize = 64 << 10;

/// Prefixes with their check functions.
const CHECKS: &[(&[&str], CheckFn)] = &[
    (&["-----BEGIN "], key_block::check_key_block),
    (&["eyJ"], headers::jwt),
    (&["Bearer ", "bearer ", "Bearer%20"], headers::bearer),
    (&["Basic ", "basic "], headers::basic),
    (&["Bot "], headers::discord_bot),
    (&["://"], headers::url),
    (&[":AA"], headers::telegram),
    (&["-us"], headers::mailchimp),
    (&["Q~"], headers::azure_client),
    (&["sig="], headers::azure_signature),
    (&["-u ", "--user "], headers::command_line),
    (assignment::NAMES, assignment::check_assignment),
];

/// The minimum length of a prefix to be searched in base64, where shorter ones occur by chance.
const LEAST_ENCODED: usize = 3;

/// The same for the rarer tokens.
const LEAST_ENCODED_SERVICE: usize = 6;

impl SecretRules {
    /// All families. Built once.
    pub fn standard() -> &'static SecretRules {
        static RULES: OnceLock<SecretRules> = OnceLock::new();
        RULES.get_or_init(|| SecretRules::build(None))
    }

    /// All families, with placeholders that can be linked to a secret only with this key.
    #[must_use]
    pub fn with_key(key: [u8; 32]) -> SecretRules {
        SecretRules::build(Some(key))
    }

    fn build(key: Option<[u8; 32]>) -> SecretRules {
        let mut patterns: Vec<String> = Vec::new();
        let mut anchors = Vec::new();
        let mut add = |pattern: String, anchor| {
            patterns.push(pattern);
            anchors.push(anchor);
        };
        let common = TOKENS.iter().map(|token| (token, LEAST_ENCODED));
        let services = SERVICES.iter().map(|token| (token, LEAST_ENCODED_SERVICE));
        for (token, least) in common.chain(services) {
            for start in token.starts {
                add((*start).to_owned(), SearchAnchor::Token(token));
                if start.len() >= least {
                    for (pattern, shift, skipped) in encoded::base64_patterns(start) {
                        add(pattern, SearchAnchor::Base64 { shift, skipped });
                    }
                }
            }
        }
        for (starts, check) in CHECKS {
            for start in *starts {
                add((*start).to_owned(), SearchAnchor::Check(*check));
            }
        }
        for (pattern, shift, skipped) in encoded::base64_patterns("-----BEGIN ") {
            add(pattern, SearchAnchor::Base64 { shift, skipped });
        }
        let search = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::DFA))
            .match_kind(MatchKind::Standard)
            .build(&patterns);
        // Building fails only for too many patterns.
        SecretRules { search: search.ok(), anchors, key }
    }

    /// All families, sorted by name.
    #[must_use]
    pub fn families() -> Vec<&'static str> {
        let mut all: Vec<&str> = TOKENS.iter().chain(SERVICES).map(|token| token.family).collect();
        all.extend(named::NAMED.iter().map(|key| key.family));
        all.extend(
            assignment::FAMILIES.iter().chain(headers::FAMILIES).chain([&key_block::FAMILY]),
        );
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The secrets in a text, in order and without overlaps.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<SecretMatch> {
        self.find_bytes(text.as_bytes())
    }

    /// The secrets in bytes that need not be text.
    #[must_use]
    pub fn find_bytes(&self, bytes: &[u8]) -> Vec<SecretMatch> {
        let mut hits = self.find_as_written(bytes);
        let Some(text) = UnescapedText::of(bytes) else { return hits };
        let found = self.find_as_written(&text.bytes).into_iter();
        hits.extend(found.map(|hit| SecretMatch { range: text.original(&hit.range), ..hit }));
        merge_overlaps(hits)
    }

    /// The secrets in bytes whose escapes are not decoded.
    fn find_as_written(&self, bytes: &[u8]) -> Vec<SecretMatch> {
        let mut hits = Vec::new();
        self.search(bytes, |anchor, range| {
            let hit = match anchor {
                SearchAnchor::Token(token) => token.match_at(bytes, &range),
                SearchAnchor::Check(check) => check(bytes, range),
                SearchAnchor::Base64 { shift, skipped } => {
                    self.find_encoded(bytes, range.start, shift, skipped)
                }
            };
            hits.extend(hit);
        });
        merge_overlaps(hits)
    }

    fn search(&self, bytes: &[u8], mut found: impl FnMut(SearchAnchor, Range<usize>)) {
        let Some(search) = &self.search else { return };
        for at in search.find_overlapping_iter(bytes) {
            if let Some(anchor) = self.anchors.get(at.pattern().as_usize()) {
                found(*anchor, at.range());
            }
        }
    }

    /// The secrets that are not encoded.
    fn find_plain(&self, bytes: &[u8]) -> Vec<SecretMatch> {
        let mut hits = Vec::new();
        self.search(bytes, |anchor, range| {
            hits.extend(match anchor {
                SearchAnchor::Token(token) => token.match_at(bytes, &range),
                SearchAnchor::Check(check) => check(bytes, range),
                SearchAnchor::Base64 { .. } => None,
            });
        });
        merge_overlaps(hits)
    }

    fn find_encoded(
        &self,
        bytes: &[u8],
        at: usize,
        shift: usize,
        skipped: usize,
    ) -> Option<SecretMatch> {
        let run = encoded::base64_run(bytes, at, shift, skipped)?;
        // Most prefixes occur by chance, in pictures, which are not decoded completely.
        let near = encoded::decode(bytes.get(encoded::nearby_part(&run, at))?)?;
        if self.find_plain(&near).is_empty() {
            return None;
        }
        let decoded = encoded::decode(bytes.get(run.clone())?)?;
        let found = self.find_plain(&decoded);
        let first = found.first()?;
        Some(SecretMatch {
            range: run,
            family: first.family,
            certainty: first.certainty,
            form: SecretEncoding::Base64,
        })
    }

    /// Replaces the secrets in a text with placeholders, and counts them.
    ///
    /// The same secret has the same placeholder everywhere, for example `[secret:github-token:1a2b3c4d]`. A secret in
    /// base64 is replaced inside it, and the rest is encoded again.
    #[must_use]
    pub fn mask<'t>(&self, text: &'t str) -> (Cow<'t, str>, FamilyCounts) {
        let hits = self.find(text);
        if hits.is_empty() {
            return (Cow::Borrowed(text), FamilyCounts::new());
        }
        let (masked, counts) = self.replace(text.as_bytes(), &hits);
        match String::from_utf8(masked) {
            Ok(masked) => (Cow::Owned(masked), counts),
            // Secrets begin and end at character boundaries, and placeholders are text.
            Err(error) => {
                (Cow::Owned(String::from_utf8_lossy(error.as_bytes()).into_owned()), counts)
            }
        }
    }

    /// Like [`SecretRules::mask`], for bytes that need not be text.
    #[must_use]
    pub fn mask_bytes<'t>(&self, bytes: &'t [u8]) -> (Cow<'t, [u8]>, FamilyCounts) {
        let hits = self.find_bytes(bytes);
        if hits.is_empty() {
            return (Cow::Borrowed(bytes), FamilyCounts::new());
        }
        let (masked, counts) = self.replace(bytes, &hits);
        (Cow::Owned(masked), counts)
    }

    /// Replaces these secrets, which [`SecretRules::find_bytes`] found in the bytes, with placeholders.
    #[must_use]
    pub fn replace(&self, bytes: &[u8], hits: &[SecretMatch]) -> (Vec<u8>, FamilyCounts) {
        self.replace_with(bytes, hits, |placeholder| placeholder)
    }

    /// Like [`SecretRules::replace`], with placeholders that `dress` adapts to their context.
    pub fn replace_with(
        &self,
        bytes: &[u8],
        hits: &[SecretMatch],
        dress: fn(String) -> String,
    ) -> (Vec<u8>, FamilyCounts) {
        let mut out = Vec::with_capacity(bytes.len());
        let mut counts = FamilyCounts::new();
        let mut end = 0;
        for hit in hits {
            out.extend_from_slice(bytes.get(end..hit.range.start).unwrap_or_default());
            let secret = bytes.get(hit.range.clone()).unwrap_or_default();
            match hit.form {
                SecretEncoding::Plain => {
                    let placeholder = dress(self.placeholder(hit.family, secret));
                    out.extend_from_slice(placeholder.as_bytes());
                    out.extend_from_slice(token::line_break(secret, hit.family));
                    *counts.entry(hit.family).or_default() += 1;
                }
                SecretEncoding::Base64 => {
                    let secret = &*unescaped(secret);
                    let decoded = encoded::decode(secret).unwrap_or_default();
                    let (masked, inner) = self.replace(&decoded, &self.find_plain(&decoded));
                    out.extend_from_slice(encoded::encode(&masked, secret).as_bytes());
                    for (family, count) in inner {
                        *counts.entry(family).or_default() += count;
                    }
                }
            }
            end = hit.range.end;
        }
        out.extend_from_slice(bytes.get(end..).unwrap_or_default());
        (out, counts)
    }

    /// The placeholder of a secret.
    ///
    /// A long random key cannot be guessed, so eight digits of its SHA-256 reveal nothing. A password can: with a list
    /// of likely passwords, the one with these digits could be found. So passwords get two digits, which one in 256
    /// wrong guesses has, too. With a key, both have eight.
    #[must_use]
    pub fn placeholder(&self, family: &str, secret: &[u8]) -> String {
        // The same secret may be escaped elsewhere.
        let secret = &*unescaped(secret);
        let mut hash = Sha256::new();
        if let Some(key) = &self.key {
            hash.update(key);
        }
        hash.update(secret);
        if let Some(key) = &self.key {
            hash.update(key);
        }
        let shown = if self.key.is_none() && is_guessable(family) { 1 } else { 4 };
        let sum = hash.finalize();
        let digits: String = sum.iter().take(shown).map(|byte| format!("{byte:02x}")).collect();
        format!("[secret:{family}:{digits}]")
    }
}

/// Whether secrets of this family are chosen by people.
fn is_guessable(family: &str) -> bool {
    assignment::FAMILIES.contains(&family) || headers::GUESSABLE.contains(&family)
}

/// Sorts matches. Of two that overlap, the more certain one counts if it is inside the other; else they are merged.
fn merge_overlaps(mut hits: Vec<SecretMatch>) -> Vec<SecretMatch> {
    hits.sort_by(|a, b| (a.range.start, b.range.end).cmp(&(b.range.start, a.range.end)));
    let mut settled: Vec<SecretMatch> = Vec::with_capacity(hits.len());
    for hit in hits {
        let Some(last) = settled.last_mut().filter(|last| hit.range.start < last.range.end) else {
            settled.push(hit);
            continue;
        };
        let is_surer = hit.certainty > last.certainty;
        if hit.range.end > last.range.end {
            let range = last.range.start..hit.range.end;
            let kept = if is_surer { hit } else { last.clone() };
            *last = SecretMatch { range, ..kept };
        } else if is_surer {
            *last = hit;
        }
    }
    settled
}
