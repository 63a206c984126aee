//! The structure of the text, for readers that listen to it: sections, headings, paragraphs, lists.

use std::num::NonZeroU16;

use krilla::tagging::{Identifier, ListNumbering, Node, Tag, TagGroup, TagTree};

use crate::pager::Role;

/// Takes what is on the pages in reading order, and puts what belongs together into one element.
pub(crate) struct Structure {
    tree: TagTree,
    section: TagGroup,
    /// The list that is still open, and whether it is one of contents.
    list: Option<(bool, TagGroup)>,
    element: Option<Element>,
}

struct Element {
    in_text: bool,
    number: u32,
    role: Role,
    content: Vec<Identifier>,
}

impl Structure {
    pub(crate) fn new() -> Self {
        Self {
            tree: TagTree::new(),
            section: TagGroup::new(Tag::Section),
            list: None,
            element: None,
        }
    }

    /// Starts a section, such as a chapter.
    pub(crate) fn section(&mut self) {
        self.close_element();
        self.close_list();
        let section = std::mem::replace(&mut self.section, TagGroup::new(Tag::Section));
        if !section.children.is_empty() {
            self.tree.push(section);
        }
    }

    /// Adds content to an element; one that goes on from the page before stays the same.
    pub(crate) fn add(
        &mut self,
        in_text: bool,
        number: u32,
        role: &Role,
        mut content: Vec<Identifier>,
    ) {
        if let Some(element) = &mut self.element
            && (element.in_text, element.number) == (in_text, number)
        {
            element.content.append(&mut content);
            return;
        }
        self.close_element();
        self.element = Some(Element { in_text, number, role: role.clone(), content });
    }

    pub(crate) fn finish(mut self) -> TagTree {
        self.section();
        self.tree
    }

    fn close_list(&mut self) {
        if let Some((_, list)) = self.list.take() {
            self.section.push(list);
        }
    }

    fn close_element(&mut self) {
        let Some(Element { role, content, .. }) = self.element.take() else { return };
        let content: Vec<Node> = content.into_iter().map(Node::from).collect();
        let group = match role {
            Role::Item { numbered } => return self.add_item(numbered, content),
            Role::Entry { .. } => return self.add_entry(content),
            Role::Title => TagGroup::with_children(Tag::Title, content),
            Role::Heading { level, title } => {
                let level = NonZeroU16::new(u16::from(level)).unwrap_or(NonZeroU16::MIN);
                TagGroup::with_children(Tag::Hn(level, Some(title)), content)
            }
            Role::Paragraph | Role::Ornament => TagGroup::with_children(Tag::P, content),
            Role::Quotation => {
                let paragraph = TagGroup::with_children(Tag::P, content);
                TagGroup::with_children(Tag::BlockQuote, vec![paragraph.into()])
            }
            Role::Code => {
                let code = TagGroup::with_children(Tag::Code, content);
                TagGroup::with_children(Tag::P, vec![code.into()])
            }
            Role::Note => TagGroup::with_children(Tag::Note, content),
        };
        self.close_list();
        self.section.push(group);
    }

    fn add_item(&mut self, numbered: bool, content: Vec<Node>) {
        let body = TagGroup::with_children(Tag::LBody, content);
        let item = TagGroup::with_children(Tag::LI, vec![body.into()]);
        let numbering = if numbered { ListNumbering::Decimal } else { ListNumbering::Disc };
        self.open_list(false, || TagGroup::new(Tag::L(numbering))).push(item);
    }

    fn add_entry(&mut self, content: Vec<Node>) {
        let link = TagGroup::with_children(Tag::Link, content);
        let entry = TagGroup::with_children(Tag::TOCI, vec![link.into()]);
        self.open_list(true, || TagGroup::new(Tag::TOC)).push(entry);
    }

    fn open_list(&mut self, contents: bool, new: impl FnOnce() -> TagGroup) -> &mut TagGroup {
        if self.list.as_ref().is_some_and(|(of_contents, _)| *of_contents != contents) {
            self.close_list();
        }
        &mut self.list.get_or_insert_with(|| (contents, new())).1
    }
}
