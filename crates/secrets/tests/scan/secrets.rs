//! Secrets of every family, generated at run time, so that none is in this repository.

use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD, Engine};
use crc_fast::{CrcAlgorithm, checksum};

use crate::random::Random;

pub(crate) const HEX: &str = "0123456789abcdef";
pub(crate) const DIGITS: &str = "0123456789";
pub(crate) const CAPITALS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
pub(crate) const LETTERS: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const URL: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-";
const BASE64: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/";

/// A secret with the context that it needs; `before` and `after` are mostly empty.
pub(crate) struct Made {
    pub(crate) before: String,
    pub(crate) secret: String,
    pub(crate) after: String,
}

pub(crate) fn alone(secret: String) -> Made {
    Made { before: String::new(), secret, after: String::new() }
}

pub(crate) fn within(before: &str, secret: String, after: &str) -> Made {
    Made { before: before.to_owned(), secret, after: after.to_owned() }
}

/// Characters that do not end with a sign, which would be taken as part of the sentence.
pub(crate) fn url(random: &mut Random, length: usize) -> String {
    format!("{}{}", random.text(URL, length - 1), random.text(LETTERS, 1))
}

fn with_sum(random: &mut Random) -> String {
    let body = random.text(LETTERS, 30);
    let mut rest = checksum(CrcAlgorithm::Crc32IsoHdlc, body.as_bytes());
    let digits = LETTERS.as_bytes();
    let mut sum = Vec::new();
    for _ in 0..6 {
        sum.insert(0, digits[usize::try_from(rest % 62).unwrap()]);
        rest /= 62;
    }
    body + str::from_utf8(&sum).unwrap()
}

pub(crate) fn uuid(random: &mut Random) -> String {
    let lengths = [8, 4, 4, 4, 12];
    lengths.map(|length| random.text(HEX, length)).join("-")
}

/// Bech32 text of 32 random bytes' worth of digits, with its checksum.
pub(crate) fn bech32(random: &mut Random, readable: &str) -> String {
    let alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    let data = random.text(alphabet, 52);
    let mut values: Vec<u32> = readable.bytes().map(|byte| u32::from(byte >> 5)).collect();
    values.push(0);
    values.extend(readable.bytes().map(|byte| u32::from(byte & 31)));
    values.extend(data.chars().map(|digit| u32::try_from(alphabet.find(digit).unwrap()).unwrap()));
    values.extend([0; 6]);
    let mut sum = 1_u32;
    for value in values {
        let top = sum >> 25;
        sum = ((sum & 0x1ff_ffff) << 5) ^ value;
        let factors = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
        for (bit, factor) in factors.into_iter().enumerate() {
            sum ^= if (top >> bit) & 1 == 1 { factor } else { 0 };
        }
    }
    sum ^= 1;
    let digit = |at: u32| alphabet.as_bytes()[((sum >> (5 * (5 - at))) & 31) as usize] as char;
    format!("{readable}1{data}{}", (0..6).map(digit).collect::<String>())
}

/// An extended private key: 78 bytes and four of a double SHA-256, in base 58.
pub(crate) fn base58_check(random: &mut Random) -> String {
    use sha2::{Digest, Sha256};
    let mut bytes = vec![0x04, 0x88, 0xad, 0xe4];
    bytes.extend(random.bytes(74));
    let sum = Sha256::digest(Sha256::digest(&bytes));
    bytes.extend_from_slice(&sum[..4]);
    let mut digits: Vec<u32> = Vec::new();
    for byte in bytes {
        let mut carry = u32::from(byte);
        for digit in &mut digits {
            carry += *digit * 256;
            *digit = carry % 58;
            carry /= 58;
        }
        while carry > 0 {
            digits.push(carry % 58);
            carry /= 58;
        }
    }
    let alphabet = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    digits.iter().rev().map(|digit| alphabet[*digit as usize] as char).collect()
}

fn block(random: &mut Random, kind: &str) -> String {
    let body: Vec<String> = (0..6).map(|_| random.text(BASE64, 64)).collect();
    format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----", body.join("\n"))
}

