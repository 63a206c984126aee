//! Selects the parts of a chat log that fit into a model's context window: messages, characters, lore and tools.
//!
//! `ContextOptions` are the parameters, `ChatContext` is the result.

use super::error::ChatError;
use super::log::ChatLog;
use super::paths::below;
use super::tools::{Tool, ToolState};
use everturn_json::names::{FilePath, SessionId};
use everturn_prompt::card::{CharacterCard, substitute_names};
use everturn_prompt::context::{
    ChatRole, ContextItem, ContextSelection, ContextStrategy, ContextWindow, Conversation,
    ExcludedItem, ExclusionReason, ItemKind, select_items,
};
use everturn_prompt::lorebook::{Lorebook, ScanOptions, activate_entries};
use everturn_prompt::tokens;
use everturn_store::StoreError;
use everturn_value::tree::JsonTree;

/// The number of newest messages that are searched for lorebook keys.
const SEARCHED: u64 = 64;

/// The directories of cards and of lorebooks, in which they are looked up by id.
const CARD_DIRS: &[&str] = &["characters", "cards"];
const BOOK_DIRS: &[&str] = &["lorebooks"];

/// The size of the window, and what to include besides the messages.
#[derive(Debug, Clone, Default)]
pub struct ContextOptions {
    /// The size of the window in tokens.
    pub size: usize,
    /// The number of tokens reserved for the answer.
    pub reserve: usize,
    /// Which messages take precedence.
    pub strategy: ContextStrategy,
    /// The numbers of messages that are always included; if empty, the first one.
    pub pins: Vec<u64>,
    /// Characters in addition to those that the chat log names.
    pub cards: Vec<CharacterCard>,
    /// Lorebooks in addition to those that the chat log names.
    pub books: Vec<Lorebook>,
}

/// The selected items, with the prompts before them.
#[derive(Debug, Clone)]
pub struct ChatContext {
    /// The prompts in the settings of the chat log, which are always included.
    pub prompts: String,
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
        match self.prompts.is_empty() {
            true => told,
            false => format!("{}\n\n{told}", self.prompts),
        }
    }

    /// The whole context as the messages of a chat completion.
    #[must_use]
    pub fn chat(&self) -> serde_json::Value {
        let mut messages = match everturn_prompt::context::chat_json(&self.selection) {
            serde_json::Value::Array(messages) => messages,
            _ => Vec::new(),
        };
        if !self.prompts.is_empty() {
            messages.insert(0, serde_json::json!({"role": "system", "content": self.prompts}));
        }
        serde_json::Value::Array(messages)
    }
}

/// The items in the background of the messages.
#[derive(Default)]
struct ContextBackground {
    items: Vec<ContextItem>,
    passed: Vec<ExcludedItem>,
    notes: Vec<String>,
}

impl ChatLog {
    /// Selects what fits into a window. Writes nothing.
    pub fn context(&self, how: &ContextOptions) -> Result<ChatContext, ChatError> {
        let head = self.head();
        let settings = |key: &str| head.string_at(&["session", "settings", key]);
        let prompts = [settings("system_prompt"), settings("narrator_prompt")];
        let prompts: Vec<String> =
            prompts.into_iter().flatten().filter(|text| !text.trim().is_empty()).collect();
        let prompts = prompts.join("\n\n");
        let asked = if prompts.is_empty() { 0 } else { tokens::count_tokens(&prompts) + 4 };
        let window = ContextWindow::new(how.size, how.reserve.saturating_add(asked))
            .map_err(|error| ChatError::input(error.to_string()))?;
        let background = self.background(how, &head)?;
        let newest_first = (1..=self.len()).rev().map(|number| self.item(number));
        let conversation = Conversation {
            background: background.items,
            ahead: self.pinned_items(how)?,
            newest_first,
            count: Some(self.len()),
        };
        let mut selection = select_items(window, how.strategy, conversation)?;
        selection.left_out.extend(background.passed);
        Ok(ChatContext { prompts, selection, notes: background.notes })
    }

    /// A message as a context item.
    fn item(&self, number: u64) -> Result<ContextItem, ChatError> {
        let message = self.message(number)?;
        let id = message.id().unwrap_or_else(|| number.to_string());
        let kind = message.tree.string_at(&["type"]).unwrap_or_default();
        let item =
            ContextItem::message(id, number - 1, ChatRole::of_message(&kind), message.text());
        Ok(item.with_speaker(message.speaker()))
    }

