//! The program `txd`.

fn main() {}
