//! Shares of functions in two recordings: apart by chance, or not.
//!
//! Pure. Each recording is a sample of the same work; two shares p with n₁ and n₂ samples differ by chance
//! with the standard error √(p(1−p)(1/n₁+1/n₂)), p the share of both together.

use super::{Function, Recording};

/// Functions with less are not compared: too few samples say nothing.
const LEAST: f64 = 0.01;

/// So many standard errors are chance.
const CHANCE: f64 = 3.0;

/// One function in both.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Compared {
    pub(super) name: String,
    pub(super) ours: f64,
    pub(super) perf: f64,
    /// Standard errors between the two.
    pub(super) apart: f64,
}

impl Compared {
    pub(super) fn agrees(&self) -> bool {
        self.apart <= CHANCE
    }
}

/// Our functions, the largest first, alongside perf's.
pub(super) fn functions(ours: &Recording, theirs: &Recording) -> Vec<Compared> {
    let mut large: Vec<&Function> =
        ours.functions.iter().filter(|function| function.share >= LEAST).collect();
    // Of functions with one share the innermost ones say nothing more: by name, so that the list stays.
    large.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.names.cmp(&b.names)));
    let one = |function: &&Function| {
        let perf = share_near(function, &theirs.functions);
        let ours = Share { of: function.share, samples: ours.samples };
        let apart = ours.apart(Share { of: perf, samples: theirs.samples });
        Compared { name: function.names.concat(), ours: function.share, perf, apart }
    };
    large.iter().map(one).collect()
}

/// perf's share of a function. Instances of a generic one are several symbols of one name: together they
/// have at least the largest share and at most the sum, and what is nearest to ours counts.
fn share_near(function: &Function, theirs: &[Function]) -> f64 {
    let is_same = |one: &&Function| {
        one.kernel == function.kernel && function.names.iter().any(|name| one.names.contains(name))
    };
    let same = theirs.iter().filter(is_same);
    let (least, most) = same
        .fold((0.0_f64, 0.0_f64), |(least, most), one| (least.max(one.share), most + one.share));
    function.share.clamp(least, most.min(1.0).max(least))
}

/// A share of samples, of so many.
#[derive(Clone, Copy)]
struct Share {
    of: f64,
    samples: u64,
}

impl Share {
    /// How many standard errors two shares are apart.
    fn apart(self, other: Self) -> f64 {
        let (n1, n2) = (self.samples.max(1) as f64, other.samples.max(1) as f64);
        // perf prints two decimals, which is no difference.
        let difference = ((self.of - other.of).abs() - 0.000_05).max(0.0);
        if difference == 0.0 {
            return 0.0;
        }
        let both = (self.of * n1 + other.of * n2) / (n1 + n2);
        difference / (both * (1.0 - both) * (1.0 / n1 + 1.0 / n2)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(functions: &[(&str, f64)]) -> Recording {
        let function = |(name, share): &(&str, f64)| Function {
            names: vec![(*name).to_owned()],
            kernel: false,
            share: *share,
        };
        let functions = functions.iter().map(function).collect();
        Recording { samples: 1000, functions, ..Recording::default() }
    }

    #[test]
    fn what_chance_explains_agrees_and_what_it_does_not_differs() {
        let ours = recording(&[("a", 0.5), ("b", 0.5), ("c", 0.1), ("tiny", 0.001)]);
        let theirs = recording(&[("a", 0.53), ("b", 0.6)]);
        let found: Vec<_> =
            functions(&ours, &theirs).into_iter().map(|one| (one.agrees(), one.name)).collect();
        assert_eq!(found, [(true, "a".into()), (false, "b".into()), (false, "c".into())]);
    }

    #[test]
    fn instances_of_one_name_are_between_the_largest_and_the_sum() {
        let ours = recording(&[("f", 0.5)]);
        for (theirs, agrees) in [
            ([("f", 0.3), ("f", 0.3)], true),
            ([("f", 0.1), ("f", 0.1)], false),
            ([("f", 0.8), ("f", 0.1)], false),
        ] {
            assert_eq!(functions(&ours, &recording(&theirs))[0].agrees(), agrees, "{theirs:?}");
        }
    }
}