    /// Messages that are pinned, marked, or referenced by a tool.
    fn pinned_items(&self, how: &ContextOptions) -> Result<Vec<ContextItem>, ChatError> {
        let first = if how.pins.is_empty() { vec![1] } else { how.pins.clone() };
        let pins: Vec<u64> =
            first.into_iter().filter(|pin| (1..=self.len()).contains(pin)).collect();
        let marked: Vec<u64> = self.marks()?.iter().filter_map(|mark| mark.number).collect();
        let mut referenced = Vec::new();
        for tool in self.tools()?.0 {
            let noted = self.noted(&tool.id, self.last_place())?;
            let message = noted.and_then(|noted| noted.string_at(&["message_id"]));
            referenced.extend(message.map(|id| self.find(&id)).transpose()?.flatten());
        }
        let mut numbers = [pins.clone(), marked.clone(), referenced.clone()].concat();
        numbers.sort_unstable();
        numbers.dedup();
        let item = |number: u64| {
            Ok(ContextItem {
                pinned: pins.contains(&number),
                marked: marked.contains(&number),
                referenced: referenced.contains(&number),
                ..self.item(number)?
            })
        };
        numbers.into_iter().map(item).collect()
    }

    fn background(
        &self,
        how: &ContextOptions,
        head: &JsonTree,
    ) -> Result<ContextBackground, ChatError> {
        let mut found = ContextBackground::default();
        let text = |path: &[&str]| head.string_at(path).filter(|text| !text.is_empty());
        let user = text(&["session", "protagonist", "name"]).unwrap_or_default();
        let (mut cards, mut books) = (how.cards.clone(), how.books.clone());
        if let Some(id) = text(&["session", "protagonist", "character_card_id"]) {
            cards.extend(self.look_up(&id, CARD_DIRS, "card", &mut found.notes, &|bytes| {
                CharacterCard::read(bytes, &id).map_err(|error| error.to_string())
            })?);
        }
        if let Some(id) = text(&["session", "lorebook_id"]) {
            books.extend(self.look_up(&id, BOOK_DIRS, "lorebook", &mut found.notes, &|bytes| {
                Lorebook::read(bytes, &id).map_err(|error| error.to_string())
            })?);
        }
        for card in &cards {
            let told = card.prompt(&user);
            found.items.push(ContextItem::background(ItemKind::CharacterCard, &card.id, told));
            found.notes.extend(card.notes.iter().map(|note| format!("card {}: {note}", card.id)));
            books.extend(card.book.clone());
        }
        self.lore(&books, &user, &mut found)?;
        for tool in self.tools()?.0 {
            found.items.extend(self.tool_item(&tool)?);
        }
        Ok(found)
    }

    fn lore(
        &self,
        books: &[Lorebook],
        user: &str,
        found: &mut ContextBackground,
    ) -> Result<(), ChatError> {
        let first = self.len().saturating_sub(SEARCHED) + 1;
        let recent: Result<Vec<String>, ChatError> = match books.is_empty() {
            true => Ok(Vec::new()),
            false => {
                self.messages(first..=self.len())?.map(|message| Ok(message?.text())).collect()
            }
        };
        let recent = recent?;
        let recent: Vec<&str> = recent.iter().rev().map(String::as_str).collect();
        for book in books {
            found
                .notes
                .extend(book.notes.iter().map(|note| format!("lorebook {}: {note}", book.id)));
            let activation = activate_entries(book, &recent, &ScanOptions::default());
            for active in activation.active {
                let told = substitute_names(&active.entry.content, user, user);
                let item = ContextItem::background(ItemKind::LorebookEntry, &active.entry.id, told);
                found.items.push(ContextItem { spot: active.entry.place, ..item });
            }
            found.passed.extend(activation.passed.into_iter().map(|passed| ExcludedItem {
                kind: ItemKind::LorebookEntry,
                id: passed.id,
                why: ExclusionReason::Passed(passed.why),
            }));
        }
        Ok(())
    }

    /// The state of a tool as a context item.
    fn tool_item(&self, tool: &Tool) -> Result<Option<ContextItem>, ChatError> {
        let noted = self.noted(&tool.id, self.last_place())?;
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

    /// Looks up a document that the chat log names by its id; a missing one makes a note.
    fn look_up<T>(
        &self,
        id: &str,
        dirs: &[&str],
        what: &str,
        notes: &mut Vec<String>,
        read: &dyn Fn(&[u8]) -> Result<T, String>,
    ) -> Result<Option<T>, ChatError> {
        let Ok(name) = SessionId::parse(id) else {
            notes.push(format!("{what} {id:?} is not a valid file name"));
            return Ok(None);
        };
        for dir in dirs {
            for end in ["json", "png"] {
                let file = below(&below(&FilePath::root(), dir), &format!("{name}.{end}"));
                match self.store.read(&file, 0..u64::MAX) {
                    Ok(bytes) => match read(&bytes) {
                        Ok(found) => return Ok(Some(found)),
                        Err(why) => notes.push(format!("{file} cannot be used: {why}")),
                    },
                    Err(StoreError::Missing { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        notes.push(format!("there is no {what} {id} in {}", dirs.join(" or ")));
        Ok(None)
    }
}
