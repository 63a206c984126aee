//! The table of tokens: their prefixes and parts.

use super::token::Alphabet::{AnyHex, Base64, Capitals, Digits, Dotted, Hex, Letters, Url, Words};
use super::token::TokenPart::{Run, Text};
use super::token::TokenProof::{Bech32, Crc62, Form, HexCrc};
use super::token::{TokenPattern, token};

/// All tokens. A family can occur more than once.
pub(super) const TOKENS: &[TokenPattern] = &[
    // Clouds.
    token("aws-access-key", &["AKIA", "ASIA", "ABIA", "ACCA"], &[Run(Capitals, 16, 16)], Form),
    token("google-api-key", &["AIza"], &[Run(Url, 35, 35)], Form),
    token("google-oauth-secret", &["GOCSPX-"], &[Run(Url, 28, 28)], Form),
    token("google-oauth-token", &["ya29."], &[Run(Url, 30, 400)], Form),
    token("azure-storage-key", &["AccountKey="], &[Run(Base64, 88, 88)], Form),
    token("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], &[Run(Hex, 64, 64)], Form),
    token("heroku-key", &["HRKU-"], &[Run(Url, 36, 66)], Form),
    token("vault-token", &["hvs.", "hvb."], &[Run(Url, 24, 300)], Form),
    token("fly-token", &["fm1_", "fm2_"], &[Run(Base64, 80, 2000)], Form),
    token("databricks-token", &["dapi"], &[Run(Hex, 32, 32)], Form),
    token("supabase-key", &["sbp_"], &[Run(Hex, 40, 40)], Form),
    token("supabase-key", &["sb_secret_"], &[Run(Url, 22, 48)], Form),
    token("planetscale-token", &["pscale_tkn_", "pscale_pw_"], &[Run(Dotted, 32, 64)], Form),
    token("netlify-token", &["nfp_"], &[Run(Letters, 36, 36)], Form),
    token("alibaba-key", &["LTAI"], &[Run(Letters, 20, 20)], Form),
    // Source hosts.
    token(
        "github-token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        &[Run(Letters, 36, 36)],
        Crc62,
    ),
    token(
        "github-token",
        &["github_pat_"],
        &[Run(Letters, 22, 22), Text("_"), Run(Letters, 59, 59)],
        Form,
    ),
    token(
        "gitlab-token",
        &["glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glsoat-", "glagent-", "glft-"],
        &[Run(Dotted, 20, 64)],
        Form,
    ),
    token("bitbucket-password", &["ATBB"], &[Run(Letters, 32, 32)], Form),
    token("atlassian-token", &["ATATT3", "ATCTT3"], &[Run(Url, 60, 250)], Form),
    // Models.
    token("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-"], &[Run(Url, 40, 200)], Form),
    token("openai-key", &["sk-"], &[Run(Letters, 32, 64)], Form),
    token("anthropic-key", &["sk-ant-"], &[Run(Url, 60, 200)], Form),
    token("openrouter-key", &["sk-or-v1-"], &[Run(Hex, 64, 64)], Form),
    token("langfuse-key", &["sk-lf-"], &[Run(Url, 36, 36)], Form),
    token("groq-key", &["gsk_"], &[Run(Letters, 52, 52)], Form),
    token("xai-key", &["xai-"], &[Run(Letters, 80, 80)], Form),
    token("cerebras-key", &["csk-"], &[Run(Letters, 48, 48)], Form),
    token("huggingface-token", &["hf_"], &[Run(Letters, 34, 34)], Form),
    token("replicate-token", &["r8_"], &[Run(Letters, 37, 37)], Form),
    token("perplexity-key", &["pplx-"], &[Run(Letters, 48, 48)], Form),
    token("nvidia-key", &["nvapi-"], &[Run(Url, 60, 70)], Form),
    token("tavily-key", &["tvly-"], &[Run(Url, 32, 48)], Form),
    token(
        "langsmith-key",
        &["lsv2_pt_", "lsv2_sk_"],
        &[Run(Hex, 32, 32), Text("_"), Run(Hex, 10, 10)],
        Form,
    ),
    token("pinecone-key", &["pcsk_"], &[Run(Words, 60, 80)], Form),
    // Chat and mail.
    token(
        "slack-token",
        &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.xoxp-"],
        &[Run(Url, 30, 250)],
        Form,
    ),
    token("slack-token", &["xapp-"], &[Run(Url, 60, 200)], Form),
    token(
        "slack-webhook",
        &["hooks.slack.com/services/", "hooks.slack.com/workflows/"],
        &[Run(Capitals, 8, 14), Text("/"), Run(Capitals, 8, 14), Text("/"), Run(Letters, 20, 32)],
        Form,
    ),
    token(
        "discord-webhook",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        &[Run(Digits, 17, 20), Text("/"), Run(Url, 60, 80)],
        Form,
    ),
    token(
        "teams-webhook",
        &["webhook.office.com/webhookb2/"],
        &[
            Run(Url, 36, 36),
            Text("@"),
            Run(Url, 36, 36),
            Text("/IncomingWebhook/"),
            Run(Hex, 32, 32),
            Text("/"),
            Run(Url, 36, 80),
        ],
        Form,
    ),
    token("sendgrid-key", &["SG."], &[Run(Url, 22, 22), Text("."), Run(Url, 43, 43)], Form),
    token("mailgun-key", &["key-"], &[Run(Hex, 32, 32)], Form),
    token("twilio-key", &["SK"], &[Run(Hex, 32, 32)], Form),
    // Payment.
    token(
        "stripe-key",
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_"],
        &[Run(Letters, 24, 120)],
        Form,
    ),
    token("stripe-webhook-secret", &["whsec_"], &[Run(Base64, 32, 64)], Form),
    token("square-token", &["sq0atp-"], &[Run(Url, 22, 22)], Form),
    token("square-token", &["sq0csp-"], &[Run(Url, 43, 43)], Form),
    token(
        "braintree-token",
        &["access_token$production$", "access_token$sandbox$"],
        &[Run(Letters, 16, 16), Text("$"), Run(Hex, 32, 32)],
        Form,
    ),
    token("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], &[Run(AnyHex, 32, 32)], Form),
    // Package registries.
    token("npm-token", &["npm_"], &[Run(Letters, 36, 36)], Crc62),
    token("pypi-token", &["pypi-AgE"], &[Run(Url, 50, 400)], Form),
    token("rubygems-key", &["rubygems_"], &[Run(Hex, 48, 48)], Form),
    token("crates-io-token", &["cio"], &[Run(Letters, 32, 32)], Form),
    token("docker-token", &["dckr_pat_", "dckr_oat_"], &[Run(Url, 27, 40)], Form),
    // Tools.
    token("linear-key", &["lin_api_"], &[Run(Letters, 40, 40)], Form),
    token("notion-token", &["secret_"], &[Run(Letters, 43, 43)], Form),
    token("notion-token", &["ntn_"], &[Run(Letters, 46, 46)], Form),
    token("figma-token", &["figd_"], &[Run(Url, 40, 48)], Form),
    token("postman-key", &["PMAK-"], &[Run(Hex, 24, 24), Text("-"), Run(Hex, 34, 34)], Form),
    token("grafana-token", &["glsa_"], &[Run(Letters, 32, 32), Text("_"), Run(Hex, 8, 8)], HexCrc),
    token("newrelic-key", &["NRAK-"], &[Run(Capitals, 27, 27)], Form),
    token("sentry-token", &["sntryu_"], &[Run(Hex, 64, 64)], Form),
    token("doppler-token", &["dp.pt.", "dp.st.", "dp.sa."], &[Run(Dotted, 40, 80)], Form),
    token("airtable-token", &["pat"], &[Run(Letters, 14, 14), Text("."), Run(Hex, 64, 64)], Form),
    token("age-key", &["AGE-SECRET-KEY-1"], &[Run(Capitals, 58, 58)], Bech32),
];
