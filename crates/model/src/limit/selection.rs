//! Figures of a run as people name them, without a value. The words are those of limits.

use super::{At, Limit, Metric, OVER_COUNTS, at, variant_of};

/// Figures of a run, as people name them: a limit without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Of this variant; `None` is every one that has the figure.
    pub variant: Option<String>,
    /// At so many clients; `None` is at every count.
    pub clients: Option<u32>,
    /// At points that are called by all of these words.
    pub places: Vec<String>,
    /// The figure's name.
    pub figure: String,
}

/// Reads `[VARIANT:] METRIC [at N clients | at PLACE [and PLACE]]`.
///
/// # Errors
///
/// One line: what is wrong, and what would be right.
pub fn selection(text: &str) -> Result<Selection, String> {
    let (variant, rest) = variant_of(text.trim());
    let (figure, At { clients, places }) = at(rest)?;
    if variant == Some("") || figure.is_empty() || figure.contains(char::is_whitespace) {
        return Err(format!(
            "`{text}` names no figure; write [VARIANT:] FIGURE [at N clients], as in `bulk: cpu at 114 clients`"
        ));
    }
    if clients.is_some() && Metric::of(figure).is_over_counts() {
        return Err(OVER_COUNTS.to_owned());
    }
    let (variant, figure) = (variant.map(str::to_owned), figure.to_owned());
    Ok(Selection { variant, clients, places, figure })
}

impl Limit {
    /// What it speaks of, where it asks about this figure.
    pub fn selection(&self, figure: &str) -> Selection {
        Selection {
            variant: self.variant.clone(),
            clients: self.clients,
            places: self.places.clone(),
            figure: figure.to_owned(),
        }
    }
}
