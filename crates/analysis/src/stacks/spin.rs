//! Where an instruction is in a loop that waits, as far as folded stacks hold it; [`super::hint`] finds the loops.

/// Where in a loop with a hint an instruction is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spin {
    #[default]
    None,
    /// On the way to the hint. It is there too where nothing has to be waited for.
    Round,
    /// At the hint or behind it: the loop does wait.
    Past,
}
