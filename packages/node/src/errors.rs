//! Errors of Everturn as errors of Node. `lib/errors.cjs` makes its classes of them.

use everturn_bindings::RequestError;
use serde_json::json;

/// The error for Node. Its message is JSON with the message, the code, the path and the hint.
pub(crate) fn raise(error: &RequestError) -> napi::Error {
    let parts = json!({
        "everturn": error.message,
        "code": error.code.as_str(),
        "path": error.path,
        "hint": error.hint,
    });
    napi::Error::from_reason(parts.to_string())
}
