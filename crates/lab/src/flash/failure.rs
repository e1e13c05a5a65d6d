//! What can keep an image from getting onto a device, each in one line. Unless the line says otherwise, nothing was changed.

use model::name::Sha256Hex;

/// A flash that did not end as it should.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The device file has no table for it.
    #[error(
        "{device} says nothing of how an image gets there; write a table [flash] into its device file"
    )]
    NoWay { device: String },
    /// The device is at no address of ssh's.
    #[error("{device} is not reached by ssh, so nothing is flashed there")]
    NoAddress { device: String },
    /// The device does not take the image.
    #[error("{device} does not take the image: {said}; nothing was flashed")]
    Refused { device: String, said: String },
    /// The device does not answer any more.
    #[error("{device} did not come back within {waited_s} s")]
    NotBack {
        device: String,
        /// How long it was waited for.
        waited_s: u64,
    },
    /// It runs from something else than was flashed.
    #[error(
        "the image did not come up on {device}: it runs from {found} (SHA-256), which is no part of the image"
    )]
    OtherContent { device: String, found: Sha256Hex },
    /// The device says what is no answer.
    #[error("{device} does not say what it runs from: {why}")]
    NoAnswer { device: String, why: String },
    /// Any of them once the image was written, with what helps.
    #[error("{failure}{}{}", said(console), way_back(fall_back.as_ref()))]
    After {
        failure: Box<Failure>,
        /// What the console said of it.
        console: Vec<String>,
        /// The device file's command that gets the image before back.
        fall_back: Option<String>,
    },
}

fn said(console: &[String]) -> String {
    if console.is_empty() {
        String::new()
    } else {
        format!("; its console: {}", console.join("; "))
    }
}

fn way_back(command: Option<&String>) -> String {
    command.map(|command| format!("; back to the image before: `{command}`")).unwrap_or_default()
}
