//! Texts that look like secrets but are not.

use base64::prelude::{BASE64_STANDARD, Engine};

use crate::random::Random;

const HEX: &str = "0123456789abcdef";
const LETTERS: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Fixed texts: examples of manuals, templates, code about secrets.
const FIXED: &[&str] = &[
    "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "OPENAI_API_KEY=sk-...",
    "AKIAIOSFODNN7EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "export GITHUB_TOKEN=ghp_your_token_here",
    "API_KEY=<your-api-key>",
    "API_KEY=${API_KEY}",
    "password = os.environ[\"DB_PASSWORD\"]",
    "const token = await getToken(user.id2);",
    "let password = prompt_password(\"Password: \")?;",
    "password: string;",
    "token: Option<String>,",
    "\"password\": \"required|min:8\"",
    "\"max_tokens\": 4096, \"total_tokens\": 123456789012345678",
    "{\"usage\":{\"input_tokens\":12034,\"output_tokens\":88123,\"cache_read_input_tokens\":918273645546372}}",
    "nextPageToken: \"CAUQAA3f8aK29sdfkj2938sdf\"",
    "postgres://postgres:postgres@localhost:5432/postgres",
    "postgres://user:password@localhost/db",
    "redis://localhost:6379/0 and http://127.0.0.1:8080/a:b@c",
    "https://example.org/@user:matrix.org and git@github.com:a/b.git",
    "Authorization: Bearer <token>",
    "Authorization: Bearer YOUR_ACCESS_TOKEN",
    "Authorization: Bearer $TOKEN",
    "Bearer of good news everywhere",
    "Basic authentication and Basic understanding",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8xOUetsCa8EfOlDEBAfREhJqspDoyEh6Szz2in47Tv5n52m9dLYyPCbqZkOB5nTSqtscpkQD\n-----END PUBLIC KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
    "eyJhbGciOi... is how a JWT begins",
    "class=\"sk-circle sk-fading-circle sk-cube-grid\" id=\"pat-library\"",
    "npm_config_registry npm_lifecycle_event npm_package_json",
    "hf_hub_download(repo_id, filename)",
    "key-value-store key-0 key-of-everything",
    "secret_sauce_of_the_month and secret: it is a surprise to everybody",
    "The password is hidden. Token: see the manual. Secret = true",
    "<input type=\"password\" name=\"password\" autocomplete=\"current-password\">",
    "password=[secret:password-assignment:7f] and [secret:github-token:1a2b3c4d]",
    "PASSWORD_MIN_LENGTH=12\nTOKEN_TTL_SECONDS=3600\nSECRET_NAME=my-app\n",
    "tokenizer.eos_token = '<|endoftext|>' # eos_token: \"<|im_end|>\"",
    "api_key=os.getenv('KEY'), token=self.token, password=config.password",
    "docker run -e PASSWORD=$PASSWORD -u 1000:1000 --user 1000:1000 image",
    "AAAAB3NzaC1yc2EAAAADAQABAAABgQC7 is a public key, SKILL and SKU-12345",
    "en-us12 and de-us and 2024-us1, Q~ is not a secret, :AA is a rating",
    "curl -u \"$USER:$PASSWORD\" https://api.internal/ # curl -u user:password",
];

/// Generated texts: hashes, IDs, pictures, code, prose.
fn made(random: &mut Random) -> Vec<String> {
    let hex = |random: &mut Random, length| random.text(HEX, length);
    let mut all = Vec::new();
    for _ in 0..40 {
        all.push(format!("commit {}\nAuthor: somebody", hex(random, 40)));
        all.push(format!(
            "sha256:{} sha1 {} md5 {}",
            hex(random, 64),
            hex(random, 40),
            hex(random, 32)
        ));
        all.push(format!(
            "\"uuid\":\"{}-{}-4{}-a{}-{}\"",
            hex(random, 8),
            hex(random, 4),
            hex(random, 3),
            hex(random, 3),
            hex(random, 12)
        ));
        all.push(format!(
            "\"id\":\"msg_{}\",\"tool_use_id\":\"toolu_{}\"",
            random.text(LETTERS, 24),
            random.text(LETTERS, 24)
        ));
        all.push(format!("\"signature\":\"{}\"", BASE64_STANDARD.encode(random.bytes(400))));
        all.push(format!("integrity sha512-{}", BASE64_STANDARD.encode(random.bytes(64))));
        all.push(format!(
            "https://cdn.example.net/{}/app.{}.js?v={}",
            random.text(LETTERS, 12),
            hex(random, 8),
            hex(random, 20)
        ));
        all.push(format!(
            "checksum = \"{}\"\nversion = \"1.{}.0\"",
            hex(random, 64),
            random.below(90)
        ));
    }
    for _ in 0..10 {
        all.push(format!("data:image/png;base64,{}", BASE64_STANDARD.encode(random.bytes(30_000))));
        all.push(minified(random));
        all.push(talk(random));
    }
    all
}

fn minified(random: &mut Random) -> String {
    let name = |random: &mut Random| {
        let length = 1 + random.below(3);
        random.text("abcdefghijklmnopqrstuvwxyz$_", length)
    };
    let mut code = String::from("!function(){");
    for _ in 0..600 {
        let (a, b, c) = (name(random), name(random), name(random));
        match random.below(5) {
            0 => code += &format!("var {a}={b}.token,{c}={b}[\"password\"];"),
            1 => code += &format!("if({a}===\"{b}\"){{return {c}({})}}", random.below(99999)),
            2 => code += &format!("{a}.apiKey={b}.apiKey||{c};"),
            3 => code += &format!("function {a}({b}){{this.secret={b};this.{c}=!0}}"),
            _ => code += &format!("{a}=\"{}\";", random.text(LETTERS, 12)),
        }
    }
    code + "}();"
}

fn talk(random: &mut Random) -> String {
    let words = [
        "lorem",
        "ipsum",
        "dolor",
        "password",
        "token",
        "secret",
        "the",
        "key",
        "of",
        "session",
        "is",
        "user:",
        "login",
        "api",
        "bearer",
        "basic",
        "=",
        ":",
        "https://example.com/path",
        "configuration",
        "reset",
    ];
    (0..800).map(|_| *random.pick(&words)).collect::<Vec<_>>().join(" ")
}

pub(crate) fn all(random: &mut Random) -> Vec<String> {
    FIXED.iter().map(|text| (*text).to_owned()).chain(made(random)).collect()
}
