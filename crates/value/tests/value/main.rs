//! Documents, values and changes of them.

mod delta;
mod delta_random;
mod documents_edit;
mod documents_random;
mod documents_style;
mod tree;
