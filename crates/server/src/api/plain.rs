//! Pages without JavaScript: the list, a search, and the text of a session.

use everturn::format::SessionReader;
use everturn::model::{Entry, SessionSummary};
use everturn::scan::SecretRules;
use everturn_catalog::{SortOrder, SummaryDetail};
use everturn_export::SecretMask;
use schemars::JsonSchema;
use serde::Deserialize;

use super::find::search;
use crate::problem::Problem;
use crate::route::{Call, HtmlPage, Route};

/// Entries or sessions of a page.
const PAGE: usize = 100;

/// The hits of a search.
const HITS: usize = 50;

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Controls that reverse the direction of text, or that HTML forbids, are not shown.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => safe.push('\u{fffd}'),
            control if control.is_control() && !matches!(control, '\n' | '\t') => {
                safe.push('\u{fffd}');
            }
            other => safe.push(other),
        }
    }
    safe
}

/// Text with placeholders for secrets, as HTML.
fn shown(text: &str) -> String {
    let rules: &dyn SecretMask = SecretRules::standard();
    escaped(&rules.mask(text).text)
}

fn encoded(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let byte =
        |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    value.bytes().map(byte).collect()
}

fn page(title: &str, query: &str, body: &str) -> HtmlPage {
    let (title, query) = (shown(title), escaped(query));
    HtmlPage(format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{title}</title>\
         <link rel=\"icon\" href=\"data:,\"><link rel=\"stylesheet\" href=\"/app.css\"></head>\
         <body class=\"plain\"><header class=\"bar\"><a class=\"brand\" href=\"/plain\">Everturn</a>\
         <form action=\"/plain\" role=\"search\"><label for=\"q\" class=\"sr\">Search</label>\
         <input id=\"q\" type=\"search\" name=\"q\" value=\"{query}\" placeholder=\"Search in all sessions\">\
         <button>Search</button></form></header>\
         <main id=\"main\"><div class=\"pad\"><h1 dir=\"auto\">{title}</h1>{body}</div></main></body></html>"
    ))
}

/// What to list or to search for.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PlainQuery {
    /// Words to search for; without them, sessions are listed.
    q: Option<String>,
    /// The number of sessions to leave out.
    skip: Option<u64>,
}

fn session_link(key: &str, summary: &SessionSummary) -> String {
    let title = if summary.title.is_empty() { &summary.session.id } else { &summary.title };
    let turns = summary.turns.map_or(String::new(), |turns| format!("{turns} turns, "));
    let updated = summary.updated.map(|time| time.to_string()).unwrap_or_default();
    format!(
        "<li><a href=\"/plain/{}\" dir=\"auto\">{}</a> <span class=\"dim\">{}, {turns}{}</span></li>",
        encoded(key),
        shown(title),
        escaped(summary.layout),
        escaped(updated.get(..10).unwrap_or_default()),
    )
}

fn list_page(call: &Call<'_>, query: PlainQuery) -> Result<HtmlPage, Problem> {
    if let Some(words) = query.q.filter(|words| !words.trim().is_empty()) {
        return search_page(call, &words);
    }
    let listing = call.library.list(SummaryDetail::All);
    let mut sessions: Vec<_> = listing.iter().collect();
    sessions.sort_by_key(|(_, session)| std::cmp::Reverse(session.summary.updated));
    let skip = usize::try_from(query.skip.unwrap_or_default()).unwrap_or(usize::MAX);
    let rows: String = sessions
        .iter()
        .skip(skip)
        .take(PAGE)
        .map(|(key, session)| session_link(key, &session.summary))
        .collect();
    let next = skip.saturating_add(PAGE);
    let more = match next < sessions.len() {
        true => format!("<p><a href=\"/plain?skip={next}\">Older sessions</a></p>"),
        false => String::new(),
    };
    let body = format!("<p class=\"dim\">{} sessions</p><ul>{rows}</ul>{more}", sessions.len());
    Ok(page("Sessions", "", &body))
}

fn search_page(call: &Call<'_>, words: &str) -> Result<HtmlPage, Problem> {
    let found = search(call, words, (HITS, SortOrder::Relevance))?;
    let mut rows = String::new();
    for hit in &found.hits {
        let turn = hit.turn;
        rows.push_str(&format!(
            "<li><a href=\"/plain/{}?from={turn}\">{}</a> <span class=\"dim\">turn {turn}, {}</span>\
             <p dir=\"auto\">{}</p></li>",
            encoded(&hit.key),
            shown(&hit.key),
            shown(&hit.speaker),
            shown(&hit.snippet),
        ));
    }
    let body = format!("<p class=\"dim\">{} hits</p><ol>{rows}</ol>", found.hits.len());
    Ok(page("Search", words, &body))
}

/// Where to start reading.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PlainReadQuery {
    /// The first turn.
    from: Option<u64>,
}

fn article(entry: &Entry) -> String {
    let time = entry.time.map(|time| time.to_string()).unwrap_or_default();
    format!(
        "<article class=\"entry\" id=\"turn-{0}\"><div class=\"by\"><b dir=\"auto\">{1}</b> \
         <span>{2}</span> <a href=\"?from={0}\">#{0}</a></div><div class=\"body\" dir=\"auto\">{3}</div></article>",
        entry.turn,
        shown(&entry.speaker),
        escaped(&time),
        shown(&entry.readable_text()),
    )
}

/// Up to a page of entries, and the turn that follows them.
fn read_entries(reader: &dyn SessionReader, from: u64) -> Result<(String, Option<u64>), Problem> {
    let (mut text, mut count, mut last) = (String::new(), 0, from);
    let mut entries = reader.entries(from..=u64::MAX)?;
    while let Some(entry) = entries.next().transpose()? {
        if count >= PAGE && entry.turn > last {
            return Ok((text, Some(entry.turn)));
        }
        count += 1;
        last = entry.turn;
        text.push_str(&article(&entry));
    }
    Ok((text, None))
}

fn read_page(call: &Call<'_>, query: PlainReadQuery) -> Result<HtmlPage, Problem> {
    let found = call.session()?;
    let reader = call.library.reader(&found, None)?;
    let summary = found.format.summary(&call.library.store(found.source)?, &found.place)?;
    let from = query.from.unwrap_or_default();
    let (text, next) = read_entries(&*reader, from)?;
    let mut links = String::new();
    if from > 0 {
        let earlier = from.saturating_sub(PAGE as u64);
        links.push_str(&format!("<a href=\"?from={earlier}\">Earlier turns</a> "));
    }
    if let Some(next) = next {
        links.push_str(&format!("<a href=\"?from={next}\">Later turns</a>"));
    }
    let title = if summary.title.is_empty() { &found.place.id } else { &summary.title };
    Ok(page(title, "", &format!("<p>{links}</p><div class=\"turns\">{text}</div><p>{links}</p>")))
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::page(("/plain", "plainList", "Sessions, as a page without JavaScript."), list_page),
        Route::page(
            ("/plain/{session}", "plainSession", "A session, as a page without JavaScript."),
            read_page,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_texts_is_escaped() {
        assert_eq!(escaped("<a href='x'>\"&"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;");
        assert_eq!(escaped("a\u{202e}b\u{1}\n"), "a\u{fffd}b\u{fffd}\n");
        assert_eq!(encoded("root:game:é/.."), "root%3Agame%3A%C3%A9%2F..");
    }
}
