//! Sessions of every format, through all layers: one suite for each format, and those that take several.

mod campaign;
mod chatlog;
mod codelia;
mod common;
mod convert;
mod corruptions;
mod failures;
mod foreign;
mod front;
mod game;
mod house;
mod layouts;
mod layouts_crash;
mod linggen;
mod marks;
mod mutations;
mod thread;
