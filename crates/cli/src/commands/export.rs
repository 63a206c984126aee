//! `everturn export`: exports a session as a readable file.

use std::path::{Path, PathBuf};

use everturn::format::{SessionError, SessionReader};
use everturn::model::{ExportRecord, ExportSettings};
use everturn::scan::SecretRules;
use everturn_export::{
    Export, ExportError, ExportFormat, ExportOptions, ExportPart, ExportReport, ExportStyle,
    PaperSize, SecretMask,
};

use super::Context;
use super::show::within;
use crate::atomic_file::ExistingFile;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::findings::{exit_after, print_findings};
use crate::json::JsonObject;
use crate::output::{Output, count_noun, escape_controls, stdout_failed};
use crate::picture_files::PictureDirectory;
use crate::sessions::{FoundSession, resolve_turn};
use crate::turns::TurnRange;
use crate::{exports, settings};

/// Export a session as text, Markdown, HTML, PDF, EPUB or JSON
///
/// Works for every format. HTML is a single file that needs no network and no scripts; nothing in
/// the text is ever executed. PDF is typeset like a book, and EPUB is an e-book. JSON is a chat log
/// that `everturn import` can read. Pictures in messages, and picture files beside the session, are
/// part of HTML, PDF and EPUB. Keys, tokens and passwords are masked. Without -o, the export is written to stdout.
/// Files are written atomically, and an existing file is only replaced with --force. The session is
/// only read. The export_settings of a chat log are the defaults of --style, --with and --without;
/// --save-settings changes them.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn export latest -o story.html
  everturn export tale --format md --style minimal > tale.md
  everturn export tale -o two.txt --from 'The temple' --until 'The road'
  everturn export latest -o book.pdf --with thinking,ooc --without tools
  everturn export tale -o page.html --style custom --template mine.html

Output with --json and -o:
  {"session":"tale","format":"html","style":"rich","path":"story.html","turns":40,
   "entries":120,"bytes":51234,"masked":{"database-url":1},"noted":true}
  on one line; "noted" says whether --save-settings has saved the settings. A PDF
  also has "pages" and "missing", the characters that its fonts lack"#)]
pub(crate) struct Args {
    /// The session: its ID or a unique prefix, a path, or `latest`
    session: String,

    /// The format: txt, md, html, pdf, epub or json; default: from the extension of FILE
    #[arg(long, value_name = "FORMAT")]
    format: Option<ExportFormat>,

    /// The output file; default: stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace FILE if it exists
    #[arg(long, requires = "output")]
    force: bool,

    /// The style: minimal, rich or custom; default: the value in the chat log, or rich
    #[arg(long, value_name = "STYLE")]
    style: Option<ExportStyle>,

    /// The template of the custom style
    #[arg(long, value_name = "FILE")]
    template: Option<PathBuf>,

    /// Include: metadata, snapshots, ooc, thinking, tools
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    with: Vec<ExportPart>,

    /// Exclude: metadata, snapshots, ooc, thinking, tools
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    without: Vec<ExportPart>,

    /// Save the style and the parts in the chat log, as the defaults of its next export
    #[arg(long, requires = "output", conflicts_with = "branch")]
    save_settings: bool,

    /// Only export the messages of this speaker
    #[arg(long, value_name = "NAME")]
    speaker: Option<String>,

    /// The turns: `N`, `A..B` (both included), `A..` or `..B`
    #[arg(long, value_name = "RANGE", default_value = "..", hide_default_value = true)]
    turns: TurnRange,

    /// Start at a mark, by its ID or name, or at an entry, by its ID
    #[arg(long, value_name = "MARK", conflicts_with = "turns")]
    from: Option<String>,

    /// End before a mark or an entry
    #[arg(long, value_name = "MARK", conflicts_with = "turns")]
    until: Option<String>,

    /// The branch to export, by its ID; default: the main line
    #[arg(long, value_name = "ID")]
    branch: Option<String>,

