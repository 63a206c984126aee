//! Selects the parts of a chat log that fit into a model's context window: messages, characters, lore and tools.
//!
//! `ContextOptions` are the parameters, `ChatContext` is the result, and `ContextBuilder` collects the candidates.

use super::error::ChatError;
use super::log::{ChatLog, Message};
use super::paths::below;
use super::tools::{Tool, ToolState};
use super::writer::all_marks;
use everturn_json::names::{FilePath, SessionId};
use everturn_prompt::card::{CardNames, CharacterCard};
use everturn_prompt::context::{
    ChatRole, ContextItem, ContextSelection, ContextStrategy, ContextWindow, Conversation,
    ExcludedItem, ExclusionReason, ItemKind, select_items,
};
use everturn_prompt::lorebook::{Lorebook, ScanOptions, activate_entries};
use everturn_prompt::tokens::Vocabulary;
use everturn_store::StoreError;
use everturn_value::tree::JsonTree;

/// The number of newest messages that are searched for lorebook keys, and for speakers with cards.
const SEARCHED: u64 = 64;

/// The directories of cards and of lorebooks, in which they are looked up by id.
const CARD_DIRS: &[&str] = &["characters", "cards"];
const BOOK_DIRS: &[&str] = &["lorebooks"];

/// The files of a card or lorebook, by their extensions.
const EXTENSIONS: &[&str] = &["json", "png", "charx"];

/// The tokens that separate a prompt from the next message.
const SEPARATOR: usize = 4;

/// The size of the window, and what to include besides the messages.
#[derive(Debug, Clone, Default)]
pub struct ContextOptions {
    /// The size of the window in tokens.
    pub size: usize,
    /// The number of tokens reserved for the answer.
    pub reserve: usize,
    /// Which messages take precedence.
    pub strategy: ContextStrategy,
    /// The vocabulary in which tokens are counted.
    pub vocabulary: Vocabulary,
    /// The numbers of messages that are always included. If empty, `Fixed` and `Adaptive` pin the first one.
    pub pins: Vec<u64>,
    /// Whether out-of-character messages are left out.
    pub without_ooc: bool,
    /// Characters in addition to those that the chat log names.
    pub cards: Vec<CharacterCard>,
    /// Lorebooks in addition to those that the chat log names.
    pub books: Vec<Lorebook>,
}

/// The selected items, with the prompts around them.
#[derive(Debug, Clone)]
pub struct ChatContext {
    /// The prompts of the chat log and of the cards, which are always included, before everything else.
    pub prompts: String,
    /// The instructions of the cards that come after the messages; also always included.
    pub closing: String,
    /// The selected items.
    pub selection: ContextSelection,
    /// Problems with cards and lorebooks, in words.
    pub notes: Vec<String>,
}

impl ChatContext {
    /// The whole context as one text.
    #[must_use]
    pub fn prompt(&self) -> String {
        let told = everturn_prompt::context::prompt_text(&self.selection);
        let parts = [self.prompts.as_str(), &told, &self.closing];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("\n\n")
    }

    /// The whole context as the messages of a chat completion.
    #[must_use]
    pub fn chat(&self) -> serde_json::Value {
        let mut messages = match everturn_prompt::context::chat_json(&self.selection) {
            serde_json::Value::Array(messages) => messages,
            _ => Vec::new(),
        };
        let system = |text: &str| serde_json::json!({"role": "system", "content": text});
        if !self.prompts.is_empty() {
            messages.insert(0, system(&self.prompts));
        }
        if !self.closing.is_empty() {
            messages.push(system(&self.closing));
        }
        serde_json::Value::Array(messages)
    }
}

/// Selects what fits into a window. Writes nothing.
pub(crate) fn select_context(
    log: &ChatLog,
    how: &ContextOptions,
) -> Result<ChatContext, ChatError> {
    let builder = ContextBuilder { log, how, head: log.head() };
    let mut found = ContextBackground::default();
    let cards = builder.cards(&mut found)?;
    let prompts = builder.prompts(&cards);
    let closing = builder.closing(&cards);
    let room = |text: &str| match text.is_empty() {
        true => 0,
        false => how.vocabulary.count(text) + SEPARATOR,
    };
    let window = ContextWindow::new(how.size, how.reserve)?
        .with_vocabulary(how.vocabulary)
        .with_prompts(room(&prompts) + room(&closing))?;
    builder.background(&cards, &mut found)?;
    let (pinned, count) = (builder.priority_items()?, log.len());
    let newest_first = (1..=log.len()).rev().map(|number| builder.item(number));
    let newest_first = newest_first.filter_map(Result::transpose);
    let conversation =
        Conversation { background: found.items, ahead: pinned, newest_first, count: Some(count) };
    let mut selection = select_items(window, how.strategy, conversation)?;
    selection.left_out.extend(found.passed);
    Ok(ChatContext { prompts, closing, selection, notes: found.notes })
}

/// The items in the background of the messages.
#[derive(Default)]
struct ContextBackground {
    items: Vec<ContextItem>,
    passed: Vec<ExcludedItem>,
    notes: Vec<String>,
}

