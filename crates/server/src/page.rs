//! The files of the web app. They have no data: the app gets it from the API.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use crate::headers::compressed;

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
    "/charts.js" "charts.js" SCRIPT,
    "/code.js" "code.js" SCRIPT,
    "/compare_view.js" "compare_view.js" SCRIPT,
    "/composer.js" "composer.js" SCRIPT,
    "/context_view.js" "context_view.js" SCRIPT,
    "/dom.js" "dom.js" SCRIPT,
    "/entry_view.js" "entry_view.js" SCRIPT,
    "/health_view.js" "health_view.js" SCRIPT,
    "/keys.js" "keys.js" SCRIPT,
    "/links.js" "links.js" SCRIPT,
    "/markdown.js" "markdown.js" SCRIPT,
    "/menu.js" "menu.js" SCRIPT,
    "/new_session.js" "new_session.js" SCRIPT,
    "/play_panel.js" "play_panel.js" SCRIPT,
    "/search_view.js" "search_view.js" SCRIPT,
    "/seen.js" "seen.js" SCRIPT,
    "/session_view.js" "session_view.js" SCRIPT,
    "/sessions_view.js" "sessions_view.js" SCRIPT,
    "/side_panel.js" "side_panel.js" SCRIPT,
    "/state_tree.js" "state_tree.js" SCRIPT,
    "/timeline.js" "timeline.js" SCRIPT,
    "/tools.js" "tools.js" SCRIPT,
    "/trash_view.js" "trash_view.js" SCRIPT,
    "/window_list.js" "window_list.js" SCRIPT,
];

/// Whether there is a file at a path. Files have no data, and anybody may read them.
pub(crate) fn is_file(path: &str) -> bool {
    FILES.iter().any(|file| file.path == path)
}

/// Returns the file at a path.
pub(crate) fn file(path: &str, request: &HeaderMap) -> Option<Response<Body>> {
    let file = FILES.iter().find(|file| file.path == path)?;
    let packed = compressed(request, file.bytes);
    let is_packed = packed.is_some();
    let body = packed.map_or_else(|| Body::from(file.bytes), Body::from);
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::OK;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(file.media));
    if is_packed {
        let coding = HeaderValue::from_static("gzip");
        response.headers_mut().insert(header::CONTENT_ENCODING, coding);
    }
    Some(response)
}