fn jwt(random: &mut Random) -> String {
    let part = |text: String| BASE64_URL_SAFE_NO_PAD.encode(text);
    let head = part(r#"{"alg":"HS256","typ":"JWT"}"#.to_owned());
    let body = part(format!(r#"{{"sub":"{}","admin":true}}"#, random.text(DIGITS, 10)));
    format!("{head}.{body}.{}", random.text(LETTERS, 43))
}

/// A password as people choose them: words, digits, a symbol.
fn password(random: &mut Random) -> String {
    let words = ["Autumn", "river", "Tango", "maple", "Copper", "stone", "Falcon", "amber"];
    let (a, b) = (random.pick(&words).to_string(), random.pick(&words).to_string());
    format!("{a}{b}{}{}", random.text(DIGITS, 3), random.pick(&["!", "%", "+", "^"]))
}

pub(crate) type Make = fn(&mut Random) -> Made;

/// The families, each with a generator.
pub(crate) const FAMILIES: &[(&str, Make)] = &[
    ("aws-access-key", |r| alone(format!("{}{}", r.pick(&["AKIA", "ASIA"]), r.text(CAPITALS, 16)))),
    ("aws-secret-key", |r| within("aws_secret_access_key = ", r.text(BASE64, 40), "")),
    ("google-api-key", |r| alone(format!("AIza{}", url(r, 35)))),
    ("google-oauth-secret", |r| alone(format!("GOCSPX-{}", url(r, 28)))),
    ("google-oauth-token", |r| alone(format!("ya29.{}", url(r, 140)))),
    ("azure-storage-key", |r| alone(format!("AccountKey={}==", r.text(BASE64, 86)))),
    ("azure-client-secret", |r| alone(format!("{}8Q~{}", r.text(LETTERS, 3), url(r, 34)))),
    ("azure-signature", |r| {
        let before = "https://files.blob.core.windows.net/a/b?sv=2024-11-04&se=2027-01-01&sig=";
        within(before, format!("{}%3D", r.text(LETTERS, 43)), "&sp=r")
    }),
    ("digitalocean-token", |r| alone(format!("dop_v1_{}", r.text(HEX, 64)))),
    ("heroku-key", |r| alone(format!("HRKU-{}", uuid(r)))),
    ("vault-token", |r| alone(format!("hvs.{}", url(r, 90)))),
    ("fly-token", |r| alone(format!("fm2_{}", r.text(LETTERS, 200)))),
    ("databricks-token", |r| alone(format!("dapi{}", r.text(HEX, 32)))),
    ("supabase-key", |r| alone(format!("sbp_{}", r.text(HEX, 40)))),
    ("planetscale-token", |r| alone(format!("pscale_tkn_{}", url(r, 43)))),
    ("netlify-token", |r| alone(format!("nfp_{}", r.text(LETTERS, 36)))),
    ("alibaba-key", |r| alone(format!("LTAI{}", r.text(LETTERS, 20)))),
    ("github-token", |r| alone(format!("{}{}", r.pick(&["ghp_", "gho_", "ghs_"]), with_sum(r)))),
    ("github-token", |r| {
        alone(format!("github_pat_{}_{}", r.text(LETTERS, 22), r.text(LETTERS, 59)))
    }),
    ("gitlab-token", |r| alone(format!("glpat-{}", url(r, 20)))),
    ("bitbucket-password", |r| alone(format!("ATBB{}", r.text(LETTERS, 32)))),
    ("atlassian-token", |r| alone(format!("ATATT3xFfGF0{}", url(r, 170)))),
    ("openai-key", |r| alone(format!("sk-proj-{}", url(r, 148)))),
    ("openai-key", |r| alone(format!("sk-{}T3BlbkFJ{}", r.text(LETTERS, 20), r.text(LETTERS, 20)))),
    ("anthropic-key", |r| alone(format!("sk-ant-api03-{}", url(r, 95)))),
    ("openrouter-key", |r| alone(format!("sk-or-v1-{}", r.text(HEX, 64)))),
    ("langfuse-key", |r| alone(format!("sk-lf-{}", uuid(r)))),
    ("groq-key", |r| alone(format!("gsk_{}", r.text(LETTERS, 52)))),
    ("xai-key", |r| alone(format!("xai-{}", r.text(LETTERS, 80)))),
    ("cerebras-key", |r| alone(format!("csk-{}", r.text(LETTERS, 48)))),
    ("huggingface-token", |r| alone(format!("hf_{}", r.text(LETTERS, 34)))),
    ("replicate-token", |r| alone(format!("r8_{}", r.text(LETTERS, 37)))),
    ("perplexity-key", |r| alone(format!("pplx-{}", r.text(LETTERS, 48)))),
    ("nvidia-key", |r| alone(format!("nvapi-{}", url(r, 64)))),
    ("tavily-key", |r| alone(format!("tvly-{}", r.text(LETTERS, 32)))),
    ("langsmith-key", |r| alone(format!("lsv2_pt_{}_{}", r.text(HEX, 32), r.text(HEX, 10)))),
    ("pinecone-key", |r| alone(format!("pcsk_{}", r.text(LETTERS, 70)))),
    ("slack-token", |r| {
        alone(format!("xoxb-{}-{}-{}", r.text(DIGITS, 12), r.text(DIGITS, 13), r.text(LETTERS, 24)))
    }),
    ("slack-webhook", |r| {
        let (a, b) = (r.text(CAPITALS, 8), r.text(CAPITALS, 10));
        alone(format!("hooks.slack.com/services/T{a}/B{b}/{}", r.text(LETTERS, 24)))
    }),
    ("discord-token", |r| {
        let token = format!("M{}.{}.{}", r.text(LETTERS, 25), r.text(LETTERS, 6), url(r, 38));
        within("Authorization: Bot ", token, "")
    }),
    ("discord-webhook", |r| {
        alone(format!("discord.com/api/webhooks/1{}/{}", r.text(DIGITS, 17), url(r, 68)))
    }),
    ("telegram-token", |r| alone(format!("7{}:AA{}", r.text(DIGITS, 9), url(r, 33)))),
    ("teams-webhook", |r| {
        let (a, b, c, d) = (uuid(r), uuid(r), r.text(HEX, 32), uuid(r));
        alone(format!("webhook.office.com/webhookb2/{a}@{b}/IncomingWebhook/{c}/{d}"))
    }),
    ("sendgrid-key", |r| alone(format!("SG.{}.{}", url(r, 22), url(r, 43)))),
    ("mailgun-key", |r| alone(format!("key-{}", r.text(HEX, 32)))),
    ("mailchimp-key", |r| alone(format!("{}-us{}", r.text(HEX, 32), 1 + r.below(20)))),
    ("twilio-key", |r| alone(format!("SK{}", r.text(HEX, 32)))),
    ("stripe-key", |r| {
        alone(format!("{}{}", r.pick(&["sk_live_", "rk_live_"]), r.text(LETTERS, 99)))
    }),
    ("stripe-webhook-secret", |r| alone(format!("whsec_{}", r.text(LETTERS, 32)))),
    ("square-token", |r| alone(format!("sq0atp-{}", url(r, 22)))),
    ("braintree-token", |r| {
        alone(format!("access_token$production${}${}", r.text(LETTERS, 16), r.text(HEX, 32)))
    }),
    ("shopify-token", |r| alone(format!("shpat_{}", r.text(HEX, 32)))),
    ("npm-token", |r| alone(format!("npm_{}", with_sum(r)))),
    ("pypi-token", |r| alone(format!("pypi-AgEIcHlwaS5vcmc{}", url(r, 160)))),
    ("rubygems-key", |r| alone(format!("rubygems_{}", r.text(HEX, 48)))),
    ("crates-io-token", |r| alone(format!("cio{}", r.text(LETTERS, 32)))),
    ("docker-token", |r| alone(format!("dckr_pat_{}", url(r, 27)))),
    ("linear-key", |r| alone(format!("lin_api_{}", r.text(LETTERS, 40)))),
    ("notion-token", |r| alone(format!("ntn_{}", r.text(LETTERS, 46)))),
    ("figma-token", |r| alone(format!("figd_{}", url(r, 40)))),
    ("postman-key", |r| alone(format!("PMAK-{}-{}", r.text(HEX, 24), r.text(HEX, 34)))),
    ("grafana-token", |r| alone(format!("glsa_{}_{}", r.text(LETTERS, 32), r.text(HEX, 8)))),
    ("newrelic-key", |r| alone(format!("NRAK-{}", r.text(CAPITALS, 27)))),
    ("sentry-token", |r| alone(format!("sntryu_{}", r.text(HEX, 64)))),
    ("doppler-token", |r| alone(format!("dp.pt.{}", r.text(LETTERS, 43)))),
    ("airtable-token", |r| alone(format!("pat{}.{}", r.text(LETTERS, 14), r.text(HEX, 64)))),
    ("age-key", |r| alone(bech32(r, "age-secret-key-").to_uppercase())),
    ("private-key", |r| alone(block(r, "RSA PRIVATE KEY"))),
    ("private-key", |r| alone(block(r, "OPENSSH PRIVATE KEY"))),
    ("jwt", |r| alone(jwt(r))),
    ("bearer-token", |r| within("Authorization: Bearer ", r.text(LETTERS, 40), "")),
    ("basic-auth", |r| {
        let text = format!("deploy:{}", password(r));
        within("Authorization: Basic ", BASE64_STANDARD.encode(text), "")
    }),
    ("url-password", |r| within("https://deploy:", r.text(LETTERS, 14), "@git.internal/app.git")),
    ("database-url", |r| {
        let scheme = r.pick(&["postgres", "mysql", "mongodb+srv", "redis", "amqp"]);
        within(&format!("{scheme}://app:"), password(r), "@db.internal:5432/main")
    }),
    ("command-line-password", |r| within("curl -u deploy:", password(r), " https://api.internal/")),
    ("password-assignment", |r| within("password: '", password(r), "'")),
    ("password-assignment", |r| within("db.password=", password(r), "")),
    ("key-assignment", |r| within("api_key: ", r.text(LETTERS, 32), "")),
    ("key-assignment", |r| within("clientSecret = '", r.text(LETTERS, 40), "'")),
    ("env-line", |r| within("\nSESSION_SECRET=", r.text(LETTERS, 24), "\n")),
    ("env-line", |r| within("export DB_PASSWORD=", password(r), "\n")),
];
