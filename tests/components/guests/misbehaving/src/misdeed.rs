//! What a guest must not do.

use std::hint::black_box;

use tarn_sdk::{Failure, clickhouse, clock, log};

/// Does what the name says. What returns at all returns bytes that are no batch.
pub(crate) fn commit(misdeed: &str) -> Result<Vec<u8>, Failure> {
    match misdeed {
        "loop" => endless_loop(),
        "recursion" => Ok(vec![recursion(1)]),
        "allocation" => Ok(black_box(vec![1; 1 << 30])),
        "growth" => Ok(growth()),
        "output" => Ok(vec![1; 16 << 20]),
        "log-flood" => log_flood(100_000),
        "log-flood-endless" => log_flood(u64::MAX),
        "host-call-flood" => host_call_flood(),
        "panic" => panic!("the ninth bit is not set"),
        "trap" => Ok(out_of_bounds()),
        "waiting" => waiting(),
        "working-and-waiting" => working_and_waiting(),
        unknown => Err(Failure::permanent("unknown_misdeed", unknown)),
    }
}

fn endless_loop() -> ! {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

#[expect(unconditional_recursion, reason = "it is the misdeed")]
fn recursion(depth: u64) -> u8 {
    let frame = black_box([depth; 4]);
    recursion(frame[0] + 1).wrapping_add(black_box(frame)[1] as u8)
}

/// Grows memory page by page and goes on when it cannot.
fn growth() -> Vec<u8> {
    #[cfg(target_family = "wasm")]
    for _ in 0..65_536 {
        core::arch::wasm32::memory_grow::<0>(1);
    }
    b"went on without memory".to_vec()
}

fn log_flood(lines: u64) -> Result<Vec<u8>, Failure> {
    for line in 0..lines {
        log::info(&format!("line {line}"));
    }
    Err(Failure::permanent("flooded", "all lines written"))
}

fn host_call_flood() -> ! {
    loop {
        black_box(clock::monotonic());
    }
}

/// Reads past the end of its memory, as a fault in C code would.
#[expect(unsafe_code, reason = "it is the misdeed")]
fn out_of_bounds() -> Vec<u8> {
    let wild = black_box(0xffff_fff0_usize) as *const u8;
    // SAFETY: none. In the sandbox it traps.
    vec![unsafe { wild.read_volatile() }]
}

/// Waits for the store.
fn waiting() -> Result<Vec<u8>, Failure> {
    clickhouse::query("SELECT 1")?;
    Err(Failure::permanent("waited", "the store answered"))
}

/// Runs for half a millisecond between short host calls, for ever.
fn working_and_waiting() -> Result<Vec<u8>, Failure> {
    loop {
        let began = clock::monotonic();
        while clock::monotonic() < began + 500 {}
        clickhouse::query("SELECT 1")?;
    }
}
