//! The program itself, in namespaces of the tests' own: other programs across it, wrong input, bad weather.
//!
//! What needs root, `/dev/net/tun` or a program that is not here says so and is passed over.

mod across;
mod failures;
mod stage;
mod trials;
mod words;
