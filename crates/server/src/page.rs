//! The files of the web app. They have no data: the app gets it from the API.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};

/// A file that the binary contains.
struct EmbeddedFile {
    path: &'static str,
    media: &'static str,
    bytes: &'static [u8],
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! embedded {
    ($($path:literal $file:literal $media:ident),* $(,)?) => {
        &[$(EmbeddedFile {
            path: $path,
            media: $media,
            bytes: include_bytes!(concat!("../web/", $file)),
        }),*]
    };
}

const FILES: &[EmbeddedFile] = embedded![
    "/" "index.html" HTML,
    "/app.css" "app.css" CSS,
    "/api.js" "api.js" SCRIPT,
    "/app.js" "app.js" SCRIPT,
    "/branch_graph.js" "branch_graph.js" SCRIPT,
    "/care_view.js" "care_view.js" SCRIPT,
    "/compare_view.js" "compare_view.js" SCRIPT,
    "/dom.js" "dom.js" SCRIPT,
    "/entry_view.js" "entry_view.js" SCRIPT,
    "/keys.js" "keys.js" SCRIPT,
    "/search_view.js" "search_view.js" SCRIPT,
    "/session_view.js" "session_view.js" SCRIPT,
    "/sessions_view.js" "sessions_view.js" SCRIPT,
    "/state_tree.js" "state_tree.js" SCRIPT,
    "/timeline.js" "timeline.js" SCRIPT,
    "/window_list.js" "window_list.js" SCRIPT,
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
