//! Who took what Wi-Fi's work lost: applications by the time that they ran on the CPUs where it waited.

use super::Controller;

/// An application that took less of the loss than this is not worth a step of its own.
pub(super) const LEAST_BLAME: f64 = 0.1;

impl Controller<'_> {
    /// Applications by their share of the loss, worst first; those that took nothing are left out. Of equals the
    /// one that the policy names first.
    pub(super) fn offenders(&self) -> Vec<(usize, f64)> {
        let blame = &self.state.fast.blame;
        let total: f64 = blame.iter().sum();
        if total <= 0.0 {
            return Vec::new();
        }
        let mut ranked: Vec<(usize, f64)> = blame
            .iter()
            .map(|took| took / total)
            .enumerate()
            .filter(|(_, part)| *part > 0.0)
            .collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked
    }

    /// An application's share of the loss.
    pub(super) fn blame_of(&self, application: usize) -> f64 {
        self.offenders().iter().find(|(at, _)| *at == application).map_or(0.0, |(_, part)| *part)
    }
}
