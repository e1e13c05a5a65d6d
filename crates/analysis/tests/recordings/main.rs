//! Recordings, read and folded: those written here by hand, and those that perf wrote.
//!
//! (`cfg(test)` tells clippy that all of this is tests, functions that tests share included.)
#![expect(clippy::disallowed_methods, reason = "the tests read the inputs that fuzzing kept")]

#[cfg(test)]
mod damage;
#[cfg(test)]
mod folding;
#[cfg(test)]
mod foreign;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod test_data;