    /// The language of the text, such as `de`
    #[arg(long, value_name = "TAG")]
    language: Option<String>,

    /// The directory of the picture files; default: that of the session
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,

    /// Do not mask keys, tokens and passwords
    #[arg(long, alias = "no-redact")]
    no_mask: bool,

    /// Mask keys, tokens and passwords, as is the default
    #[arg(long, hide = true, overrides_with = "no_mask")]
    redact: bool,

    /// The page size of a PDF: a5, a4 or letter
    #[arg(long, value_name = "SIZE", default_value = "a5", value_parser = paper)]
    paper: PaperSize,

    /// A font file or directory for a PDF, in addition to the built-in and system fonts
    #[arg(long, value_name = "PATH")]
    font: Vec<PathBuf>,

    /// Do not use system fonts in a PDF, so that it is the same on every machine
    #[arg(long)]
    no_system_fonts: bool,
}

fn paper(name: &str) -> Result<PaperSize, String> {
    match name {
        "a5" => Ok(PaperSize::A5),
        "a4" => Ok(PaperSize::A4),
        "letter" => Ok(PaperSize::Letter),
        _ => Err(format!("unknown page size {name:?}; known sizes: a5, a4, letter")),
    }
}

impl Args {
    fn format(&self) -> Result<ExportFormat, Error> {
        match (self.format, &self.output) {
            (Some(format), _) => Ok(format),
            (None, Some(file)) => exports::format_of(file),
            (None, None) => Err(Error::new(Exit::Usage, "no format given")
                .hint("choose one with --format, or name a file with -o")),
        }
    }

    /// Returns the style: the requested one, that of a template, or that of the session. A session that asks for a
    /// template gets the default style without one.
    fn style(&self, own: &ExportSettings) -> ExportStyle {
        let own = own.style.as_deref().and_then(|style| style.parse().ok());
        let own = own.filter(|own| *own != ExportStyle::Custom);
        let custom = self.template.is_some().then_some(ExportStyle::Custom);
        self.style.or(custom).or(own).unwrap_or_default()
    }

    fn choices(
        &self,
        format: ExportFormat,
        own: &ExportSettings,
        found: &FoundSession,
        reader: &dyn SessionReader,
    ) -> Result<ExportOptions, Error> {
        let mut choices = ExportOptions::defaults_for(format, self.style(own));
        let parts = [
            (ExportPart::Metadata, own.metadata),
            (ExportPart::Snapshots, own.snapshots),
            (ExportPart::Ooc, own.ooc),
        ];
        for (part, wanted) in parts {
            wanted.into_iter().for_each(|wanted| choices.set(part, wanted));
        }
        for (parts, wanted) in [(&self.with, true), (&self.without, false)] {
            for part in parts {
                choices.set(*part, wanted);
            }
        }
        let mut turns = self.turns;
        if let Some(name) = &self.from {
            turns.first = Some(resolve_turn(found, reader, name)?);
        }
        if let Some(name) = &self.until {
            let before = resolve_turn(found, reader, name)?;
            turns.last = Some(before.saturating_sub(1));
            if turns.first.is_some_and(|first| first >= before) {
                let what = format!("there is nothing between the start and {name:?}");
                return Err(Error::new(Exit::Request, what));
            }
        }
        let range = within(&turns, &reader.turns()?)?;
        if turns.is_bounded() {
            (choices.first, choices.last) = (Some(*range.start()), Some(*range.end()));
        }
        choices.speaker = self.speaker.clone();
        choices.language = self.language.clone();
        choices.pages.paper = self.paper;
        choices.pages.fonts.paths = self.font.clone();
        choices.pages.fonts.system = !self.no_system_fonts;
        Ok(choices)
    }

