//! Sessions: lists with facets, one session, new sessions, status.

use std::collections::{BTreeMap, HashSet};

use axum::http::Method;
use everturn::format::{self, Operation, Transition};
use everturn::model::{NewSession, SessionSummary};
use everturn::retention::{is_pinned, list_pins};
use everturn::tree::JsonTree;
use everturn_catalog::{CatalogSession, SummaryDetail, parse_period};
use everturn_requests::{Access, Warning};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::library::{KeyedListing, Library, LocatedSession};
use crate::problem::Problem;
use crate::route::{Answer, Call, NoBody, NoQuery, Route};
use crate::session_key::short_hash;

/// The default and the largest number of sessions of a page.
const PAGES: (usize, usize) = (100, 1000);

/// A session in a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct SessionView {
    /// How to name it in paths.
    pub(crate) key: String,
    /// Its ID, which other sessions may have, too.
    pub(crate) id: String,
    /// The source that has it.
    pub(crate) source: String,
    /// Its format.
    pub(crate) format: String,
    /// Its title.
    pub(crate) title: String,
    /// Its status, such as `active`.
    pub(crate) status: String,
    /// When it was created.
    pub(crate) created: Option<String>,
    /// When it was last changed.
    pub(crate) updated: Option<String>,
    /// Its last turn, if known.
    pub(crate) turns: Option<u64>,
    /// The ID of the session that it is a branch of.
    pub(crate) parent: Option<String>,
    /// The project directory of its agent.
    pub(crate) project: Option<String>,
    /// Whether requests may change it. Sessions of other programs are never changed.
    pub(crate) writable: bool,
    /// Whether retention leaves it alone.
    pub(crate) pinned: bool,
    /// The number of problems that its summary shows.
    pub(crate) problems: u64,
}

fn text_of(time: Option<Timestamp>) -> Option<String> {
    time.map(|time| time.to_string())
}

impl SessionView {
    fn new(
        library: &Library,
        (key, source): (&str, String),
        summary: &SessionSummary,
        (project, pinned): (Option<String>, bool),
    ) -> SessionView {
        let is_own = format::find(summary.layout).is_some_and(|format| !format.is_external());
        SessionView {
            key: key.to_owned(),
            id: summary.session.id.clone(),
            source,
            format: summary.layout.to_owned(),
            title: summary.title.clone(),
            status: summary.status.to_string(),
            created: text_of(summary.created),
            updated: text_of(summary.updated),
            turns: summary.turns,
            parent: summary.parent.clone(),
            project,
            writable: is_own && library.access() == Access::Write,
            pinned,
            problems: summary.findings.len() as u64,
        }
    }
}

/// The order of a list. The place of a session in it is a text, which a cursor names with the key.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SessionOrder {
    /// Last changed first.
    #[default]
    Updated,
    /// Newest first.
    Created,
    /// By title.
    Title,
    /// Most turns first.
    Turns,
}

/// A session with its times, which are sorted more precisely than their texts.
type DatedView = (SessionView, (Option<Timestamp>, Option<Timestamp>));

impl SessionOrder {
    /// Sorts by this text, and then by key.
    fn text(self, (view, (updated, created)): &DatedView) -> String {
        // The latest comes first; sessions without a time come last.
        let late = |time: &Option<Timestamp>| {
            let nanoseconds = time.map_or(i128::MAX, |time| -time.as_nanosecond());
            format!("{:040}", nanoseconds.saturating_add(i128::from(u64::MAX) << 32))
        };
        match self {
            SessionOrder::Updated => late(updated),
            SessionOrder::Created => late(created),
            SessionOrder::Title => view.title.to_lowercase(),
            SessionOrder::Turns => format!("{:020}", u64::MAX - view.turns.unwrap_or(0)),
        }
    }
}

/// Which sessions to list.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    /// Only sessions of this format.
    format: Option<String>,
    /// Only sessions of this source.
    source: Option<String>,
    /// Only sessions with this status.
    status: Option<String>,
    /// Only sessions of this project.
    project: Option<String>,
    /// Only sessions whose title, ID or project contains this text.
    text: Option<String>,
    /// Only sessions changed since: a date such as 2026-01-03, yesterday or 3d.
    since: Option<String>,
    /// Only sessions changed until.
    until: Option<String>,
    /// Only pinned sessions, or only others.
    pinned: Option<bool>,
    /// The order: the most recent first, the longest first, or by title.
    #[serde(default)]
    sort: SessionOrder,
    /// The number of sessions of a page: 100, at most 1000.
    #[schemars(range(min = 1, max = PAGES.1))]
    limit: Option<u64>,
    /// Where to continue: `next` of the previous page.
    cursor: Option<String>,
}

