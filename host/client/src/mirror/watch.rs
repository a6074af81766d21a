//! Following a mirror: a live view on a terminal, lines of what changes elsewhere, JSON for programs.

mod frame;
mod lines;
mod look;

use std::time::Duration;

use clap::{Args, ValueEnum};
use console::Term;
use tarn_model::MirrorState;
use tokio::time::{Instant, sleep};

use self::look::{Look, Looker};
use crate::calls::state_name;
use crate::config::{FAILED_LOOKS_MAX, WATCH_INTERVAL_SECONDS};
use crate::error::Error;
use crate::http::Client;
use crate::output::{Reader, Report, print, remark};

/// What is followed, and until when.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// The mirror.
    name: String,
    /// End when the mirror is in this state. It ends by itself when the mirror completes, fails or is dropped.
    #[arg(long, value_name = "STATE")]
    until: Option<Until>,
    /// Give up after so many seconds, with exit code 1.
    #[arg(long, value_name = "SECONDS", requires = "until")]
    timeout: Option<u64>,
    /// Seconds between two looks.
    #[arg(long, value_name = "SECONDS", default_value_t = WATCH_INTERVAL_SECONDS, value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: u64,
}

/// A state to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Until {
    /// Streaming changes.
    Running,
    /// At rest.
    Paused,
    /// Loaded, with nothing to stream.
    Completed,
    /// Dropped.
    Terminated,
    /// Stopped by a failure.
    Failed,
}

impl Until {
    fn state(self) -> MirrorState {
        match self {
            Self::Running => MirrorState::Running,
            Self::Paused => MirrorState::Paused,
            Self::Completed => MirrorState::Completed,
            Self::Terminated => MirrorState::Terminated,
            Self::Failed => MirrorState::Failed,
        }
    }
}

impl WatchArgs {
    /// Follows a mirror that was just created until it streams.
    pub(super) fn until_running(name: String) -> Self {
        Self { name, until: Some(Until::Running), timeout: None, interval: WATCH_INTERVAL_SECONDS }
    }

    pub(super) async fn run(self, client: &Client, reader: Reader) -> Result<Report, Error> {
        let begun = Instant::now();
        let mut looker = Looker::new(client, &self.name);
        let mut screen = Screen::new(reader);
        let mut before = None;
        let mut failed = 0;
        loop {
            match looker.look().await {
                Ok(look) => {
                    failed = 0;
                    screen.show(before.as_ref(), &look)?;
                    if let Some(end) = self.end(look.state) {
                        return end;
                    }
                    before = Some(look);
                }
                // A server that is started again is waited for.
                Err(error) if error.is_passing() && before.is_some() && failed < FAILED_LOOKS_MAX => {
                    failed += 1;
                    screen.remark(&error.to_string())?;
                }
                Err(error) => return Err(error),
            }
            if self.timeout.is_some_and(|seconds| begun.elapsed() >= Duration::from_secs(seconds)) {
                let wanted = self.until.map_or("", |until| state_name(until.state()));
                let state = before.map_or("unknown", |look| state_name(look.state));
                return Err(Error::Failed(format!(
                    "mirror {} is {state} and not {wanted} in time",
                    self.name
                )));
            }
            sleep(Duration::from_secs(self.interval)).await;
        }
    }

    /// How following ends in a state, if it does.
    fn end(&self, state: MirrorState) -> Option<Result<Report, Error>> {
        use MirrorState::{Completed, Failed, Terminated};
        let good = || Some(Ok(Report::nothing()));
        match (self.until.map(Until::state), state) {
            (Some(wanted), state) if wanted == state => good(),
            // Loaded, and so streaming as much as it ever will.
            (None | Some(MirrorState::Running), Completed) => good(),
            (None, Terminated) => good(),
            (_, Failed | Completed | Terminated) => Some(Err(Error::Failed(format!(
                "mirror {} is {}; `tarn logs {}` says why",
                self.name,
                state_name(state),
                self.name
            )))),
            _ => None,
        }
    }
}

/// Where looks are shown.
enum Screen {
    /// Drawn anew each time over the last.
    Terminal { terminal: Term, lines: usize },
    /// One line a change.
    Lines,
    /// One JSON object a look.
    Programs,
}

impl Screen {
    fn new(reader: Reader) -> Self {
        let terminal = Term::stdout();
        match reader {
            Reader::Programs => Self::Programs,
            Reader::People if terminal.is_term() => Self::Terminal { terminal, lines: 0 },
            Reader::People => Self::Lines,
        }
    }

    fn show(&mut self, before: Option<&Look>, look: &Look) -> Result<(), Error> {
        match self {
            Self::Programs => print(&format!("{}\n", look.for_programs())),
            Self::Lines => print(&lines::changes(before, look)),
            Self::Terminal { terminal, lines } => {
                let (height, width) = terminal.size();
                let mut frame = frame::frame(look, usize::from(width));
                // What does not fit could not be drawn over.
                frame.truncate(usize::from(height).saturating_sub(1).max(1));
                terminal.clear_last_lines(*lines)?;
                *lines = frame.len();
                terminal.write_line(&frame.join("\n"))?;
                Ok(())
            }
        }
    }

    fn remark(&mut self, text: &str) -> Result<(), Error> {
        if let Self::Terminal { terminal, lines } = self {
            terminal.clear_last_lines(*lines)?;
            *lines = 0;
        }
        remark(text);
        Ok(())
    }
}
