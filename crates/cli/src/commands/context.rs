//! `everturn context`: shows the part of a chat log that fits into a model's context window.

use std::path::{Path, PathBuf};

use everturn::card::CharacterCard;
use everturn::chatlog::{ChatError, ChatLog, ChatWriter, ContextOptions};
use everturn::context::{ContextStrategy, ItemKind};
use everturn::format::{Feature, SessionError};
use everturn::lorebook::Lorebook;
use everturn::store::snapshot;
use everturn::tokens::Vocabulary;
use everturn::tree::JsonTree;
use serde_json::json;

use super::Context;
use super::import::read;
use crate::error::{EarlyExit, Error};
use crate::exit::Exit;
use crate::output::{Output, escape_controls};
use crate::sessions::{FoundSession, resolve_turn};
use crate::settings;

/// Select the messages that fit into a model's context window
///
/// The tokens of messages, tool states, character cards and lorebook entries are counted offline,
/// with the model's tokenizer. Items are tried in an order that depends on the strategy; those that do
/// not fit are skipped and listed with the reason. The newest message is always included, if
/// necessary without its beginning. The result is recorded in the chat log's context_window, except
/// with --dry-run. Cards are searched in characters/ and cards/ by the IDs of the protagonist and
/// of the speakers, lorebooks in lorebooks/.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  everturn context tale --size 16384
  everturn context tale --strategy adaptive --reserve 1024 --prompt
  everturn context tale --card rem.png --dry-run --json
  everturn context tale --without ooc --vocabulary estimate

With --json:
  {"session":"tale","strategy":"sliding","size":16384,"reserve":0,"budget":16384,
   "prompts":40,"used":1234,"vocabulary":"o200k_base","messages":{"included":12,"all":40},
   "included":[{"kind":"message","id":"msg-040","tokens":80,"why":"newest"},…],
   "left_out":[{"kind":"message","id":"msg-028","why":"…"}],"notes":[]}
  and with --prompt also "prompt", the messages of a chat completion. "newest_cut" is
  how many tokens of the newest message are left out, if it does not fit."#)]
pub(crate) struct Args {
    /// The session: its ID or a unique prefix, a path, or `latest`
    session: String,

    /// The size of the window in tokens; default: the value in the chat log, or 16384
    #[arg(long, value_name = "N")]
    size: Option<usize>,

    /// The strategy: sliding, fixed or adaptive; default: the value in the chat log, or sliding
    #[arg(long, value_name = "NAME", value_parser = ["sliding", "fixed", "adaptive"])]
    strategy: Option<String>,

    /// The number of tokens reserved for the answer
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    reserve: usize,

    /// A message that is always included, by number, ID or mark; can be repeated
    #[arg(long, value_name = "MESSAGE")]
    pin: Vec<String>,

    /// Leave out: ooc, the out-of-character messages
    #[arg(long, value_name = "PARTS", value_delimiter = ',', value_parser = ["ooc"])]
    without: Vec<String>,

    /// The vocabulary: o200k_base, cl100k_base, p50k_base, r50k_base, or estimate, which adds a
    /// margin for models that publish none; default: that of the model in the chat log, or
    /// o200k_base
    #[arg(long, value_name = "NAME")]
    vocabulary: Option<Vocabulary>,

    /// A character card, JSON, PNG or CHARX, in addition to the protagonist's
    #[arg(long, value_name = "FILE")]
    card: Vec<PathBuf>,

    /// A lorebook, in addition to the chat log's
    #[arg(long, value_name = "FILE")]
    lorebook: Vec<PathBuf>,

    /// Print the prompt for the model
    #[arg(long)]
    prompt: bool,

    /// Do not record the result
    #[arg(long)]
    dry_run: bool,
}

/// How many items that were left out are named.
const NAMED: usize = 20;

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn failed(found: &FoundSession, error: ChatError) -> Error {
    found.failed(SessionError::from(error))
}

impl Args {
    /// Returns the vocabulary, and a note if it is not that of the chat log's model.
    fn vocabulary(&self, head: &JsonTree) -> (Vocabulary, Option<String>) {
        let model = head.string_at(&["session", "settings", "model"]).unwrap_or_default();
        let known = Vocabulary::of_model(&model);
        let used = self.vocabulary.or(known).unwrap_or_default();
        if model.is_empty() || known == Some(used) {
            return (used, None);
        }
        let note = match used {
            Vocabulary::Estimate => {
                format!("the tokens are an estimate for {model}: up to 2.5 times those it counts")
            }
            _ => format!(
                "the tokens are an estimate for {model}, counted with {used}: it may count 20 % more \
                 in English, and 150 % more in other scripts; --vocabulary estimate adds a margin"
            ),
        };
        (used, Some(note))
    }

