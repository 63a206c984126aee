//! [`Route`]: a path with the types of its query, body and answer.
//!
//! The same table makes the router and the OpenAPI document, so that they cannot differ. Handlers are synchronous
//! functions of a [`Call`]; they return an [`Answer`], which becomes a [`Reply`].

use std::collections::HashMap;

use axum::body::Bytes;
use axum::http::{Method, StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::library::{Library, LocatedSession};
use crate::problem::Problem;

/// The media type of JSON.
pub(crate) const JSON: &str = "application/json";

/// The parts of a request that handlers use.
#[derive(Debug, Default)]
pub(crate) struct CallInput {
    pub(crate) params: HashMap<String, String>,
    pub(crate) query: String,
    pub(crate) body: Bytes,
    pub(crate) if_match: Option<String>,
    pub(crate) idempotency_key: Option<String>,
}

/// A request that is being served.
pub(crate) struct Call<'c> {
    pub(crate) library: &'c Library,
    pub(crate) input: &'c CallInput,
}

impl Call<'_> {
    /// A parameter of the path.
    pub(crate) fn param(&self, name: &str) -> &str {
        self.input.params.get(name).map(String::as_str).unwrap_or_default()
    }

    /// The session that the path names.
    pub(crate) fn session(&self) -> Result<LocatedSession, Problem> {
        self.library.find(self.param("session"))
    }

    /// The turn that must be the last one, according to `If-Match`: an ETag of the session, or the number alone.
    pub(crate) fn expected_turn(&self) -> Result<Option<u64>, Problem> {
        let Some(value) = self.input.if_match.as_deref().map(str::trim) else { return Ok(None) };
        if value == "*" {
            return Ok(None);
        }
        let tag = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        let turn = tag.map(|tag| tag.split('.').next().unwrap_or_default());
        let turn = turn.and_then(|turn| turn.parse().ok());
        let invalid = || {
            Problem::bad_request("If-Match must be an ETag of the session")
                .at("If-Match")
                .hint("send the ETag of GET /api/v1/sessions/{session}, or the last turn in quotes")
        };
        turn.map(Some).ok_or_else(invalid)
    }

    /// Refuses an idempotency key where none can be stored.
    pub(crate) fn refuse_key(&self) -> Result<(), Problem> {
        match self.input.idempotency_key {
            None => Ok(()),
            Some(_) => Err(Problem::bad_request("only appended turns store an idempotency key")
                .at("Idempotency-Key")
                .hint("send If-Match, which makes the request safe to repeat")),
        }
    }
}

/// What a handler returns.
pub(crate) struct Answer<A> {
    pub(crate) status: StatusCode,
    pub(crate) body: A,
    pub(crate) etag: Option<String>,
    pub(crate) location: Option<String>,
}

impl<A> Answer<A> {
    pub(crate) fn ok(body: A) -> Answer<A> {
        Answer { status: StatusCode::OK, body, etag: None, location: None }
    }

    pub(crate) fn created(body: A, location: String) -> Answer<A> {
        let (status, location) = (StatusCode::CREATED, Some(location));
        Answer { status, body, etag: None, location }
    }

    #[must_use]
    pub(crate) fn tagged(self, etag: String) -> Answer<A> {
        Answer { etag: Some(etag), ..self }
    }
}

/// A file to download.
pub(crate) struct FileAnswer {
    pub(crate) bytes: Vec<u8>,
    pub(crate) media: &'static str,
    pub(crate) name: String,
}

/// A page.
pub(crate) struct HtmlPage(pub(crate) String);

/// The media type of pages.
const HTML: &str = "text/html; charset=utf-8";

/// The answer as bytes.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) bytes: Vec<u8>,
    pub(crate) media: &'static str,
    pub(crate) etag: Option<String>,
    pub(crate) location: Option<String>,
    /// The name of a file to download.
    pub(crate) file: Option<String>,
}

/// A route without a query.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoQuery {}

/// A query that may reveal secrets.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RevealQuery {
    /// Show secrets instead of placeholders. Each use is recorded.
    #[expect(dead_code, reason = "read before the route is called")]
    reveal: Option<bool>,
}

/// A request without a body.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoBody {}

/// Whether a route changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    Read,
    Write,
}

type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn inline_schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    T::json_schema(generator)
}

/// What a successful answer contains.
pub(crate) enum AnswerKind {
    Json(SchemaFn),
    /// A file of one of these media types.
    File(&'static [&'static str]),
}

/// A way of serving requests.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// The name of the operation, unique among the routes.
    pub(crate) operation: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) effect: Effect,
    pub(crate) query: SchemaFn,
    pub(crate) body: Option<SchemaFn>,
    pub(crate) answer: AnswerKind,
    /// The status of success.
    pub(crate) success: StatusCode,
    /// Whether `If-Match` names the last turn.
    pub(crate) is_conditional: bool,
    /// Whether `Idempotency-Key` is stored.
    pub(crate) has_key: bool,
    #[expect(clippy::type_complexity, reason = "one function, named once")]
    serve: Box<dyn Fn(&Call<'_>) -> Result<Reply, Problem> + Send + Sync>,
}