/// A value with the number of sessions that have it.
#[derive(Debug, Serialize, JsonSchema)]
struct FacetValue {
    /// The value.
    value: String,
    /// The number of sessions.
    count: u64,
}

/// How the listed sessions are distributed, whatever the page.
#[derive(Debug, Serialize, JsonSchema)]
struct Facets {
    /// By format.
    format: Vec<FacetValue>,
    /// By source.
    source: Vec<FacetValue>,
    /// By status.
    status: Vec<FacetValue>,
    /// By project.
    project: Vec<FacetValue>,
}

/// A page of sessions, most recently changed first.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionPage {
    /// The sessions.
    sessions: Vec<SessionView>,
    /// The cursor of the next page; null after the last one.
    next: Option<String>,
    /// The number of sessions on all pages.
    total: u64,
    /// How they are distributed.
    facets: Facets,
    /// Files and sources that could not be read.
    warnings: Vec<String>,
}

/// The sessions of a listing that a query selects.
struct SessionFilter {
    query: ListQuery,
    text: Option<String>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
}

impl SessionFilter {
    fn new(query: ListQuery, now: Timestamp) -> Result<SessionFilter, Problem> {
        let period = |field: &str, text: &Option<String>| {
            let parse = |text: &String| {
                parse_period(text, now).ok_or_else(|| {
                    Problem::bad_request(format!("{field}: {text:?} is not a date"))
                        .at(field)
                        .hint("write 2026-01-03, 2026-01, yesterday, 3d or 2w")
                })
            };
            text.as_ref().map(parse).transpose()
        };
        let (since, until) = (period("since", &query.since)?, period("until", &query.until)?);
        Ok(SessionFilter {
            text: query.text.as_ref().map(|text| text.to_lowercase()),
            since: since.map(|period| period.start),
            until: until.map(|period| period.end),
            query,
        })
    }

    fn accepts(&self, view: &SessionView, updated: Option<Timestamp>) -> bool {
        let is = |wanted: &Option<String>, value: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == value)
        };
        let has_text = self.text.as_ref().is_none_or(|text| {
            [Some(&view.title), Some(&view.id), view.project.as_ref()]
                .into_iter()
                .flatten()
                .any(|field| field.to_lowercase().contains(text))
        });
        is(&self.query.format, &view.format)
            && is(&self.query.source, &view.source)
            && is(&self.query.status, &view.status)
            && is(&self.query.project, view.project.as_deref().unwrap_or_default())
            && self.query.pinned.is_none_or(|pinned| pinned == view.pinned)
            && self.since.is_none_or(|since| updated.is_some_and(|updated| updated >= since))
            && self.until.is_none_or(|until| updated.is_some_and(|updated| updated < until))
            && has_text
    }
}

/// The pinned sessions of all sources: source, format and session.
fn pins(listing: &KeyedListing) -> HashSet<(usize, String, String)> {
    let mut pinned = HashSet::new();
    for (number, source) in listing.sources.iter().enumerate() {
        // Pins that cannot be read hide no session.
        for pin in list_pins(source.store()).unwrap_or_default() {
            pinned.insert((number, pin.layout, pin.session));
        }
    }
    pinned
}

fn facet(counts: BTreeMap<String, u64>) -> Vec<FacetValue> {
    let mut values: Vec<FacetValue> =
        counts.into_iter().map(|(value, count)| FacetValue { value, count }).collect();
    values.sort_by_key(|value| std::cmp::Reverse(value.count));
    values
}

fn count_facets(views: &[DatedView]) -> Facets {
    let by = |value: fn(&SessionView) -> Option<&String>| {
        let mut counts = BTreeMap::new();
        for value in views.iter().filter_map(|(view, _)| value(view)) {
            *counts.entry(value.clone()).or_insert(0) += 1;
        }
        facet(counts)
    };
    Facets {
        format: by(|view| Some(&view.format)),
        source: by(|view| Some(&view.source)),
        status: by(|view| Some(&view.status)),
        project: by(|view| view.project.as_ref()),
    }
}