    fn context_options(
        &self,
        found: &FoundSession,
        log: &ChatLog,
    ) -> Result<ContextOptions, Error> {
        let head = log.head();
        let bad = |path: &Path, cause: &dyn std::fmt::Display| {
            Error::new(Exit::Request, format!("cannot use {}: {cause}", path.display()))
        };
        let said = head.text_at(&["context_window", "size"]).and_then(|text| text.parse().ok());
        let strategy = self.strategy.clone();
        let strategy = strategy.or_else(|| head.string_at(&["context_window", "strategy"]));
        let strategy = strategy.and_then(|word| word.parse::<ContextStrategy>().ok());
        let mut telling = ContextOptions {
            size: self.size.or(said).unwrap_or(16384),
            reserve: self.reserve,
            strategy: strategy.unwrap_or_default(),
            vocabulary: self.vocabulary(&head).0,
            without_ooc: self.without.iter().any(|part| part == "ooc"),
            ..ContextOptions::default()
        };
        for path in &self.card {
            let card = CharacterCard::read(&read(path)?, &stem(path));
            telling.cards.push(card.map_err(|error| bad(path, &error))?);
        }
        for path in &self.lorebook {
            let book = Lorebook::read(&read(path)?, &stem(path));
            telling.books.push(book.map_err(|error| bad(path, &error))?);
        }
        if !self.pin.is_empty() {
            let reader = found.layout.open(&found.root.store(), &found.place);
            let reader = reader.map_err(|error| found.failed(error))?;
            for pin in &self.pin {
                telling.pins.push(resolve_turn(found, &*reader, pin)?);
            }
        }
        Ok(telling)
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<Exit, EarlyExit> {
    let found = match args.dry_run {
        true => context.find_to_read(&args.session)?,
        false => context.find_to_write(&args.session)?,
    };
    found.layout.require(Feature::ContextWindow).map_err(Error::from)?;
    let store = found.root.store();
    let paths = found.layout.snapshot_paths(&found.place).map_err(Error::from)?;
    let frozen = snapshot(&store, &paths).map_err(Error::from)?;
    let log = ChatLog::open(&frozen, &found.place.path).map_err(|error| failed(&found, error))?;
    let telling = args.context_options(&found, &log)?;
    let mut chosen = log.context(&telling).map_err(|error| failed(&found, error))?;
    chosen.notes.extend(args.vocabulary(&log.head()).1);
    if !args.dry_run {
        let mut writer =
            ChatWriter::open(&store, &found.place.path).map_err(|error| failed(&found, error))?;
        let window = JsonTree::from_value(&chosen.selection.context_window()).map_err(|cause| {
            Error::new(Exit::Internal, "the window is not JSON").caused_by(cause)
        })?;
        let done = writer.set(&["context_window"], window, settings::now());
        done.map_err(|error| failed(&found, error))?;
        writer.finish().map_err(|error| failed(&found, error))?;
    }
    let selection = &chosen.selection;
    if context.json {
        let mut answer = selection.to_json();
        if let Some(object) = answer.as_object_mut() {
            object.insert("session".to_owned(), json!(found.place.id));
            object.insert("notes".to_owned(), json!(chosen.notes));
            if args.prompt {
                object.insert("prompt".to_owned(), chosen.chat());
            }
        }
        writeln!(context.out, "{answer}")?;
    } else if args.prompt {
        writeln!(context.out, "{}", escape_controls(&chosen.prompt()))?;
    } else {
        for included in &selection.included {
            let (kind, why) = (included.item.kind.as_str(), included.why.as_str());
            let line = format!("{kind} {}: {} tokens, {why}", included.item.id, included.tokens);
            writeln!(context.out, "{}", escape_controls(&line))?;
        }
    }
    context.out.flush()?;
    if !context.json {
        for left in selection.left_out.iter().take(NAMED) {
            let line = format!("left out: {} {}: ", left.kind.as_str(), left.id);
            Output::status(&(line + &left.why.describe()));
        }
        if selection.left_out.len() > NAMED {
            let more = selection.left_out.len() - NAMED;
            Output::status(&format!("left out: {more} more; --json lists them"));
        }
        if let Some(cut) = selection.newest_cut {
            Output::status(&format!("the newest message is cut: {cut} tokens are left out"));
        }
        chosen.notes.iter().for_each(|note| Output::status(note));
        let chosen_count = selection.ids(ItemKind::Message).len();
        let all = selection.count.unwrap_or_default();
        let (used, budget) = (selection.used_tokens(), selection.window.budget());
        Output::status(&format!("{chosen_count} of {all} messages; {used} of {budget} tokens"));
    }
    if !args.dry_run {
        drop(store);
        found.root.close()?;
    }
    Ok(Exit::Success)
}
