//! Keys without a form of their own, which are known by the name of their service before them.

use super::token::Alphabet::{self, Base64, Capitals, Dotted, Hex, Letters, Url, Words};

/// A service, and the form of its keys.
pub(super) struct NamedKey {
    pub(super) family: &'static str,
    /// Words in the name of a setting, in lower case.
    words: &'static [&'static str],
    alphabet: Alphabet,
    least: usize,
    most: usize,
}

const fn named(
    family: &'static str,
    words: &'static [&'static str],
    alphabet: Alphabet,
    least: usize,
    most: usize,
) -> NamedKey {
    NamedKey { family, words, alphabet, least, most }
}

/// The alphabet of a UUID.
const UUID: (Alphabet, usize, usize) = (Url, 36, 36);

const fn uuid(family: &'static str, words: &'static [&'static str]) -> NamedKey {
    named(family, words, UUID.0, UUID.1, UUID.2)
}

/// All services.
pub(super) const NAMED: &[NamedKey] = &[
    named("abstract-api-key", &["abstractapi", "abstract_"], Hex, 32, 32),
    named("adafruit-key", &["adafruit"], Url, 32, 32),
    named("agora-key", &["agora"], Hex, 32, 32),
    named("algolia-key", &["algolia"], Hex, 32, 32),
    named("amplitude-key", &["amplitude"], Hex, 32, 32),
    named("appveyor-key", &["appveyor"], Letters, 20, 20),
    named("asana-key", &["asana"], Letters, 32, 32),
    named("assemblyai-key", &["assemblyai", "assembly_ai"], Hex, 32, 32),
    named("auth0-secret", &["auth0"], Url, 64, 64),
    named("beamer-key", &["beamer"], Base64, 46, 46),
    named("bing-key", &["bing"], Hex, 32, 32),
    named("bitly-key", &["bitly"], Hex, 40, 40),
    named("bittrex-key", &["bittrex"], Hex, 32, 32),
    named("binance-key", &["binance"], Letters, 64, 64),
    named("bugsnag-key", &["bugsnag"], Hex, 32, 32),
    uuid("bunny-key", &["bunnycdn", "bunny_"]),
    named("calendly-key", &["calendly"], Url, 40, 60),
    named("census-key", &["census"], Hex, 40, 40),
    named("cloudflare-key", &["cloudflare", "cf_"], Url, 37, 40),
    named("cloudinary-secret", &["cloudinary"], Url, 27, 27),
    uuid("codecov-token", &["codecov"]),
    named("cohere-key", &["cohere"], Letters, 40, 40),
    named("coinbase-key", &["coinbase"], Url, 64, 64),
    named("confluent-secret", &["confluent"], Base64, 64, 64),
    named("coveralls-token", &["coveralls"], Letters, 32, 32),
    named("datadog-key", &["datadog", "dd_"], Hex, 32, 40),
    named("deepgram-key", &["deepgram"], Hex, 40, 40),
    uuid("deepl-key", &["deepl"]),
    named("deepseek-key", &["deepseek"], Letters, 32, 32),
    named("discord-client-secret", &["discord"], Url, 32, 32),
    named("droneci-token", &["drone"], Letters, 32, 32),
    named("etsy-key", &["etsy"], Letters, 24, 24),
    named("eventbrite-key", &["eventbrite"], Capitals, 20, 20),
    uuid("fal-key", &["fal_"]),
    named("fastly-key", &["fastly"], Url, 32, 32),
    named("finicity-key", &["finicity"], Hex, 32, 32),
    named("finnhub-key", &["finnhub"], Letters, 20, 20),
    named("fireworks-key", &["fireworks"], Letters, 24, 24),
    named("flickr-key", &["flickr"], Hex, 32, 32),
    named("freshbooks-secret", &["freshbooks"], Hex, 64, 64),
    named("freshdesk-key", &["freshdesk"], Letters, 20, 20),
    named("gitea-token", &["gitea", "forgejo"], Hex, 40, 40),
    named("gitter-token", &["gitter"], Url, 40, 40),
    named("gocardless-token", &["gocardless"], Url, 40, 40),
    named("hetzner-token", &["hcloud", "hetzner"], Letters, 64, 64),
    named("honeycomb-key", &["honeycomb"], Letters, 22, 32),
    named("hunter-key", &["hunterio", "hunter_"], Hex, 40, 40),
    named("ibm-key", &["ibm"], Url, 44, 44),
    named("imagekit-key", &["imagekit"], Url, 30, 40),
    named("jenkins-token", &["jenkins"], Hex, 34, 34),
    named("jira-key", &["jira"], Letters, 24, 24),
    named("jumpcloud-key", &["jumpcloud"], Letters, 40, 40),
    named("kraken-key", &["kraken"], Base64, 80, 90),
    named("kucoin-key", &["kucoin"], Hex, 24, 24),
    named("lastfm-key", &["lastfm"], Hex, 32, 32),
    named("linkedin-secret", &["linkedin"], Letters, 16, 16),
    named("linode-token", &["linode"], Hex, 64, 64),
    uuid("loggly-token", &["loggly"]),
    named("looker-key", &["looker"], Letters, 24, 24),
    named("mapquest-key", &["mapquest"], Letters, 32, 32),
    named("mattermost-token", &["mattermost"], Letters, 26, 26),
    named("maxmind-key", &["maxmind", "geoip"], Words, 40, 40),
    named("meraki-key", &["meraki"], Hex, 40, 40),
    named("messagebird-token", &["messagebird"], Letters, 25, 25),
    named("mistral-key", &["mistral"], Letters, 32, 32),
    named("mixpanel-secret", &["mixpanel"], Hex, 32, 32),
    named("mux-secret", &["mux_"], Base64, 75, 75),
    named("netlify-secret", &["netlify"], Url, 40, 46),
    named("newsapi-key", &["newsapi"], Hex, 32, 32),
    named("ngrok-token", &["ngrok"], Words, 45, 50),
    named("nytimes-key", &["nytimes"], Letters, 32, 32),
    named("okta-token", &["okta"], Url, 42, 42),
    named("openweather-key", &["openweather", "owm_"], Hex, 32, 32),
    uuid("opsgenie-key", &["opsgenie"]),
    named("optimizely-token", &["optimizely"], Url, 54, 54),
    named("ovh-secret", &["ovh"], Letters, 32, 32),
    named("pagerduty-key", &["pagerduty", "pd_"], Url, 20, 20),
    named("paypal-secret", &["paypal"], Url, 80, 80),
    named("pingdom-token", &["pingdom"], Url, 45, 60),
    named("pipedrive-token", &["pipedrive"], Hex, 40, 40),
    named("pusher-secret", &["pusher"], Hex, 20, 20),
    named("rapidapi-key", &["rapidapi"], Letters, 50, 50),
    named("reddit-secret", &["reddit"], Url, 27, 30),
    named("rollbar-token", &["rollbar"], Hex, 32, 32),
    named("salesforce-secret", &["salesforce", "sfdc"], Hex, 64, 64),
    named("sanity-token", &["sanity"], Letters, 80, 180),
    uuid("saucelabs-key", &["sauce"]),
    named("segment-key", &["segment"], Letters, 32, 32),
    named("sendbird-token", &["sendbird"], Hex, 40, 40),
    named("shodan-key", &["shodan"], Letters, 32, 32),
    named("sidekiq-secret", &["sidekiq"], Hex, 16, 17),
    named("smartsheet-token", &["smartsheet"], Letters, 37, 37),
    named("snowflake-secret", &["snowflake"], Base64, 44, 44),
    uuid("snyk-token", &["snyk"]),
    named("spotify-secret", &["spotify"], Hex, 32, 32),
    uuid("splunk-token", &["splunk"]),
    uuid("squarespace-token", &["squarespace"]),
    named("strava-secret", &["strava"], Hex, 40, 40),
    named("sumologic-key", &["sumo"], Letters, 64, 64),
    named("surge-token", &["surge"], Hex, 32, 32),
    named("teamcity-token", &["teamcity"], Url, 60, 120),
    named("travis-token", &["travis"], Url, 22, 22),
    named("trello-key", &["trello"], Hex, 32, 32),
    named("twitch-secret", &["twitch"], Letters, 30, 30),
    named("twitter-secret", &["twitter"], Letters, 35, 50),
    named("vonage-secret", &["vonage", "nexmo"], Letters, 16, 16),
    named("vultr-key", &["vultr"], Capitals, 36, 36),
    uuid("wakatime-key", &["wakatime"]),
    named("weatherapi-key", &["weatherapi"], Hex, 31, 31),
    named("webflow-token", &["webflow"], Hex, 64, 64),
    named("yandex-secret", &["yandex"], Url, 40, 40),
    named("yelp-key", &["yelp"], Url, 128, 128),
    named("youtrack-token", &["youtrack"], Dotted, 40, 90),
    named("zendesk-secret", &["zendesk"], Letters, 40, 40),
    named("zoho-token", &["zoho"], Dotted, 70, 70),
    named("zoom-secret", &["zoom"], Letters, 32, 32),
];

/// The family of a value behind a name in lower case, if the name mentions a service and the value has the form of its
/// keys.
pub(super) fn family_of(name: &[u8], value: &[u8]) -> Option<&'static str> {
    let has = |word: &&str| {
        let whole = word.ends_with('_');
        let begins = |at: usize| {
            let before = at.checked_sub(1).and_then(|at| name.get(at));
            !whole || before.is_none_or(|byte| !byte.is_ascii_alphanumeric())
        };
        let mut parts = name.windows(word.len()).enumerate();
        parts.any(|(at, part)| part == word.as_bytes() && begins(at))
    };
    let fits = |key: &&NamedKey| {
        (key.least..=key.most).contains(&value.len())
            && value.iter().all(|byte| key.alphabet.has(*byte))
            && key.words.iter().any(has)
    };
    NAMED.iter().find(fits).map(|key| key.family)
}