fn view_of(
    library: &Library,
    (key, session): (&str, &CatalogSession),
    pinned: &HashSet<(usize, String, String)>,
) -> SessionView {
    let summary = &session.summary;
    let pin = (session.source, summary.layout.to_owned(), summary.session.id.clone());
    let source = key.split(':').next().unwrap_or_default().to_owned();
    SessionView::new(
        library,
        (key, source),
        summary,
        (session.project.clone(), pinned.contains(&pin)),
    )
}

/// Sorts sessions, and returns a page of them with the cursor of the next one.
fn page_of(
    views: Vec<DatedView>,
    query: &ListQuery,
    limit: usize,
) -> (Vec<SessionView>, Option<String>) {
    let mut placed: Vec<(String, SessionView)> = views
        .into_iter()
        .map(|view| (format!("{}|{}", query.sort.text(&view), view.0.key), view.0))
        .collect();
    placed.sort_unstable_by(|(one, _), (two, _)| one.cmp(two));
    let start = query
        .cursor
        .as_ref()
        .map_or(0, |cursor| placed.partition_point(|(place, _)| place <= cursor));
    let rest = placed.get(start..).unwrap_or_default();
    let last = rest.get(limit.saturating_sub(1)).filter(|_| rest.len() > limit);
    let next = last.map(|(place, _)| place.clone());
    let page = placed.into_iter().skip(start).take(limit).map(|(_, view)| view);
    (page.collect(), next)
}

fn list_sessions(call: &Call<'_>, query: ListQuery) -> Result<Answer<SessionPage>, Problem> {
    let limit = query.limit.map_or(Ok(PAGES.0), usize::try_from).unwrap_or(usize::MAX);
    if limit == 0 || limit > PAGES.1 {
        let what = format!("limit: a page has 1 to {} sessions", PAGES.1);
        return Err(Problem::bad_request(what).at("limit"));
    }
    let filter = SessionFilter::new(query, call.library.now())?;
    let listing = call.library.list(SummaryDetail::All);
    let pinned = pins(&listing);
    let views: Vec<DatedView> = listing
        .iter()
        .map(|(key, session)| {
            let times = (session.summary.updated, session.summary.created);
            (view_of(call.library, (key, session), &pinned), times)
        })
        .filter(|(view, (updated, _))| filter.accepts(view, *updated))
        .collect();
    let facets = count_facets(&views);
    let total = views.len() as u64;
    let (sessions, next) = page_of(views, &filter.query, limit);
    let findings = listing.listing.findings.iter();
    let mut warnings: Vec<String> =
        findings.map(|finding| format!("{}: {}", finding.file, finding.message)).collect();
    for (_, error) in &listing.listing.failed {
        warnings.push(error.to_string());
    }
    for number in 0..call.library.source_count() {
        if let Err(problem) = call.library.store(number) {
            warnings.push(problem.to_string());
        }
    }
    Ok(Answer::ok(SessionPage { sessions, next, total, facets, warnings }))
}

/// Everything about one session.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionAnswer {
    #[serde(flatten)]
    session: SessionView,
    /// Whether appended turns may have an idempotency key.
    keys: bool,
    /// Problems that the summary shows.
    warnings: Vec<Warning>,
}

fn session_answer(
    library: &Library,
    found: &LocatedSession,
) -> Result<Answer<SessionAnswer>, Problem> {
    let store = library.store(found.source)?;
    let summary = found.format.summary(&store, &found.place)?;
    let project = found.format.project(&store, &found.place).unwrap_or_default();
    let pinned = is_pinned(&store, found.format, &found.place).unwrap_or_default();
    let source = library.source_name(found.source).to_owned();
    let session = SessionView::new(library, (&found.key, source), &summary, (project, pinned));
    let warnings = summary.findings.iter().map(Warning::from).collect();
    let keys = found.format.capabilities().keys.is_some();
    let answer = SessionAnswer { session, keys, warnings };
    let text = serde_json::to_vec(&answer).unwrap_or_default();
    let etag = format!("\"{}.{}\"", answer.session.turns.unwrap_or(0), short_hash(&text));
    Ok(Answer::ok(answer).tagged(etag))
}

fn get_session(call: &Call<'_>, _: NoQuery) -> Result<Answer<SessionAnswer>, Problem> {
    session_answer(call.library, &call.session()?)
}

