//! The transmit path of a Wi-Fi driver in user space: a queue, a card that completes commands, ways to wait for it.
//!
//! It sends real frames over a modelled card. It is no driver for real hardware.