    fn template(&self) -> Result<Option<(String, String)>, Error> {
        let Some(path) = &self.template else {
            return match self.style {
                Some(ExportStyle::Custom) => {
                    Err(Error::new(Exit::Usage, "the custom style requires a template")
                        .hint("name the file with --template"))
                }
                _ => Ok(None),
            };
        };
        if self.style.is_some_and(|style| style != ExportStyle::Custom) {
            return Err(Error::new(Exit::Usage, "a template requires the custom style")
                .hint("add --style custom"));
        }
        let text = String::from_utf8(super::import::read(path)?).map_err(|cause| {
            Error::new(Exit::Request, format!("{} is not UTF-8", path.display())).caused_by(cause)
        })?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Some((name, text)))
    }

    /// Returns the output file, unless the export goes to stdout.
    fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| *path != Path::new("-"))
    }
}

fn exported(format: ExportFormat, choices: &ExportOptions) -> ExportRecord {
    ExportRecord {
        format: format.as_str().to_owned(),
        style: choices.style.as_str().to_owned(),
        metadata: choices.metadata,
        snapshots: choices.snapshots,
        ooc: choices.ooc,
    }
}

/// Saves the settings of the export in the session.
fn save(context: &Context, found: &FoundSession, exported: &ExportRecord) -> Result<(), Error> {
    let log = found.layout.capabilities().export_log;
    let log = log.ok_or_else(|| found.layout.unsupported("export settings"))?;
    let found = context.find_to_write(&found.root.shown(&found.place.path))?;
    let store = found.root.store();
    let done = log.record_export(&store, &found.place, exported, settings::now());
    done.map_err(|error| found.failed(error))?;
    drop(store);
    found.root.close()
}

/// How many missing characters are named.
const NAMED: usize = 40;

/// Warns about characters that no font contains.
fn mention_missing(report: &ExportReport) {
    if report.missing.is_empty() {
        return;
    }
    let mut named: Vec<String> = report
        .missing
        .iter()
        .take(NAMED)
        .map(|(character, _)| format!("{character} (U+{:04X})", u32::from(*character)))
        .collect();
    if report.missing.len() > NAMED {
        named.push(format!("and {} more", report.missing.len() - NAMED));
    }
    Output::status(&format!(
        "no font has these characters, so boxes are printed instead: {}; add a font with --font",
        escape_controls(&named.join(", "))
    ));
}

/// Reports the masked secrets.
fn mention_masked(report: &ExportReport) {
    let all: u64 = report.masked.values().sum();
    if all > 0 {
        let families: Vec<String> =
            report.masked.iter().map(|(family, count)| format!("{family} {count}")).collect();
        let secrets =
            if all == 1 { "1 secret is".to_owned() } else { format!("{all} secrets are") };
        Output::status(&format!("{secrets} masked: {}", families.join(", ")));
    }
}

fn answer(
    context: &mut Context,
    session: &str,
    exported: &ExportRecord,
    file: &Path,
    report: &ExportReport,
    noted: bool,
) -> Result<(), EarlyExit> {
    let path = file.display().to_string();
    let ExportReport { turns, entries, bytes, .. } = report;
    if context.json {
        let masked = report.masked.iter();
        let masked =
            masked.fold(JsonObject::new(), |all, (family, count)| all.number(family, *count));
        let object = JsonObject::new()
            .text("session", session)
            .text("format", &exported.format)
            .text("style", &exported.style)
            .text("path", &path)
            .number("turns", *turns)
            .number("entries", *entries)
            .number("bytes", *bytes)
            .raw("masked", &masked.close())
            .raw("noted", if noted { "true" } else { "false" });
        let object = match report.pages {
            Some(pages) => {
                let missing: String =
                    report.missing.iter().map(|(character, _)| *character).collect();
                object.number("pages", pages as u64).text("missing", &missing)
            }
            None => object,
        };
        writeln!(context.out, "{}", object.close())?;
    } else {
        let pages = report.pages.map(|pages| count_noun(pages as u64, "page", "pages") + ", ");
        let (entries, turns) =
            (count_noun(*entries, "entry", "entries"), count_noun(*turns, "turn", "turns"));
        let (pages, bytes) = (pages.unwrap_or_default(), count_noun(*bytes, "byte", "bytes"));
        writeln!(context.out, "{path}: {entries} of {turns}, {pages}{bytes}")?;
    }
    context.out.flush()
}