/// A new session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateRequest {
    /// The format: game, campaign, chatlog, codelia, linggen or thread.
    format: String,
    /// The ID; by default one is assigned.
    id: Option<String>,
    /// The name of the player.
    name: Option<String>,
    /// The settings of the format.
    config: Option<Box<RawValue>>,
    /// Further fields of the format, such as `title`.
    fields: Option<Box<RawValue>>,
}

fn tree(value: Option<Box<RawValue>>, field: &str) -> Result<Option<JsonTree>, Problem> {
    let parse = |value: Box<RawValue>| {
        JsonTree::parse(value.get().to_owned())
            .map_err(|error| Problem::bad_request(format!("{field}: {error}")).at(field))
    };
    value.map(parse).transpose()
}

fn create_session(
    call: &Call<'_>,
    request: CreateRequest,
) -> Result<Answer<SessionAnswer>, Problem> {
    let unknown =
        || Problem::bad_request(format!("unknown format {:?}", request.format)).at("format");
    let format = format::find(&request.format).ok_or_else(unknown)?;
    let new = NewSession {
        id: request.id.unwrap_or_default(),
        name: request.name,
        config: tree(request.config, "config")?,
        fields: tree(request.fields, "fields")?.unwrap_or_else(JsonTree::object),
    };
    let source = call.library.main_source()?;
    let root = call.library.writable_root(source)?;
    let session = root.create_with_format(format, &new)?;
    let place = session.session_ref().clone();
    session.close()?;
    call.library.list(SummaryDetail::Names);
    let key = format!("{}:{}:{}", call.library.source_name(source), format.name(), place.id);
    let answer = session_answer(call.library, &LocatedSession { key, source, format, place })?;
    let location = format!("/api/v1/sessions/{}", answer.body.session.key);
    Ok(Answer { etag: answer.etag, ..Answer::created(answer.body, location) })
}

/// The result of a transition.
#[derive(Debug, Serialize, JsonSchema)]
struct TransitionAnswer {
    /// The session.
    id: String,
    /// Its name in the trash, if it was moved there.
    trashed: Option<String>,
    /// What could not be done yet; it is done with the next change.
    deferred: Option<String>,
}

fn transition(call: &Call<'_>, stage: Transition) -> Result<Answer<TransitionAnswer>, Problem> {
    let found = call.session()?;
    let lifecycle = found.format.lifecycle(Operation::Transition(stage))?;
    let root = call.library.writable_root(found.source)?;
    call.library.release(&found)?;
    let now = call.library.now();
    let done = lifecycle.transition(root.store(), &found.place, stage, now, &mut |_| {})?;
    call.library.forget(&found.key);
    let (id, trashed, deferred) = (done.session.id, done.trashed, done.deferred_error);
    Ok(Answer::ok(TransitionAnswer { id, trashed, deferred }))
}

fn archive_session(call: &Call<'_>, _: NoBody) -> Result<Answer<TransitionAnswer>, Problem> {
    transition(call, Transition::Archive)
}

fn unarchive_session(call: &Call<'_>, _: NoBody) -> Result<Answer<TransitionAnswer>, Problem> {
    transition(call, Transition::Unarchive)
}

fn trash_session(call: &Call<'_>, _: NoBody) -> Result<Answer<TransitionAnswer>, Problem> {
    transition(call, Transition::Trash)
}

pub(super) fn routes() -> Vec<Route> {
    let all = "/api/v1/sessions";
    let one = "/api/v1/sessions/{session}";
    vec![
        Route::get((all, "listSessions", "Sessions, most recently changed first."), list_sessions),
        Route::change((Method::POST, all, "createSession", "Creates a session."), create_session)
            .creating(),
        Route::get((one, "getSession", "One session. Its ETag is for If-Match."), get_session),
        Route::change(
            (
                Method::POST,
                "/api/v1/sessions/{session}/archive",
                "archiveSession",
                "Packs a session.",
            ),
            archive_session,
        ),
        Route::change(
            (
                Method::POST,
                "/api/v1/sessions/{session}/unarchive",
                "unarchiveSession",
                "Unpacks a session.",
            ),
            unarchive_session,
        ),
        Route::change(
            (
                Method::POST,
                "/api/v1/sessions/{session}/trash",
                "trashSession",
                "Moves a session to the trash.",
            ),
            trash_session,
        ),
    ]
}
