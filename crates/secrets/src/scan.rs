//! Keys, tokens and passwords in text: found by what they look like, and replaced by placeholders.
//!
//! A search for a few hundred beginnings (`ghp_`, `-----BEGIN `, `password`) goes through the text once; only where one
//! stands does the check of its family run. How random a text looks decides nothing alone: it is asked second, where
//! a name such as `password` has already said that a secret follows.
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
mod families;
mod headers;
mod key_block;
mod token;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use sha2::{Digest, Sha256};

use families::TOKENS;

/// How sure it is that something is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// A name says that a secret follows, and what follows looks like one.
    Possible,
    /// It has the form of its family, and nothing else has it.
    Likely,
    /// Its checksum or its structure is right.
    Certain,
}

impl Certainty {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Certainty::Possible => "possible",
            Certainty::Likely => "likely",
            Certainty::Certain => "certain",
        }
    }
}

/// How a secret stands in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretEncoding {
    /// As it is.
    Plain,
    /// Somewhere in a run of base64, which is what the range covers.
    Base64,
}

/// A secret that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretMatch {
    /// Its bytes.
    pub range: Range<usize>,
    /// What kind of secret it is, such as `github-token`.
    pub family: &'static str,
    /// How sure that is.
    pub certainty: Certainty,
    /// How it stands there.
    pub form: SecretEncoding,
}

impl SecretMatch {
    fn plain(range: Range<usize>, family: &'static str, certainty: Certainty) -> SecretMatch {
        SecretMatch { range, family, certainty, form: SecretEncoding::Plain }
    }
}

/// How many secrets of each family.
pub type FamilyCounts = BTreeMap<&'static str, usize>;

/// Looks at a text around a beginning that was found in it.
type CheckFn = fn(&[u8], Range<usize>) -> Option<SecretMatch>;

/// What stands behind a beginning.
#[derive(Debug, Clone, Copy)]
enum SearchAnchor {
    /// The token of this place in the table.
    Token(usize),
    /// A check of its own.
    Check(CheckFn),
    /// A beginning in base64: how many bytes after a multiple of three it stands, and how many digits are left out.
    Base64 { shift: usize, skipped: usize },
}

/// Families and the search for them.
#[derive(Debug)]
pub struct SecretRules {
    search: Option<AhoCorasick>,
    anchors: Vec<SearchAnchor>,
    key: Option<[u8; 32]>,
}

/// The longest secret that is looked for, with what stands around it. Whoever looks through a text in pieces lets them
/// overlap by this much.
pub const MAX_SECRET_SPAN: usize = 64 << 10;

/// The beginnings of checks, and the checks.
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

/// How many bytes a beginning must have to be looked for in base64, where shorter ones stand by chance.
const LEAST_ENCODED: usize = 3;

impl SecretRules {
    /// All families. They are put together once.
    pub fn standard() -> &'static SecretRules {
        static RULES: OnceLock<SecretRules> = OnceLock::new();
        RULES.get_or_init(|| SecretRules::build(None))
    }

    /// All families, with placeholders that only somebody with this key can tell to belong to a secret.
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
        for (place, token) in TOKENS.iter().enumerate() {
            for start in token.starts {
                add((*start).to_owned(), SearchAnchor::Token(place));
                if start.len() >= LEAST_ENCODED {
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
        // Building fails for more patterns than there are numbers only.
        SecretRules { search: search.ok(), anchors, key }
    }

    /// The families there are, in the order of their names.
    #[must_use]
    pub fn families() -> Vec<&'static str> {
        let mut all: Vec<&str> = TOKENS.iter().map(|token| token.family).collect();
        all.extend(
            assignment::FAMILIES.iter().chain(headers::FAMILIES).chain([&key_block::FAMILY]),
        );
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The secrets in a text, in order; no two of them overlap.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<SecretMatch> {
        self.find_bytes(text.as_bytes())
    }

    /// The secrets in bytes that need not be text.
    #[must_use]
    pub fn find_bytes(&self, bytes: &[u8]) -> Vec<SecretMatch> {
        let mut hits = Vec::new();
        self.search(bytes, |anchor, range| {
            let hit = match anchor {
                SearchAnchor::Token(place) => {
                    TOKENS.get(place).and_then(|it| it.match_at(bytes, &range))
                }
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

    /// The secrets that stand in bytes as they are.
    fn find_plain(&self, bytes: &[u8]) -> Vec<SecretMatch> {
        let mut hits = Vec::new();
        self.search(bytes, |anchor, range| {
            hits.extend(match anchor {
                SearchAnchor::Token(place) => {
                    TOKENS.get(place).and_then(|it| it.match_at(bytes, &range))
                }
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
        // Most beginnings stand there by chance, in pictures: those are not decoded whole.
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

    /// The text with placeholders in the place of its secrets, and how many there are.
    ///
    /// The same secret has the same placeholder everywhere, for example `[secret:github-token:1a2b3c4d]`. What stands
    /// in base64 is replaced there, and the rest is encoded again.
    #[must_use]
    pub fn mask<'t>(&self, text: &'t str) -> (Cow<'t, str>, FamilyCounts) {
        let hits = self.find(text);
        if hits.is_empty() {
            return (Cow::Borrowed(text), FamilyCounts::new());
        }
        let (masked, counts) = self.replace(text.as_bytes(), &hits);
        match String::from_utf8(masked) {
            Ok(masked) => (Cow::Owned(masked), counts),
            // Secrets begin and end between characters, and placeholders are text.
            Err(error) => {
                (Cow::Owned(String::from_utf8_lossy(error.as_bytes()).into_owned()), counts)
            }
        }
    }

    /// The same for bytes that need not be text.
    #[must_use]
    pub fn mask_bytes<'t>(&self, bytes: &'t [u8]) -> (Cow<'t, [u8]>, FamilyCounts) {
        let hits = self.find_bytes(bytes);
        if hits.is_empty() {
            return (Cow::Borrowed(bytes), FamilyCounts::new());
        }
        let (masked, counts) = self.replace(bytes, &hits);
        (Cow::Owned(masked), counts)
    }

    /// The bytes with placeholders in the place of these secrets, which [`SecretRules::find_bytes`] found in them.
    #[must_use]
    pub fn replace(&self, bytes: &[u8], hits: &[SecretMatch]) -> (Vec<u8>, FamilyCounts) {
        self.replace_with(bytes, hits, |placeholder| placeholder)
    }

    /// The same, with placeholders that are dressed for where they stand.
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

    /// What stands in the place of a secret.
    ///
    /// A long random key cannot be found by trying, so eight digits of its SHA-256 give nothing away. A password can:
    /// whoever has a list of likely ones would find the one with these digits. So passwords get two digits, which
    /// one in 256 wrong guesses has, too. With a key of one's own, both have eight.
    #[must_use]
    pub fn placeholder(&self, family: &str, secret: &[u8]) -> String {
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

/// Whether people make up the secrets of this family.
fn is_guessable(family: &str) -> bool {
    assignment::FAMILIES.contains(&family) || headers::GUESSABLE.contains(&family)
}

/// Brings hits into order. Of two that overlap, the surer one counts if it lies in the other; else both are one.
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