/// Rejects options that do not fit together.
fn check_target(args: &Args, format: ExportFormat, is_json: bool) -> Result<(), Error> {
    if format.is_binary() && args.file().is_none() {
        let what = if format == ExportFormat::Pdf { "a PDF" } else { "an EPUB" };
        let error = Error::new(Exit::Usage, format!("{what} needs a file"));
        return Err(error.hint("name one with -o"));
    }
    if is_json && args.file().is_none() {
        return Err(Error::new(Exit::Usage, "--json requires a file for the export")
            .hint("name one with -o; the JSON goes to stdout"));
    }
    Ok(())
}

/// Writes an export to stdout. Text is escaped: a terminal may be behind it.
fn to_stdout(
    export: &Export<'_>,
    format: ExportFormat,
    context: &mut Context,
) -> Result<ExportReport, ExportError> {
    match format {
        ExportFormat::Pdf | ExportFormat::Epub => {
            exports::write(export, format, context.out.binary_sink())
        }
        _ => exports::write(export, format, &mut context.out.text_sink()),
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let format = args.format()?;
    let template = args.template()?;
    check_target(args, format, context.json)?;
    if args.save_settings {
        // The session is changed, so its name must be complete.
        drop(context.find_to_write(&args.session)?);
    }
    let (found, (main, summary)) = context.read_found(&args.session, |found| {
        let summary = found.layout.summary(&found.root.store(), &found.place);
        Ok((found.open()?, summary.map_err(|error| found.failed(error))?))
    })?;
    found.print_notes(&*main);
    let failed = |error: SessionError| found.failed(error);
    let reader = match &args.branch {
        Some(branch) => main.open_branch(branch).map_err(failed)?,
        None => main,
    };
    let own = match found.layout.capabilities().export_log {
        Some(log) => log.export_settings(&reader.metadata().map_err(failed)?),
        None if args.save_settings => {
            return Err(Error::from(found.layout.unsupported("export settings")).into());
        }
        None => ExportSettings::default(),
    };
    let choices = args.choices(format, &own, &found, &*reader)?;
    let template = template.as_ref().map(|(name, text)| (name.as_str(), text.as_str()));
    let now = settings::now();
    let pictures = PictureDirectory::new(args.pictures.clone().unwrap_or_else(|| {
        let file = PathBuf::from(found.root.shown(&found.place.path));
        file.parent().map(Path::to_path_buf).unwrap_or_default()
    }));
    let export = Export {
        summary: &summary,
        reader: &*reader,
        choices: &choices,
        mask: (args.redact || !args.no_mask).then(|| SecretRules::standard() as &dyn SecretMask),
        pictures: Some(&pictures),
        template,
        now,
    };
    let done = match args.file() {
        Some(file) => {
            let existing = if args.force { ExistingFile::Replaced } else { ExistingFile::Kept };
            exports::write_file(&export, format, file, existing, failed)?
        }
        None => match to_stdout(&export, format, context) {
            Ok(done) => done,
            Err(ExportError::Write(cause)) => return Err(stdout_failed(cause)),
            Err(error) => return Err(exports::failed(error, failed).into()),
        },
    };
    context.out.flush()?;
    let mut failure = None;
    if let Some(file) = args.file() {
        let exported = exported(format, &choices);
        if args.save_settings {
            failure = save(context, &found, &exported).err();
        }
        let noted = args.save_settings && failure.is_none();
        answer(context, &found.place.id, &exported, file, &done, noted)?;
    }
    print_findings(&done.findings);
    mention_masked(&done);
    mention_missing(&done);
    if let Some(error) = failure {
        Output::status(&format!("the settings were not saved in the session: {error}"));
        return Ok(Exit::Request);
    }
    Ok(exit_after(&done.findings))
}
