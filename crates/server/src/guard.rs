//! [`Guard`]: which requests are let in.
//!
//! Every request must name a known host, which stops DNS rebinding, and must not come from a page of another origin.
//! Everything but the page at `/` and the exchange of a code needs a cookie or a token.

use std::time::Instant;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};

use crate::audit::Principal;
use crate::credentials::Credentials;
use crate::options::ServeLimits;
use crate::page;
use crate::problem::Problem;
use crate::rate::RateLimit;

/// The page at the top, which has no data.
pub(crate) const TOP: &str = "/";

/// Where a browser exchanges a code for a cookie.
pub(crate) const LOGIN: &str = "/login";

/// Where a program exchanges a code for a token.
pub(crate) const TOKEN: &str = "/api/v1/token";

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Lets requests in, or refuses them.
pub(crate) struct Guard {
    /// The values of `Host` that are accepted, in lower case.
    hosts: Vec<String>,
    cookie: String,
    pub(crate) credentials: Credentials,
    all: RateLimit,
    refused: RateLimit,
}

/// The only value of a header; `None` if it is absent.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Problem> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    let invalid =
        || Problem::bad_request(format!("the header {name} is invalid")).at(name.as_str());
    if values.next().is_some() {
        return Err(invalid());
    }
    first.map(|value| value.to_str().map_err(|_| invalid())).transpose()
}

fn is_change(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD)
}

fn forbidden(code: &'static str, detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, code, detail)
}

fn too_many() -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", "too many requests")
        .hint("wait a second")
}

impl Guard {
    pub(crate) fn new(
        hosts: &[String],
        cookie: String,
        limits: &ServeLimits,
        now: Instant,
    ) -> Guard {
        Guard {
            hosts: hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
            cookie,
            credentials: Credentials::default(),
            all: RateLimit::new(limits.rate, now),
            refused: RateLimit::new(limits.refused_rate, now),
        }
    }

    /// The name of the cookie. Ports of one host share their cookies, so the port is in its name.
    pub(crate) fn cookie_name(&self) -> &str {
        &self.cookie
    }

    /// Returns who sends a request that is let in; `None` if the request needs no credentials and has none.
    pub(crate) fn admit(&self, parts: &Parts, now: Instant) -> Result<Option<Principal>, Problem> {
        if !self.all.take(now) {
            return Err(too_many());
        }
        self.check_host(parts)?;
        let is_own_page = check_fetch_site(parts)?;
        let has_origin = self.check_origin(parts)?;
        let principal = self.principal(&parts.headers)?;
        let path = parts.uri.path();
        if principal == Some(Principal::Browser)
            && is_change(&parts.method)
            && !(is_own_page || has_origin)
        {
            let what = "a change with a cookie needs the header Origin or Sec-Fetch-Site";
            return Err(forbidden("cross_site", what));
        }
        let is_open = matches!(path, LOGIN | TOKEN) || page::is_file(path);
        if principal.is_none() && !is_open {
            return Err(self.refuse("no valid cookie or token", now));
        }
        Ok(principal)
    }

    /// The answer to missing or wrong credentials. Their number is limited, and valid ones are not affected by that.
    pub(crate) fn refuse(&self, detail: &str, now: Instant) -> Problem {
        if !self.refused.take(now) {
            return too_many();
        }
        Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
            .hint("open the URL that everturn serve has printed, or exchange its code for a token")
    }

    fn is_host(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.hosts.contains(&host)
    }

    fn check_host(&self, parts: &Parts) -> Result<(), Problem> {
        let unknown = |host: &str| {
            forbidden("unknown_host", format!("{host:?} is not a name of this server"))
                .at("Host")
                .hint(
                    "use the address that everturn serve has printed, or add the name with --host",
                )
        };
        let Some(host) = only(&parts.headers, &header::HOST)? else {
            return Err(Problem::bad_request("the header Host is missing").at("Host"));
        };
        let of_target = parts.uri.authority().map(|authority| authority.as_str());
        match [Some(host), of_target].into_iter().flatten().find(|host| !self.is_host(host)) {
            Some(host) => Err(unknown(host)),
            None => Ok(()),
        }
    }

    /// Refuses another origin. Returns whether the header is there.
    fn check_origin(&self, parts: &Parts) -> Result<bool, Problem> {
        let Some(origin) = only(&parts.headers, &header::ORIGIN)? else { return Ok(false) };
        let is_own = origin.strip_prefix("http://").is_some_and(|host| self.is_host(host));
        if is_own {
            return Ok(true);
        }
        Err(forbidden("cross_site", format!("pages of {origin:?} may not use this server")))
    }

    /// Returns whose cookie or token the request has.
    fn principal(&self, headers: &HeaderMap) -> Result<Option<Principal>, Problem> {
        if let Some(value) = only(headers, &header::AUTHORIZATION)? {
            let token =
                value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            let is_valid = token.is_some_and(|(_, token)| self.credentials.is_token(token.trim()));
            return Ok(is_valid.then_some(Principal::Program));
        }
        let cookie = self.cookie_of(headers);
        Ok(cookie.filter(|cookie| self.credentials.is_cookie(cookie)).map(|_| Principal::Browser))
    }