/// The cards of a context.
struct ContextCards {
    /// Those that the caller supplies, that of the protagonist, and those of the speakers.
    cards: Vec<CharacterCard>,
    /// The id of the protagonist's card.
    protagonist: Option<String>,
}

impl ContextCards {
    /// The name of the character that the model plays, for texts that belong to no card.
    fn character(&self) -> Option<&str> {
        let is_played = |card: &&CharacterCard| Some(&card.id) != self.protagonist.as_ref();
        self.cards.iter().find(is_played).map(CharacterCard::display_name)
    }
}

/// Collects the candidates for a context.
struct ContextBuilder<'l> {
    log: &'l ChatLog,
    how: &'l ContextOptions,
    head: JsonTree,
}

impl ContextBuilder<'_> {
    fn text(&self, path: &[&str]) -> Option<String> {
        self.head.string_at(path).filter(|text| !text.trim().is_empty())
    }

    /// The name of the protagonist, which replaces `{{user}}`.
    fn user(&self) -> String {
        self.text(&["session", "protagonist", "name"]).unwrap_or_else(|| "User".to_owned())
    }

    /// A message as a context item; `None` if it is not part of the conversation.
    fn item(&self, number: u64) -> Result<Option<ContextItem>, ChatError> {
        let message = self.log.message(number)?;
        let kind = message.tree.string_at(&["type"]).unwrap_or_default();
        if !message.is_spoken() || (self.how.without_ooc && kind == "ooc") {
            return Ok(None);
        }
        let id = message.id().unwrap_or_else(|| number.to_string());
        let item =
            ContextItem::message(id, number - 1, ChatRole::of_message(&kind), message.full_text());
        Ok(Some(item.with_speaker(message.speaker())))
    }

    /// Messages that are pinned, marked, or referenced by a tool.
    fn priority_items(&self) -> Result<Vec<ContextItem>, ChatError> {
        let (log, how) = (self.log, self.how);
        let first = how.pins.is_empty() && how.strategy != ContextStrategy::Sliding;
        let mut pins = if first { vec![1] } else { how.pins.clone() };
        pins.retain(|pin| (1..=log.len()).contains(pin));
        let marked: Vec<u64> = all_marks(log)?.iter().filter_map(|mark| mark.number).collect();
        let mut referenced = Vec::new();
        for tool in log.tools()?.0 {
            let noted = log.noted(&tool.id, log.last_place())?;
            let message = noted.and_then(|noted| noted.string_at(&["message_id"]));
            referenced.extend(message.map(|id| log.find(&id)).transpose()?.flatten());
        }
        let mut numbers = [pins.clone(), marked.clone(), referenced.clone()].concat();
        numbers.sort_unstable();
        numbers.dedup();
        let mut items = Vec::new();
        for number in numbers {
            items.extend(self.item(number)?.map(|item| ContextItem {
                pinned: pins.contains(&number),
                marked: marked.contains(&number),
                referenced: referenced.contains(&number),
                ..item
            }));
        }
        Ok(items)
    }

    /// The newest messages, newest first.
    fn recent(&self) -> Result<Vec<Message>, ChatError> {
        let first = self.log.len().saturating_sub(SEARCHED) + 1;
        let recent: Result<Vec<Message>, ChatError> =
            self.log.messages(first..=self.log.len())?.collect();
        Ok(recent?.into_iter().rev().collect())
    }

    /// The characters: those of the caller, the protagonist, and the speakers of the newest messages.
    fn cards(&self, found: &mut ContextBackground) -> Result<ContextCards, ChatError> {
        let mut cards = self.how.cards.clone();
        let protagonist = self.text(&["session", "protagonist", "character_card_id"]);
        let read = |id: &str| {
            let id = id.to_owned();
            move |bytes: &[u8]| CharacterCard::read(bytes, &id).map_err(|error| error.to_string())
        };
        if let Some(id) = &protagonist
            && !cards.iter().any(|card| card.id == *id)
        {
            let card = self.look_up(id, CARD_DIRS, &mut found.notes, &read(id))?;
            if card.is_none() {
                found.notes.push(format!("there is no card {id} in {}", CARD_DIRS.join(" or ")));
            }
            cards.extend(card);
        }
        let mut seen: Vec<String> = Vec::new();
        for message in self.recent()? {
            let Some(id) = message.tree.string_at(&["sender", "id"]) else { continue };
            if seen.contains(&id) || cards.iter().any(|card| card.id == id) {
                continue;
            }
            // A speaker need not have a card, and an id need not be a file name.
            if SessionId::parse(&id).is_ok() {
                cards.extend(self.look_up(&id, CARD_DIRS, &mut found.notes, &read(&id))?);
            }
            seen.push(id);
        }
        Ok(ContextCards { cards, protagonist })
    }

    /// The prompts before everything else. The system prompt of a card replaces that of the chat log, and has it in the
    /// place of `{{original}}`.
    fn prompts(&self, cards: &ContextCards) -> String {
        let setting = |key: &str| self.text(&["session", "settings", key]);
        let mut system = setting("system_prompt").unwrap_or_default();
        let user = self.user();
        for card in cards.cards.iter().filter(|card| card.replaces_system_prompt()) {
            system = card.names(&user).with_original(&system).substitute(&card.system_prompt);
        }
        let narrator = setting("narrator_prompt").unwrap_or_default();
        let parts = [system.trim(), narrator.trim()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("\n\n")
    }

    /// The instructions after the messages.
    fn closing(&self, cards: &ContextCards) -> String {
        let user = self.user();
        let mut closing = String::new();
        for card in cards.cards.iter().filter(|card| !card.closing_prompt.trim().is_empty()) {
            closing = card.names(&user).with_original(&closing).substitute(&card.closing_prompt);
        }
        closing.trim().to_owned()
    }

    /// Collects characters, lore and the states of tools.
    fn background(
        &self,
        cards: &ContextCards,
        found: &mut ContextBackground,
    ) -> Result<(), ChatError> {
        let user = self.user();
        let recent = self.recent()?;
        let recent: Vec<String> = recent.iter().map(Message::full_text).collect();
        let recent: Vec<&str> = recent.iter().map(String::as_str).collect();
        for card in &cards.cards {
            let told = card.prompt(&user);
            found.items.push(ContextItem::background(ItemKind::CharacterCard, &card.id, told));
            found.notes.extend(card.notes.iter().map(|note| format!("card {}: {note}", card.id)));
            if let Some(book) = &card.book {
                lore(book, &card.names(&user), &recent, found);
            }
        }
        let mut books = self.how.books.clone();
        if let Some(id) = self.text(&["session", "lorebook_id"]) {
            let read = |bytes: &[u8]| Lorebook::read(bytes, &id).map_err(|error| error.to_string());
            let book = self.look_up(&id, BOOK_DIRS, &mut found.notes, &read)?;
            if book.is_none() {
                found.notes.push(format!("there is no lorebook {id} in lorebooks"));
            }
            books.extend(book);
        }
        let character = cards.character().unwrap_or("Narrator");
        for book in &books {
            lore(book, &CardNames::new(character, &user), &recent, found);
        }
        for tool in self.log.tools()?.0 {
            found.items.extend(self.tool_item(&tool)?);
        }
        Ok(())
    }

    /// The state of a tool as a context item.
    fn tool_item(&self, tool: &Tool) -> Result<Option<ContextItem>, ChatError> {
        let noted = self.log.noted(&tool.id, self.log.last_place())?;
        let state = match &noted {
            Some(tree) => ToolState::of_snapshot(tree, tool),
            None => tool.defaults(),
        };
        if state.values.is_empty() {
            return Ok(None);
        }
        let lines = state.values.iter().map(|(id, value)| match tool.component(id) {
            Some(component) => format!("{}: {}", component.name, component.shown(value)),
            None => {
                format!("{id}: {}", value.string_at::<&str>(&[]).unwrap_or_else(|| value.to_line()))
            }
        });
        let told = format!("{}\n{}", tool.name, lines.collect::<Vec<_>>().join("\n"));
        let id = noted.and_then(|noted| noted.string_at(&["id"]));
        Ok(Some(ContextItem::background(
            ItemKind::ToolSnapshot,
            id.unwrap_or_else(|| tool.id.clone()),
            told,
        )))
    }

    /// Looks up a document by its id. One that cannot be used makes a note.
    fn look_up<T>(
        &self,
        id: &str,
        dirs: &[&str],
        notes: &mut Vec<String>,
        read: &dyn Fn(&[u8]) -> Result<T, String>,
    ) -> Result<Option<T>, ChatError> {
        let Ok(name) = SessionId::parse(id) else {
            notes.push(format!("{id:?} is not a valid file name"));
            return Ok(None);
        };
        for dir in dirs {
            for end in EXTENSIONS {
                let file = below(&below(&FilePath::root(), dir), &format!("{name}.{end}"));
                match self.log.store.read(&file, 0..u64::MAX) {
                    Ok(bytes) => match read(&bytes) {
                        Ok(found) => return Ok(Some(found)),
                        Err(why) => notes.push(format!("{file} cannot be used: {why}")),
                    },
                    Err(StoreError::Missing { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(None)
    }
}

/// Collects the activated entries of a lorebook.
fn lore(book: &Lorebook, names: &CardNames<'_>, recent: &[&str], found: &mut ContextBackground) {
    found.notes.extend(book.notes.iter().map(|note| format!("lorebook {}: {note}", book.id)));
    let activation = activate_entries(book, recent, &ScanOptions::default());
    for active in activation.active {
        let told = names.substitute(&active.entry.content);
        let item = ContextItem::background(ItemKind::LorebookEntry, &active.entry.id, told);
        found.items.push(ContextItem { spot: active.entry.place, ..item });
    }
    found.passed.extend(activation.passed.into_iter().map(|passed| ExcludedItem {
        kind: ItemKind::LorebookEntry,
        id: passed.id,
        why: ExclusionReason::Passed(passed.why),
    }));
}
