//! The page at `/`: it has no data, and says where the API is.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};

/// A file that the binary contains.
struct EmbeddedFile {
    path: &'static str,
    media: &'static str,
    bytes: &'static [u8],
}

const FILES: &[EmbeddedFile] = &[
    EmbeddedFile {
        path: "/",
        media: "text/html; charset=utf-8",
        bytes: include_bytes!("../web/index.html"),
    },
    EmbeddedFile {
        path: "/app.css",
        media: "text/css; charset=utf-8",
        bytes: include_bytes!("../web/app.css"),
    },
];

/// Whether there is a file at a path. Files have no data, and anybody may read them.
pub(crate) fn is_file(path: &str) -> bool {
    FILES.iter().any(|file| file.path == path)
}

/// Returns the file at a path.
pub(crate) fn file(path: &str) -> Option<Response<Body>> {
    let file = FILES.iter().find(|file| file.path == path)?;
    let mut response = Response::new(Body::from(file.bytes));
    *response.status_mut() = StatusCode::OK;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(file.media));
    Some(response)
}
