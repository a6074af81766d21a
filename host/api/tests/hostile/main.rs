//! Ten thousand hostile requests leave the server up, its memory flat, and no secret told. In a process of its
//! own, whose memory can be measured.

#[path = "../api/described.rs"]
mod described;
#[path = "../api/fixture.rs"]
#[expect(dead_code, reason = "the other tests use what these do not")]
mod fixture;
mod requests;
#[path = "../api/shop.rs"]
mod shop;

use std::fs;

use tarn_model::MirrorState;

use fixture::Fixture;
use requests::Requests;

const SEED: u64 = 0x7461_726e;
const ROUNDS: usize = 10_000;

/// After so many requests every route has been called many times, and what is made once is made.
const WARM_ROUNDS: usize = 3_000;

/// What the process may grow by afterwards, in KiB: the catalog's own cache, and noise. A leak of one answer
/// a request would be ten times that.
const GROWTH_KIB_MAX: u64 = 32 * 1024;

/// The process' memory that is there, in KiB.
fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("the kernel tells");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("it tells this too");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

#[tokio::test]
async fn ten_thousand_hostile_requests_leave_the_server_up_its_memory_flat_and_no_secret_told() {
    let fixture = Fixture::new().await.with_peers().await;
    fixture.play_the_shop().await;
    fixture.mirror("m").await;
    fixture.mirror_in("p", MirrorState::Paused).await;
    let mut requests = Requests::new(SEED);
    let (mut taken, mut refused, mut warm_kib) = (0, 0, 0);
    for round in 0..ROUNDS {
        let hostile = requests.next();
        let reply = fixture.call(hostile.method, &hostile.path, hostile.body).await;
        assert!(
            reply.status.as_u16() < 500,
            "seed {SEED:#x}, round {round}: {} {}",
            reply.status,
            reply.text
        );
        *(if reply.status.is_success() { &mut taken } else { &mut refused }) += 1;
        let transcript = std::mem::take(&mut *fixture.transcript.lock().expect("whole"));
        assert!(!transcript.contains("planted"), "seed {SEED:#x}, round {round}: {transcript}");
        if round == WARM_ROUNDS {
            warm_kib = resident_kib();
        }
    }
    assert!(taken > ROUNDS / 20 && refused > ROUNDS / 20, "{taken} taken, {refused} refused: hardly a test");
    let grown_kib = resident_kib().saturating_sub(warm_kib);
    assert!(grown_kib < GROWTH_KIB_MAX, "{grown_kib} KiB more than after {WARM_ROUNDS} requests");
    fixture.get("peers/list").await.ok();
}
