//! headroom for programs: a server of the Model Context Protocol with the verbs of the command line as tools.
//!
//! ```text
//! client ── standard input and output ──► server: tools, resources
//!     short questions ──► a headroom that answers at once      long work ──► a job: a headroom with a run folder
//! ```
//!
//! Every job is this program once more with the ordinary command line, so there is one implementation of each verb;
//! [`jobs`] keeps them and their budget, [`tools`] says what a client can ask, [`allowed`] which files it may name. It
//! measures and judges nothing itself, and nothing but the protocol comes to the standard output.

mod again;
mod allowed;
mod answers;
mod arguments;
mod budget;
mod described;
mod job;
mod jobs;
mod resources;
mod server;
mod start;
mod tools;

use std::{io, sync::Arc};

use rmcp::{
    ServiceExt,
    transport::{async_rw::AsyncRwTransport, stdio_pipes},
};
use tokio::{
    runtime::Builder,
    signal::unix::{SignalKind, signal},
};

use self::{allowed::Allowed, budget::Budget, jobs::Jobs, server::Server, start::Starter};
use crate::{
    code_files::SymbolFolders,
    failure::{Failure, Verdict},
    flags,
    options::{Options, absolute},
    run_path::RunPath,
};

/// A longer message is nobody's who asks for a measurement, bytes.
const LONGEST_MESSAGE: usize = 1 << 20;

/// Serves until the client leaves or a signal comes; then nothing of it runs any more.
pub(crate) fn serve(common: &flags::Common, flags: &flags::Mcp) -> Result<Verdict, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| {
        Failure::Environment(format!("cannot serve: the runtime does not start: {error}"))
    })?;
    let ended = runtime.block_on(served(common, flags));
    // A read of the standard input that still waits is no reason to stay.
    runtime.shutdown_background();
    ended.map(|()| Verdict::Pass)
}

async fn served(common: &flags::Common, flags: &flags::Mcp) -> Result<(), Failure> {
    // Removed again at the end where no job was started.
    let folder = RunPath::choose(flags.out.as_ref(), "mcp")?;
    let symbols = SymbolFolders::of(&Options::resolve(common)?, &flags::Symbols::default())?;
    let budget = Budget {
        trials: flags.budget_trials.map(u64::from),
        seconds: flags.budget_seconds.map(f64::from),
    };
    let jobs = Arc::new(Jobs::new(budget, usize::from(flags.at_once), symbols));
    let starter = Starter {
        again: again::Again::new(common)?,
        allowed: Allowed::open(&flags.allow, &flags.tasks)?,
        folder: absolute(folder.to_path_buf()),
        jobs: Arc::clone(&jobs),
    };
    let server = Server(Arc::new(starter));
    let watched = |error| Failure::Environment(format!("cannot watch for signals: {error}"));
    let ended = tokio::select! {
        ended = transported(server) => ended,
        ended = stopped() => ended.map_err(watched),
    };
    jobs.end_all().await;
    ended
}

async fn transported(server: Server) -> Result<(), Failure> {
    let (input, output) = stdio_pipes();
    let transport = AsyncRwTransport::new(input, output).with_max_line_length(LONGEST_MESSAGE);
    // A client that leaves before it said anything is served.
    let Ok(service) = server.serve(transport).await else { return Ok(()) };
    let failed = |error| Failure::Environment(format!("cannot serve the client: {error}"));
    service.waiting().await.map(drop).map_err(failed)
}

/// Waits for a signal that ends the server.
async fn stopped() -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hang_up.recv() => {}
    }
    Ok(())
}
