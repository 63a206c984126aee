//! User templates for the custom style.
//!
//! A template is a file of macros: `begin`, `heading`, `turn`, `entry`, `changes` and `end`. Each macro is called with
//! one value that describes its piece; missing macros write nothing. Templates can access neither files nor the
//! network, and a template that runs too long is stopped.

use everturn::markup;
use everturn::model::Mark;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, context};

use crate::error::ExportError;
use crate::facts;
use crate::options::{ExportOptions, ExportStyle};
use crate::output::PieceWriter;
use crate::piece::{ExportPiece, Message, TurnChanges};
use crate::source::{SessionCover, SessionOutline};

/// The maximum number of steps of a macro.
const FUEL: u64 = 2_000_000;

/// The name of the template within itself.
const NAME: &str = "template";

pub(crate) struct TemplateWriter {
    environment: Environment<'static>,
    name: String,
    language: String,
    session: Value,
}

fn template_error(error: &Error) -> ExportError {
    let mut text = error.to_string();
    if let Some(line) = error.line() {
        text.push_str(&format!(" (line {line})"));
    }
    ExportError::Template(text)
}

impl TemplateWriter {
    pub(crate) fn new(
        template: Option<(&str, &str)>,
        choices: &ExportOptions,
    ) -> Result<TemplateWriter, ExportError> {
        let missing = || {
            ExportError::Template(format!(
                "the style {} requires a template",
                ExportStyle::Custom.as_str()
            ))
        };
        let (file, text) = template.ok_or_else(missing)?;
        let is_html = [".html", ".htm", ".xml", ".svg"].iter().any(|end| {
            file.to_ascii_lowercase()
                .trim_end_matches(".j2")
                .trim_end_matches(".jinja")
                .ends_with(end)
        });
        let name = if is_html { format!("{NAME}.html") } else { format!("{NAME}.txt") };
        let mut environment = Environment::new();
        environment.set_fuel(Some(FUEL));
        environment.set_auto_escape_callback(|name| match name.ends_with(".html") {
            true => AutoEscape::Html,
            false => AutoEscape::None,
        });
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| template_error(&error))?);
        environment.add_filter("markdown", |text: &str| {
            Value::from_safe_string(markup::markdown_to_inert_html(text))
        });
        environment.add_filter("wrap", |text: &str, width: usize| {
            crate::columns::wrap_text(text, width.clamp(2, 10_000)).join("\n")
        });
        environment
            .add_template_owned(name.clone(), text.to_owned())
            .map_err(|error| template_error(&error))?;
        let language = choices.language.clone().unwrap_or_default();
        Ok(TemplateWriter { environment, name, language, session: Value::UNDEFINED })
    }

    /// Calls a macro of the template, if it exists.
    fn call(&self, name: &str, value: Value) -> Result<String, ExportError> {
        let run = || -> Result<String, Error> {
            let template = self.environment.get_template(&self.name)?;
            let context = context! { session => self.session.clone() };
            let mut state = template.render_captured(context)?;
            match state.with_state_mut(|state| state.call_macro(name, &[value])) {
                Err(error)
                    if error.kind() == ErrorKind::UnknownFunction
                        && error.detail() == Some("macro not found") =>
                {
                    Ok(String::new())
                }
                other => other,
            }
        };
        run().map_err(|error| template_error(&error))
    }
}

fn time(time: Option<jiff::Timestamp>) -> Value {
    time.map_or(Value::from(()), |time| Value::from(time.to_string()))
}

fn heading(mark: &Mark) -> Value {
    context! {
        id => &mark.id, kind => mark.kind.as_str(), name => &mark.name,
        description => &mark.description, turn => mark.turn, time => time(mark.time),
    }
}

fn entry(said: &Message) -> Value {
    let role = said.role();
    let (tool, body) = said.tool();
    let extras = &said.extras;
    let actions = extras.actions.iter();
    let actions = actions.map(|action| context! { kind => &action.kind, text => &action.text });
    let attachments = extras.attachments.iter().map(|attachment| {
        context! {
            kind => &attachment.kind, url => &attachment.url,
            description => &attachment.description,
        }
    });
    context! {
        seq => said.seq, turn => said.turn, id => &said.id, time => time(said.time),
        speaker => &said.speaker, kind => said.kind.as_str(), role => role.as_str(),
        text => &said.text, tool => tool, body => body,
        actions => actions.collect::<Vec<Value>>(),
        attachments => attachments.collect::<Vec<Value>>(),
        formatted_text => &extras.formatted_text, avatar => &extras.avatar,
    }
}

fn changes(changes: &TurnChanges) -> Value {
    let lines = changes.lines.iter().map(|line| {
        context! { place => &line.place, before => &line.before, after => &line.after, words => line.describe() }
    });
    context! { turn => changes.turn, changes => lines.collect::<Vec<Value>>() }
}

impl PieceWriter for TemplateWriter {
    fn begin(
        &mut self,
        cover: &SessionCover,
        outline: &SessionOutline,
    ) -> Result<String, ExportError> {
        let facts = facts::session_facts(cover, outline);
        let facts: Vec<Value> = facts
            .into_iter()
            .map(|(name, value)| context! { name => name, value => value })
            .collect();
        let speakers = outline.speakers.iter().map(|speaker| {
            context! { name => &speaker.name, role => speaker.role.as_str(), entries => speaker.entries }
        });
        self.session = context! {
            title => &cover.title, id => &cover.id, layout => cover.layout, status => &cover.status,
            parent => &cover.parent, created => time(cover.created), updated => time(cover.updated),
            exported => cover.now.to_string(), language => &self.language,
            turns => outline.turns, entries => outline.entries, facts => facts,
            first => time(outline.times.map(|(first, _)| first)),
            last => time(outline.times.map(|(_, last)| last)),
            speakers => speakers.collect::<Vec<Value>>(),
            headings => outline.headings.iter().map(heading).collect::<Vec<Value>>(),
        };
        self.call("begin", self.session.clone())
    }

    fn piece(&mut self, piece: &ExportPiece) -> Result<String, ExportError> {
        match piece {
            ExportPiece::Heading(mark) => self.call("heading", heading(mark)),
            ExportPiece::Turn { number, time: at } => {
                self.call("turn", context! { number => number, time => time(*at) })
            }
            ExportPiece::Message(said) => self.call("entry", entry(said)),
            ExportPiece::Changes(list) if list.lines.is_empty() => Ok(String::new()),
            ExportPiece::Changes(list) => self.call("changes", changes(list)),
        }
    }

    fn end(&mut self, state: &[(String, String)]) -> Result<String, ExportError> {
        let state = state.iter().map(|(scope, text)| context! { scope => scope, text => text });
        self.call("end", context! { state => state.collect::<Vec<Value>>() })
    }
}
