//! Every bound of the sandbox, each with its reason.

use std::path::PathBuf;
use std::time::Duration;

/// How the sandbox is set up for a whole process.
#[derive(Clone, Debug)]
pub struct RuntimeConfig {
    /// Where compiled components are kept between starts, a folder of the service's own; `None` compiles
    /// anew at each load. Whoever can write there decides what code this process runs.
    pub cache_dir: Option<PathBuf>,
    /// Where instances of sources put bytes aside, a folder of the service's own; `None` gives them no room.
    pub spool_dir: Option<PathBuf>,
    /// Instances that live at the same time. Each reserves 4 GiB of address space (not memory), so that
    /// compiled code needs no bounds checks.
    pub instances_max: u32,
}

impl Default for RuntimeConfig {
    /// No cache, and room for a hundred mirrors with a handful of workers each.
    fn default() -> Self {
        Self { cache_dir: None, spool_dir: None, instances_max: 512 }
    }
}

/// The bounds of one call into a guest. Each ends the call with a failure that names it, and the instance
/// with the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time that the guest itself runs. Waiting for a host call is not counted: how long a store may take
    /// is the driver's to bound.
    pub run_time_max: Duration,
    /// Linear memory of the instance, all its memories together.
    pub memory_bytes_max: usize,
    /// Bytes that the guest hands to the host at once: what a function returns, or the arguments of one
    /// host call.
    pub output_bytes_max: usize,
    /// Host calls of one call.
    pub host_calls_max: u64,
    /// Lines of one call that go to the log; more are counted, and the count is logged.
    pub log_lines_max: u32,
}

impl Limits {
    /// For sources and destinations.
    pub fn connector() -> Self {
        Self {
            // A batch is decoded in some hundredths of a second; a thousand times that is a loop.
            run_time_max: Duration::from_secs(30),
            // The largest row, 128 MiB, as it came, as it is written, and as it grew on the way.
            memory_bytes_max: 512 << 20,
            // The largest row that can be moved.
            output_bytes_max: 128 << 20,
            // A call makes a few; a flood must end before the call does harm to the store.
            host_calls_max: 100_000,
            // Enough to tell what happened, too few to fill a disk: a mirror makes some calls a second.
            log_lines_max: 200,
        }
    }

    /// For scripts. They may ask for the time once or twice a row.
    pub fn script() -> Self {
        Self {
            run_time_max: Duration::from_secs(10),
            memory_bytes_max: 384 << 20,
            host_calls_max: 1_000_000,
            log_lines_max: 1_000,
            ..Self::connector()
        }
    }
}

/// Time between two epochs: how exactly run time is cut off, and how long a guest keeps a thread before
/// other tasks have their turn.
pub(crate) const EPOCH_TICK: Duration = Duration::from_millis(10);

/// Most time charged for one slice between two looks at the clock, in ticks. A slice lasts one tick; what
/// it took longer the thread was not running (the machine was busy), which is not the guest's doing.
pub(crate) const SLICE_TICKS_MAX: u32 = 2;

/// Stack of a guest. The Lua runtime recurses in C, about 200 levels of some hundred bytes.
pub(crate) const GUEST_STACK_BYTES: usize = 1 << 20;

/// Stack that guest and host functions share. Host calls poll drivers and TLS on it: they have the half.
pub(crate) const ASYNC_STACK_BYTES: usize = 2 << 20;

/// Largest memory that any limit can allow: a bound of the pool.
pub(crate) const POOL_MEMORY_BYTES_MAX: usize = 1 << 30;

/// Core instances, memories and tables a component instance: a componentized module has up to four of the
/// first (module, shim, fixup, and one in reserve).
pub(crate) const CORE_INSTANCES_PER_COMPONENT: u32 = 4;

/// Elements of a table: function pointers of a guest; the Lua runtime has about a thousand.
pub(crate) const TABLE_ELEMENTS_MAX: usize = 50_000;

/// Resources that an instance holds open at the same time: sessions with a store, and inserts. A source has
/// two, a worker one, a destination four.
pub(crate) const HANDLES_OPEN_MAX: usize = 8;

/// Handles that wasmtime tracks for an instance: of the resources above.
pub(crate) const HANDLES_MAX: usize = 64;

/// Bytes that an instance may put aside: a transaction of some thirty million rows, and what a machine can usually
/// spare. A source that finds no room does without.
pub(crate) const SPOOL_BYTES_MAX: u64 = 8 << 30;

/// Files of one instance: each is an open one of the process, which may have thousands.
pub(crate) const SPOOL_FILES_MAX: usize = 128;

/// Bytes that one read of what was put aside gives: they are in the host's memory, whatever the guest asks for.
pub(crate) const SPOOL_READ_BYTES_MAX: usize = 4 << 20;

/// Bytes of one log line; longer ones are cut (wit/v0.1/capabilities.wit promises it).
pub(crate) const LOG_LINE_BYTES_MAX: usize = 8 << 10;

/// Lines of the log that a trap quotes: what a person needs to see what the guest was at.
pub(crate) const LOG_TAIL_LINES: usize = 5;

/// Bytes of one line in that quotation: a failure's message is one line of a log itself.
pub(crate) const LOG_TAIL_LINE_BYTES_MAX: usize = 500;

/// Bytes of the message about one rejected record, and of the function's name: a batch may be rejected record by
/// record, and people read the message in one line.
pub(crate) const REJECTION_MESSAGE_BYTES_MAX: usize = 2 << 10;

/// Guest functions that a trap names, innermost first.
pub(crate) const TRAP_FRAMES: usize = 4;

/// Largest component or module that is taken: a runtime with everything linked in has a few megabytes.
pub(crate) const COMPONENT_BYTES_MAX: usize = 64 << 20;

/// Compiled components kept in the cache folder, of one to five megabytes each; the longest unused go first.
/// A component that a mirror needs and that is gone is compiled again at the next start, which takes a second.
pub(crate) const CACHE_BYTES_MAX: u64 = 512 << 20;
