//! How often an address may fail to log in.
//!
//! Each failure counts for a while and is then forgiven; an address with too many of them waits until the
//! first is, and nothing it presents meanwhile is looked at, not even the right password: else the answer
//! would tell which guess was right. What is kept of an address is one moment, and of a bounded number of
//! addresses: when there are more, the one that is forgiven first makes room.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::config::{ADDRESSES_MAX, Limits};

/// Bits of an IPv6 address that one customer shares.
const PREFIX_BITS: u32 = 64;

/// The failures of all addresses.
pub(crate) struct Throttle {
    failures_max: u32,
    forgiven_after: Duration,
    /// When an address has no failure left. Each failure moves it on by `forgiven_after`.
    addresses: Mutex<HashMap<IpAddr, Instant>>,
}

/// An address that has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait(Duration);

impl Wait {
    /// Whole seconds, rounded up.
    pub(crate) fn seconds(self) -> u64 {
        self.0.as_secs() + u64::from(self.0.subsec_nanos() > 0)
    }
}

impl Throttle {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            failures_max: limits.failed_logins_max,
            forgiven_after: limits.failed_login_forgiven,
            addresses: Mutex::default(),
        }
    }

    /// Whether an address may try.
    ///
    /// # Errors
    /// How long it has to wait.
    pub(crate) fn admit(&self, address: IpAddr, now: Instant) -> Result<(), Wait> {
        let addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(forgiven) = addresses.get(&customer(address)) else { return Ok(()) };
        let owed = forgiven.saturating_duration_since(now);
        let room = self.forgiven_after * self.failures_max.saturating_sub(1);
        if owed <= room { Ok(()) } else { Err(Wait(owed - room)) }
    }

    /// Notes a failure. Says whether it was the one after which the address has to wait.
    pub(crate) fn note_failure(&self, address: IpAddr, now: Instant) -> bool {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        let customer = customer(address);
        if addresses.len() >= ADDRESSES_MAX && !addresses.contains_key(&customer) {
            make_room(&mut addresses, now);
        }
        let forgiven = addresses.entry(customer).or_insert(now);
        *forgiven = (*forgiven).max(now) + self.forgiven_after;
        let owed = *forgiven - now;
        let room = self.forgiven_after * self.failures_max.saturating_sub(1);
        owed > room && owed - self.forgiven_after <= room
    }

    #[cfg(test)]
    fn remembered(&self) -> usize {
        self.addresses.lock().expect("whole").len()
    }
}

/// Drops who is forgiven; if nobody is, who will be first.
fn make_room(addresses: &mut HashMap<IpAddr, Instant>, now: Instant) {
    addresses.retain(|_, forgiven| *forgiven > now);
    if addresses.len() < ADDRESSES_MAX {
        return;
    }
    let first = addresses.iter().min_by_key(|(_, forgiven)| **forgiven).map(|(address, _)| *address);
    if let Some(first) = first {
        addresses.remove(&first);
    }
}

/// The part of an address that stands for who is behind it.
fn customer(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let prefix = u128::from(address) >> (128 - PREFIX_BITS) << (128 - PREFIX_BITS);
            IpAddr::V6(Ipv6Addr::from(prefix))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn throttle() -> Throttle {
        Throttle::new(&Limits {
            failed_logins_max: 3,
            failed_login_forgiven: 10 * SECOND,
            ..Limits::default()
        })
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[tokio::test]
    async fn an_address_waits_after_its_last_try_and_one_is_forgiven_at_a_time() {
        let (throttle, start, who) = (throttle(), Instant::now(), address("127.0.0.1"));
        assert_eq!(
            [0, 1, 2].map(|_| (throttle.admit(who, start).is_ok(), throttle.note_failure(who, start))),
            [(true, false), (true, false), (true, true)]
        );
        assert_eq!(throttle.admit(who, start), Err(Wait(10 * SECOND)));
        let soon = start + 9 * SECOND + SECOND / 2;
        assert_eq!(throttle.admit(who, soon).expect_err("not yet").seconds(), 1);
        let later = start + 10 * SECOND;
        assert!(throttle.admit(who, later).is_ok());
        assert!(throttle.note_failure(who, later), "it had one try");
        assert!(throttle.admit(who, later).is_err());
        assert!(throttle.admit(who, start + 100 * SECOND).is_ok());
    }

    #[tokio::test]
    async fn one_address_does_not_pay_for_another() {
        let (throttle, now) = (throttle(), Instant::now());
        for _ in 0..5 {
            throttle.note_failure(address("192.0.2.1"), now);
            throttle.note_failure(address("2001:db8:1:2::1"), now);
        }
        for free in ["192.0.2.2", "2001:db8:1:3::1", "::1"] {
            assert!(throttle.admit(address(free), now).is_ok(), "{free}");
        }
        for same in ["192.0.2.1", "::ffff:192.0.2.1", "2001:db8:1:2:ffff::9"] {
            assert!(throttle.admit(address(same), now).is_err(), "{same}");
        }
    }

    #[tokio::test]
    async fn many_addresses_neither_fill_the_memory_nor_free_who_waits() {
        let (throttle, start) = (throttle(), Instant::now());
        let who = address("192.0.2.1");
        for _ in 0..3 {
            throttle.note_failure(who, start);
        }
        for number in 0..20_000_u32 {
            throttle.note_failure(IpAddr::V4((0x0a00_0000 + number).into()), start);
        }
        assert_eq!(throttle.remembered(), ADDRESSES_MAX);
        assert!(throttle.admit(who, start).is_err());
        throttle.note_failure(address("192.0.2.9"), start + 1000 * SECOND);
        assert_eq!(throttle.remembered(), 1, "who is forgiven is forgotten");
    }
}
