//! [`Problem`]: the answer to a request that failed (RFC 9457), with the codes and hints of the command line.

use std::fmt;

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use everturn::format::SessionError;
use everturn_requests::{ErrorCode, RequestError};
use schemars::JsonSchema;
use serde::Serialize;

/// The media type of problems.
pub(crate) const PROBLEM_TYPE: &str = "application/problem+json";

/// Why a request failed. Nothing was changed, unless the code is `reopen` or `timeout`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Problem {
    /// A URI of the kind of problem, made from its code.
    #[serde(rename = "type")]
    kind: Box<str>,
    /// The HTTP status in words.
    title: &'static str,
    /// The HTTP status.
    pub(crate) status: u16,
    /// The problem, in one line.
    detail: Box<str>,
    /// A stable code: those of the line protocol, and those of HTTP.
    pub(crate) code: &'static str,
    /// Where it is: a field of the request, a path in the state, or a file below the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        detail: impl Into<String>,
    ) -> Problem {
        Problem {
            kind: format!("urn:everturn:problem:{code}").into(),
            title: status.canonical_reason().unwrap_or_default(),
            status: status.as_u16(),
            detail: detail.into().into(),
            code,
            path: None,
            hint: None,
        }
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "bad_request", detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "not_found", detail)
    }

    pub(crate) fn internal(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    #[must_use]
    pub(crate) fn at(self, path: impl Into<String>) -> Problem {
        Problem { path: Some(path.into()), ..self }
    }

    #[must_use]
    pub(crate) fn hint(self, hint: impl Into<String>) -> Problem {
        Problem { hint: Some(hint.into()), ..self }
    }

    /// A conflict of a request that has a condition is a failed precondition.
    #[must_use]
    pub(crate) fn of_condition(self) -> Problem {
        match self.code {
            "conflict" => Problem {
                title: "Precondition Failed",
                status: StatusCode::PRECONDITION_FAILED.as_u16(),
                path: Some("If-Match".to_owned()),
                ..self
            },
            _ => self,
        }
    }
}

/// The status of an error. Only what the server itself fails at is a 5xx.
fn status_of(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::NotFound | ErrorCode::UnknownRequest => StatusCode::NOT_FOUND,
        ErrorCode::Conflict | ErrorCode::Taken | ErrorCode::WrongStatus => StatusCode::CONFLICT,
        ErrorCode::Unsupported | ErrorCode::Damaged => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorCode::ReadOnly => StatusCode::FORBIDDEN,
        ErrorCode::Busy => StatusCode::LOCKED,
        ErrorCode::Reopen | ErrorCode::Closed => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::Io => StatusCode::INSUFFICIENT_STORAGE,
        _ => StatusCode::BAD_REQUEST,
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl From<RequestError> for Problem {
    fn from(error: RequestError) -> Problem {
        let problem = Problem::new(status_of(error.code), error.code.as_str(), error.message);
        Problem { path: error.path, hint: error.hint, ..problem }
    }
}

impl From<everturn::Error> for Problem {
    fn from(error: everturn::Error) -> Problem {
        RequestError::from(error).into()
    }
}

impl From<SessionError> for Problem {
    fn from(error: SessionError) -> Problem {
        everturn::Error::from(error).into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        let status = StatusCode::from_u16(self.status);
        *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_TYPE));
        match self.status {
            401 => {
                let scheme = HeaderValue::from_static("Bearer realm=\"everturn\"");
                headers.insert(header::WWW_AUTHENTICATE, scheme);
            }
            423 | 429 | 503 => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}
