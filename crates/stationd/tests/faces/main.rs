//! The faces of the real program, over real sockets, in good weather and bad.
//!
//! stationd runs on a recording of a virtual access point with 38 stations; nothing here needs Wi-Fi.
//! (`cfg(test)` tells clippy that all of this is tests, functions that tests share included.)

#[cfg(test)]
mod confined;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod http;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod listening;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod monitor;
#[cfg(test)]
mod packaging;
#[cfg(test)]
mod program;
#[cfg(test)]
mod rpc;
