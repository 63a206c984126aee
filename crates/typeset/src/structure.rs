//! The logical structure of the text, for screen readers: sections, headings, paragraphs, lists.

use std::num::NonZeroU16;

use krilla::tagging::{Identifier, ListNumbering, Node, Tag, TagGroup, TagTree};

use crate::pager::ElementRole;

/// Collects page content in reading order, and groups it into elements.
pub(crate) struct TagStructure {
    tree: TagTree,
    section: TagGroup,
    /// The open list, and whether it belongs to the contents.
    list: Option<(bool, TagGroup)>,
    element: Option<OpenElement>,
}

struct OpenElement {
    in_text: bool,
    number: u32,
    role: ElementRole,
    content: Vec<Identifier>,
}

impl TagStructure {
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

    /// Adds content to an element; an element continued from the page before stays one element.
    pub(crate) fn add(
        &mut self,
        in_text: bool,
        number: u32,
        role: &ElementRole,
        mut content: Vec<Identifier>,
    ) {
        if let Some(element) = &mut self.element
            && (element.in_text, element.number) == (in_text, number)
        {
            element.content.append(&mut content);
            return;
        }
        self.close_element();
        self.element = Some(OpenElement { in_text, number, role: role.clone(), content });
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
        let Some(OpenElement { role, content, .. }) = self.element.take() else { return };
        let content: Vec<Node> = content.into_iter().map(Node::from).collect();
        let group = match role {
            ElementRole::Item { numbered } => return self.add_item(numbered, content),
            ElementRole::Entry { .. } => return self.add_entry(content),
            ElementRole::Title => TagGroup::with_children(Tag::Title, content),
            ElementRole::Heading { level, title } => {
                let level = NonZeroU16::new(u16::from(level)).unwrap_or(NonZeroU16::MIN);
                TagGroup::with_children(Tag::Hn(level, Some(title)), content)
            }
            ElementRole::Paragraph | ElementRole::Ornament => {
                TagGroup::with_children(Tag::P, content)
            }
            ElementRole::Quotation => {
                let paragraph = TagGroup::with_children(Tag::P, content);
                TagGroup::with_children(Tag::BlockQuote, vec![paragraph.into()])
            }
            ElementRole::Code => {
                let code = TagGroup::with_children(Tag::Code, content);
                TagGroup::with_children(Tag::P, vec![code.into()])
            }
            ElementRole::Figure { alt } => TagGroup::with_children(Tag::Figure(Some(alt)), content),
            ElementRole::Note => TagGroup::with_children(Tag::Note, content),
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