    /// Makes the credentials of a request void.
    pub(crate) fn log_out(&self, headers: &HeaderMap) {
        let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = token.and_then(|value| value.split_once(' ')).map(|(_, token)| token.trim());
        for secret in [token, self.cookie_of(headers)].into_iter().flatten() {
            self.credentials.revoke(secret);
        }
    }

    fn cookie_of<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        values
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(name, _)| *name == self.cookie)
            .map(|(_, value)| value)
    }
}

/// Refuses what a browser sends for a page of another origin. Returns whether it is for a page of this one.
///
/// A link on another page may lead to the page at the top, which has no data.
fn check_fetch_site(parts: &Parts) -> Result<bool, Problem> {
    match only(&parts.headers, &FETCH_SITE)? {
        None => Ok(false),
        Some("same-origin") => Ok(true),
        Some("none") if !is_change(&parts.method) => Ok(false),
        Some(_) => {
            let is_link = parts.method == Method::GET
                && parts.uri.path() == TOP
                && only(&parts.headers, &FETCH_MODE)? == Some("navigate");
            match is_link {
                true => Ok(false),
                false => Err(forbidden("cross_site", "another page may not use this server")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    const HOST: &str = "127.0.0.1:4000";

    fn guard(now: Instant) -> (Guard, String, String) {
        let hosts = vec![HOST.to_owned(), "localhost:4000".to_owned()];
        let guard = Guard::new(&hosts, "everturn_4000".to_owned(), &ServeLimits::default(), now);
        let redeem = |principal| {
            let code = guard.credentials.new_code().unwrap();
            guard.credentials.redeem(&code, principal).unwrap().unwrap()
        };
        let (cookie, token) = (redeem(Principal::Browser), redeem(Principal::Program));
        (guard, format!("a=b; everturn_4000={cookie}"), format!("Bearer {token}"))
    }

    fn parts(line: &str, headers: &[(&str, &str)]) -> Parts {
        let (method, path) = line.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn requests_are_let_in_by_host_origin_and_secret() {
        let now = Instant::now();
        let (guard, cookie, token) = guard(now);
        let (cookie, token) = (("cookie", cookie.as_str()), ("authorization", token.as_str()));
        let (host, own) = (("host", HOST), ("origin", "http://127.0.0.1:4000"));
        let (same, none) = (("sec-fetch-site", "same-origin"), ("sec-fetch-site", "none"));
        let (cross, near) = (("sec-fetch-site", "cross-site"), ("sec-fetch-site", "same-site"));
        let navigate = ("sec-fetch-mode", "navigate");
        let get = "GET /api/v1/sessions";
        let post = "POST /api/v1/sessions";
        for (line, headers, expect) in [
            (get, vec![host, cookie], 0),
            (get, vec![host, token], 0),
            (get, vec![("host", "LOCALHOST:4000"), cookie, same], 0),
            (get, vec![host, cookie, none], 0),
            (get, vec![host], 401),
            (get, vec![host, ("authorization", "Bearer "), cookie], 401),
            (get, vec![cookie], 400),
            (get, vec![host, host, cookie], 400),
            (get, vec![("host", "evil.example:4000"), cookie], 403),
            (get, vec![("host", "127.0.0.1"), cookie], 403),
            ("GET http://evil.example/api/v1/sessions", vec![host, cookie], 403),
            (get, vec![host, cookie, cross], 403),
            (get, vec![host, cookie, near], 403),
            (get, vec![host, cookie, cross, navigate], 403),
            (get, vec![host, token, ("origin", "http://evil.example")], 403),
            ("GET /", vec![host, cross, navigate], 0),
            ("GET /", vec![host, cross], 403),
            ("GET /login?code=1", vec![host, cross, navigate], 403),
            (post, vec![host, cookie, own], 0),
            (post, vec![host, cookie, same], 0),
            (post, vec![host, cookie], 403),
            (post, vec![host, cookie, none], 403),
            (post, vec![host, cookie, ("origin", "null")], 403),
            (post, vec![host, cookie, ("origin", "http://127.0.0.1:4001")], 403),
            (post, vec![host, cookie, ("origin", "https://127.0.0.1:4000")], 403),
            (post, vec![host, cookie, own, near], 403),
            (post, vec![host, token], 0),
            (post, vec![host, token, ("origin", "http://evil.example")], 403),
            ("POST /api/v1/token", vec![host], 0),
            ("OPTIONS /api/v1/sessions", vec![host, ("origin", "http://evil.example")], 403),
        ] {
            let admitted = guard.admit(&parts(line, &headers), now);
            let status = admitted.map_or_else(|problem| problem.status, |_| 0);
            assert_eq!(status, expect, "{line} {headers:?}");
        }
    }

    #[test]
    fn wrong_secrets_are_limited_and_right_ones_are_not_affected() {
        let now = Instant::now();
        let (guard, cookie, _) = guard(now);
        let statuses: Vec<u16> = (0..30)
            .map(|_| {
                guard.admit(&parts("GET /api/v1/stats", &[("host", HOST)]), now).unwrap_err().status
            })
            .collect();
        assert_eq!(statuses.iter().filter(|status| **status == 401).count(), 20);
        assert_eq!(statuses.last(), Some(&429));
        let right = parts("GET /api/v1/stats", &[("host", HOST), ("cookie", &cookie)]);
        assert_eq!(guard.admit(&right, now).unwrap(), Some(Principal::Browser));
    }
}
