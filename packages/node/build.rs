//! The options with which a module for Node is linked.

fn main() {
    napi_build::setup();
}
