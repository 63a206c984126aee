//! Codes, cookies and tokens: how a client gets in, and out.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audit::Principal;
use crate::problem::Problem;
use crate::route::{JSON, NoBody, parse_body};
use crate::state::{ServerState, read_body};

/// The exchange of a code.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CodeRequest {
    /// The code that `everturn serve` has printed.
    code: String,
}

/// A token for programs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TokenAnswer {
    /// The token, to be sent as `Authorization: Bearer TOKEN`. It is valid until the server stops.
    token: String,
}

/// A one-time code.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CodeAnswer {
    /// The code.
    code: String,
    /// The path at which a browser exchanges it.
    path: String,
}

/// An answer without contents.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LogoutAnswer {}

fn no_randomness(_: getrandom::Error) -> Problem {
    Problem::internal("the system has no random numbers")
}

fn json<T: Serialize>(value: &T) -> Response<Body> {
    let mut response = Response::new(Body::from(serde_json::to_vec(value).unwrap_or_default()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

fn redeem(state: &ServerState, code: &str, principal: Principal) -> Result<String, Problem> {
    let secret = state.guard.credentials.redeem(code, principal).map_err(no_randomness)?;
    secret.ok_or_else(|| {
        state.guard.refuse(
            "the code is not valid: each code works once, until the server stops",
            Instant::now(),
        )
    })
}

/// Exchanges a code for a cookie, and shows the page without the code in its URL.
pub(crate) async fn log_in(
    State(state): State<Arc<ServerState>>,
    request: Request,
) -> Response<Body> {
    let query = request.uri().query().unwrap_or_default();
    let code = query.split('&').find_map(|pair| pair.strip_prefix("code=")).unwrap_or_default();
    let secret = redeem(&state, code, Principal::Browser);
    let by = if secret.is_ok() { Principal::Browser.as_str() } else { "nobody" };
    let response = match secret {
        Ok(secret) => {
            let name = state.guard.cookie_name();
            let cookie = format!("{name}={secret}; Path=/; HttpOnly; SameSite=Strict");
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::SEE_OTHER;
            let headers = response.headers_mut();
            headers.insert(header::LOCATION, HeaderValue::from_static("/"));
            match HeaderValue::from_str(&cookie) {
                Ok(cookie) => {
                    headers.insert(header::SET_COOKIE, cookie);
                    response
                }
                Err(_) => Problem::internal("the cookie is not valid").into_response(),
            }
        }
        Err(problem) => problem.into_response(),
    };
    state.audit(by, "logIn", None, response.status());
    response
}

/// Exchanges a code for a token.
pub(crate) async fn exchange_code(
    State(state): State<Arc<ServerState>>,
    request: Request,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let token = match read_body(&state, &parts.headers, body).await {
        Ok(bytes) => parse_body::<CodeRequest>(&bytes)
            .and_then(|request| redeem(&state, &request.code, Principal::Program)),
        Err(problem) => Err(problem),
    };
    let by = if token.is_ok() { Principal::Program.as_str() } else { "nobody" };
    let response = match token {
        Ok(token) => json(&TokenAnswer { token }),
        Err(problem) => problem.into_response(),
    };
    state.audit(by, "exchangeCode", None, response.status());
    response
}

/// Creates a code for another browser or program.
pub(crate) async fn new_code(
    State(state): State<Arc<ServerState>>,
    request: Request,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let by = parts.extensions.get::<Principal>().map_or("nobody", |principal| principal.as_str());
    let read = read_body(&state, &parts.headers, body).await;
    let code = read
        .and_then(|bytes| parse_body::<NoBody>(&bytes))
        .and_then(|NoBody {}| state.guard.credentials.new_code().map_err(no_randomness));
    let response = match code {
        Ok(code) => json(&CodeAnswer { path: format!("/login?code={code}"), code }),
        Err(problem) => problem.into_response(),
    };
    state.audit(by, "createCode", None, response.status());
    response
}

/// Makes the cookie or the token of the request void.
pub(crate) async fn log_out(
    State(state): State<Arc<ServerState>>,
    request: Request,
) -> Response<Body> {
    let by =
        request.extensions().get::<Principal>().map_or("nobody", |principal| principal.as_str());
    state.guard.log_out(request.headers());
    let response = json(&LogoutAnswer {});
    state.audit(by, "logOut", None, response.status());
    response
}
