//! What a call has used of its limits.
//!
//! # How run time is measured
//! A guest is charged for the time it runs, not for the time it waits: a source may wait a minute for a
//! change and use a millisecond of it. The engine's epoch interrupts a running guest at every tick, and
//! the meter then adds the time since the guest went on. A host call that waits stops the clock when it
//! begins and starts it when it ends. So a slice is about one tick; one that took much longer was
//! interrupted by the machine, and only [`SLICE_TICKS_MAX`] ticks of it are charged.

use std::time::{Duration, Instant};

use wasmtime::ResourceLimiter;

use crate::config::{EPOCH_TICK, Limits, SLICE_TICKS_MAX, TABLE_ELEMENTS_MAX};

/// A limit that a guest reached. As an error it ends the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LimitReached {
    #[error("it ran longer than {} ms", .0.as_millis())]
    RunTime(Duration),
    #[error("it needs more memory than {} MiB", .0 >> 20)]
    Memory(usize),
    #[error("it needs a table of more than {0} elements")]
    Table(usize),
    #[error("it made more than {0} host calls")]
    HostCalls(u64),
    #[error("it handed over more than {0} bytes at once")]
    Output(usize),
    #[error("its calls nest too deeply")]
    Stack,
}

impl LimitReached {
    /// The stable name of the failure.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::RunTime(_) => "plugin_run_time_limit",
            Self::Memory(_) => "plugin_memory_limit",
            Self::Table(_) => "plugin_table_limit",
            Self::HostCalls(_) => "plugin_host_call_limit",
            Self::Output(_) => "plugin_output_limit",
            Self::Stack => "plugin_stack_limit",
        }
    }

    /// What a person does about it.
    pub(crate) fn hint(self) -> &'static str {
        match self {
            Self::RunTime(_) => "look for a loop that does not end, or make batches smaller",
            Self::Memory(_) => "look for what it keeps from batch to batch, or make batches smaller",
            Self::Output(_) => "make batches smaller; a single row must fit too",
            Self::Stack => "look for a function that calls itself without end",
            Self::HostCalls(_) => "look for a loop that asks the host in each turn, or make batches smaller",
            Self::Table(_) => "report it to whoever wrote it",
        }
    }
}

/// The meter of one instance.
#[derive(Debug)]
pub(crate) struct Meter {
    limits: Limits,
    /// What this call ran before `running_since`.
    run_time: Duration,
    running_since: Instant,
    host_calls: u64,
    /// All memories of the instance together.
    memory_bytes: usize,
}

impl Meter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            run_time: Duration::ZERO,
            running_since: Instant::now(),
            host_calls: 0,
            memory_bytes: 0,
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Begins a call: memory stays with the instance, all else starts anew.
    pub(crate) fn begin_call(&mut self) {
        self.run_time = Duration::ZERO;
        self.host_calls = 0;
        self.running_since = Instant::now();
    }

    /// An epoch has passed while the guest ran.
    pub(crate) fn tick(&mut self) -> Result<(), LimitReached> {
        self.charge(Instant::now());
        if self.run_time > self.limits.run_time_max {
            return Err(LimitReached::RunTime(self.limits.run_time_max));
        }
        Ok(())
    }

    /// Counts a host call that does not wait: its time is the guest's.
    pub(crate) fn count_host_call(&mut self) -> Result<(), LimitReached> {
        self.host_calls += 1;
        if self.host_calls > self.limits.host_calls_max {
            return Err(LimitReached::HostCalls(self.limits.host_calls_max));
        }
        Ok(())
    }

    /// Counts a host call that waits, and stops the guest's clock.
    pub(crate) fn enter_host(&mut self) -> Result<(), LimitReached> {
        self.charge(Instant::now());
        self.count_host_call()
    }

    /// Starts the guest's clock again.
    pub(crate) fn leave_host(&mut self) {
        self.running_since = Instant::now();
    }

    fn charge(&mut self, now: Instant) {
        let slice = now.saturating_duration_since(self.running_since);
        self.run_time += slice.min(EPOCH_TICK * SLICE_TICKS_MAX);
        self.running_since = now;
    }
}

impl ResourceLimiter for Meter {
    /// Refuses by an error: a failed growth could be caught by the guest, which would go on as if its
    /// limit were no concern of the mirror's.
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let memory_bytes = self.memory_bytes.saturating_sub(current).saturating_add(desired);
        if memory_bytes > self.limits.memory_bytes_max {
            return Err(LimitReached::Memory(self.limits.memory_bytes_max).into());
        }
        self.memory_bytes = memory_bytes;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if desired > TABLE_ELEMENTS_MAX {
            return Err(LimitReached::Table(TABLE_ELEMENTS_MAX).into());
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(run_time_max: Duration) -> Meter {
        Meter::new(Limits { run_time_max, host_calls_max: 3, memory_bytes_max: 100, ..Limits::connector() })
    }

    #[test]
    fn a_slice_is_charged_for_two_ticks_at_most() {
        let mut meter = meter(Duration::from_secs(1));
        let began = meter.running_since;
        meter.charge(began + EPOCH_TICK);
        assert_eq!(meter.run_time, EPOCH_TICK);
        meter.charge(began + EPOCH_TICK + Duration::from_secs(60));
        assert_eq!(meter.run_time, EPOCH_TICK * 3);
    }

    #[test]
    fn slices_between_host_calls_add_up() {
        let mut meter = meter(Duration::from_secs(1));
        let mut now = meter.running_since;
        for _ in 0..10 {
            now += EPOCH_TICK / 2;
            meter.charge(now);
            // A host call of an hour.
            now += Duration::from_secs(3600);
            meter.running_since = now;
        }
        assert_eq!(meter.run_time, EPOCH_TICK * 5);
    }

    #[test]
    fn run_time_starts_anew_with_each_call() {
        let mut meter = meter(EPOCH_TICK);
        meter.run_time = EPOCH_TICK * 2;
        assert_eq!(meter.tick(), Err(LimitReached::RunTime(EPOCH_TICK)));
        meter.begin_call();
        assert_eq!(meter.tick(), Ok(()));
    }

    #[test]
    fn host_calls_are_counted_in_a_call() {
        let mut meter = meter(Duration::from_secs(1));
        for _ in 0..3 {
            assert_eq!(meter.enter_host(), Ok(()));
        }
        assert_eq!(meter.count_host_call(), Err(LimitReached::HostCalls(3)));
        meter.begin_call();
        assert_eq!(meter.count_host_call(), Ok(()));
    }

    #[test]
    fn memories_are_added_up() {
        let mut meter = meter(Duration::from_secs(1));
        assert!(meter.memory_growing(0, 60, None).expect("within"));
        assert!(meter.memory_growing(0, 40, None).expect("within"));
        let error = meter.memory_growing(40, 41, None).expect_err("over");
        assert_eq!(error.downcast_ref(), Some(&LimitReached::Memory(100)));
        assert!(meter.memory_growing(40, 40, None).expect("unchanged"));
    }
}
