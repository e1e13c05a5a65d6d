//! Trials that run at the same time. Which they are is each kind's to say, and running them [`crate::runner`]'s.

/// Trials that run at the same time, and what else the host does meanwhile.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch<P> {
    /// The trials, in the order in which they start.
    pub trials: Vec<P>,
    /// How many of them at a time; `None` is as many as there are cores.
    pub at_once: Option<usize>,
    /// Whether stress-ng oversubscribes the host meanwhile.
    pub stress: bool,
}

/// Counted trials, which share the cores and do not feel each other; then the others, each with the host for itself.
pub(crate) fn counted_first<P>(part: Vec<P>, is_alone: impl Fn(&P) -> bool) -> Vec<Batch<P>> {
    let (alone, together): (Vec<P>, Vec<P>) = part.into_iter().partition(is_alone);
    let batch = |trials, at_once| Batch { trials, at_once, stress: false };
    [batch(together, None), batch(alone, Some(1))].into()
}
