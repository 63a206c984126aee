//! The headers of every answer, and compression.

use std::io::Write;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, header};
use flate2::Compression;
use flate2::write::GzEncoder;

/// What a page may load: only what this server serves.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Data may load nothing.
const DATA_POLICY: &str =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

/// Shorter bodies are not compressed.
const MIN_COMPRESSED: usize = 1024;

/// The headers that every answer has.
const ALWAYS: [(&str, &str); 6] = [
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
];

/// Adds the headers that protect what is served.
pub(crate) fn protect(response: &mut Response<Body>) {
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let media = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_page = media.is_some_and(|media| media.starts_with("text/html"))
        && !headers.contains_key(header::CONTENT_DISPOSITION);
    let policy = if is_page { PAGE_POLICY } else { DATA_POLICY };
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}

/// Whether a client accepts gzip.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter();
    values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).any(
        |coding| {
            let mut parts = coding.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default();
            let is_refused = parts.any(|part| {
                part.strip_prefix("q=")
                    .and_then(|q| q.parse::<f32>().ok())
                    .is_some_and(|q| q <= 0.0)
            });
            name.eq_ignore_ascii_case("gzip") && !is_refused
        },
    )
}

/// Compresses a body if the client accepts that and it is long enough; `None` if it stays as it is.
pub(crate) fn compressed(request: &HeaderMap, body: &[u8]) -> Option<Vec<u8>> {
    if body.len() < MIN_COMPRESSED || !accepts_gzip(request) {
        return None;
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    encoder.write_all(body).ok()?;
    encoder.finish().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_used_if_it_is_accepted() {
        let body = vec![b'a'; 4096];
        for (accept, expect) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("gzip; q=0.0", false),
            ("br", false),
            ("x-gzip-not", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_str(accept).unwrap());
            assert_eq!(compressed(&headers, &body).is_some(), expect, "{accept}");
            assert!(compressed(&headers, b"short").is_none());
        }
        assert!(compressed(&HeaderMap::new(), &body).is_none());
    }
}