/// What is written about a route: method, path, operation and summary.
pub(crate) type RouteLine = (Method, &'static str, &'static str, &'static str);

fn read_query<Q: DeserializeOwned>(query: &str) -> Result<Q, Problem> {
    let uri = format!("/?{query}").parse::<axum::http::Uri>();
    let uri = uri.map_err(|_| Problem::bad_request("the query is not valid").at("query"))?;
    let query = axum::extract::Query::<Q>::try_from_uri(&uri);
    Ok(query.map_err(|error| Problem::bad_request(error.body_text()).at("query"))?.0)
}

/// Parses a body; an empty one has no fields.
pub(crate) fn parse_body<B: DeserializeOwned>(body: &[u8]) -> Result<B, Problem> {
    let body = if body.is_empty() { b"{}" } else { body };
    // serde would take a list as the values of the fields.
    if body.trim_ascii_start().first() == Some(&b'[') {
        return Err(Problem::bad_request("the body is a list, not an object").at("body"));
    }
    serde_json::from_slice(body).map_err(|error| {
        let code = if error.is_data() { "bad_request" } else { "bad_json" };
        Problem::new(StatusCode::BAD_REQUEST, code, error.to_string()).at("body")
    })
}

impl Route {
    fn base(
        (method, path, operation, summary): RouteLine,
        query: SchemaFn,
        answer: AnswerKind,
        serve: impl Fn(&Call<'_>) -> Result<Reply, Problem> + Send + Sync + 'static,
    ) -> Route {
        let effect = if method == Method::GET { Effect::Read } else { Effect::Write };
        Route {
            method,
            path,
            operation,
            summary,
            effect,
            query,
            body: None,
            answer,
            success: StatusCode::OK,
            is_conditional: false,
            has_key: false,
            serve: Box::new(serve),
        }
    }

    /// A route that reads.
    pub(crate) fn get<Q, A>(
        (path, operation, summary): (&'static str, &'static str, &'static str),
        handle: fn(&Call<'_>, Q) -> Result<Answer<A>, Problem>,
    ) -> Route
    where
        Q: DeserializeOwned + JsonSchema + 'static,
        A: Serialize + JsonSchema + 'static,
    {
        let line = (Method::GET, path, operation, summary);
        let answer = AnswerKind::Json(schema_of::<A>);
        Route::base(line, inline_schema_of::<Q>, answer, move |call| {
            reply(handle(call, read_query(&call.input.query)?)?)
        })
    }

    /// A route that returns a file.
    pub(crate) fn file<Q>(
        (path, operation, summary): (&'static str, &'static str, &'static str),
        media: &'static [&'static str],
        handle: fn(&Call<'_>, Q) -> Result<FileAnswer, Problem>,
    ) -> Route
    where
        Q: DeserializeOwned + JsonSchema + 'static,
    {
        let line = (Method::GET, path, operation, summary);
        Route::base(line, inline_schema_of::<Q>, AnswerKind::File(media), move |call| {
            let FileAnswer { bytes, media, name } = handle(call, read_query(&call.input.query)?)?;
            let (status, etag, location, file) = (StatusCode::OK, None, None, Some(name));
            Ok(Reply { status, bytes, media, etag, location, file })
        })
    }

    /// A route that returns a page for browsers.
    pub(crate) fn page<Q>(
        (path, operation, summary): (&'static str, &'static str, &'static str),
        handle: fn(&Call<'_>, Q) -> Result<HtmlPage, Problem>,
    ) -> Route
    where
        Q: DeserializeOwned + JsonSchema + 'static,
    {
        let line = (Method::GET, path, operation, summary);
        Route::base(line, inline_schema_of::<Q>, AnswerKind::File(&[HTML]), move |call| {
            let HtmlPage(text) = handle(call, read_query(&call.input.query)?)?;
            let (status, etag, location, file) = (StatusCode::OK, None, None, None);
            Ok(Reply { status, bytes: text.into_bytes(), media: HTML, etag, location, file })
        })
    }

    /// A route that changes something.
    pub(crate) fn change<B, A>(
        line: RouteLine,
        handle: fn(&Call<'_>, B) -> Result<Answer<A>, Problem>,
    ) -> Route
    where
        B: DeserializeOwned + JsonSchema + 'static,
        A: Serialize + JsonSchema + 'static,
    {
        let answer = AnswerKind::Json(schema_of::<A>);
        let route = Route::base(line, inline_schema_of::<NoQuery>, answer, move |call| {
            let NoQuery {} = read_query(&call.input.query)?;
            reply(handle(call, parse_body(&call.input.body)?)?)
        });
        Route { body: Some(schema_of::<B>), ..route }
    }

    #[must_use]
    pub(crate) fn creating(self) -> Route {
        Route { success: StatusCode::CREATED, ..self }
    }

    #[must_use]
    pub(crate) fn conditional(self) -> Route {
        Route { is_conditional: true, ..self }
    }

    #[must_use]
    pub(crate) fn keyed(self) -> Route {
        Route { has_key: true, ..self }
    }

    /// Serves a request.
    pub(crate) fn serve(&self, call: &Call<'_>) -> Result<Reply, Problem> {
        if !self.has_key && self.effect == Effect::Write {
            call.refuse_key()?;
        }
        if call.input.if_match.is_none() {
            return (self.serve)(call);
        }
        if !self.is_conditional && self.effect == Effect::Write {
            return Err(Problem::bad_request("this change cannot depend on a turn").at("If-Match"));
        }
        (self.serve)(call).map_err(Problem::of_condition)
    }
}

fn reply<A: Serialize>(answer: Answer<A>) -> Result<Reply, Problem> {
    let Answer { status, body, etag, location } = answer;
    let bytes = serde_json::to_vec(&body);
    let bytes =
        bytes.map_err(|error| Problem::internal(format!("the answer is not JSON: {error}")))?;
    Ok(Reply { status, bytes, media: JSON, etag, location, file: None })
}
