//! Tests of documents, values and their changes.

mod delta;
mod delta_random;
mod documents_edit;
mod documents_random;
mod documents_style;
mod intact;
mod tree;
