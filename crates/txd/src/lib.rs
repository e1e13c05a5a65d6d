//! The transmit path of a Wi-Fi driver in user space: a queue, a card that completes commands, ways to wait for it.
//!
//! It sends real frames over a modelled card, from one TAP interface to another. It is no driver for real hardware,
//! and it receives nothing from the air.
//!
//! | module | what |
//! | --- | --- |
//! | [`card`] | the card's model: passive, driven by the time that it is told |
//! | [`driver`] | the driver: sans-IO, counts everything |
//! | [`wait`] | the ways to wait, for anyone's use |
//! | [`path`] | a driver and its card between two TAPs, in real time |
//! | [`frames`], [`ends`] | frames that prove themselves; their source and their sink |
//! | [`measure`], [`task`] | one trial, `txd measure`, and the CPU task that may run with it |
//! | [`options`] | the words of the command line |

pub mod card;
pub mod driver;
pub mod ends;
pub mod frames;
pub mod measure;
pub mod options;
pub mod path;
pub mod task;
pub mod wait;
