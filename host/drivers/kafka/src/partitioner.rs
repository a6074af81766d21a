//! Which partition a message goes to.

use tarn_batch::Outgoing;

use crate::error::{Error, Trouble};
use crate::murmur::murmur2;

/// How partitions are chosen, by the names that clients of this API send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Partitioner {
    /// By the message's key, or that of its record; what has neither fills one partition after another.
    ByKey,
    /// One partition after another, a call's messages in the same one.
    Sticky,
    /// One partition after another, message by message.
    RoundRobin,
    /// As the message says.
    Manual,
}

impl Partitioner {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "" | "StickyKey" => Self::ByKey,
            "Sticky" | "LeastBackup" => Self::Sticky,
            "RoundRobin" => Self::RoundRobin,
            "Manual" => Self::Manual,
            _ => return None,
        })
    }

    /// The partition of a message among `count`, which is not 0. `turn` counts calls, `at` messages within one.
    pub(crate) fn choose(self, message: &Outgoing<'_>, count: u32, turn: u32, at: u32) -> Result<i32, Error> {
        if let Some(partition) = message.partition {
            let fits = u32::try_from(partition).is_ok_and(|partition| partition < count);
            return fits.then_some(partition).ok_or_else(|| {
                let message = format!("a message asks for partition {partition}, and its topic has {count}");
                Error::new(Trouble::Unfit, message)
            });
        }
        let chosen = match (self, message.key, message.record_key) {
            (Self::Manual, ..) => {
                let message = "a message names no partition, and the peer's partitioner is Manual";
                return Err(Error::new(Trouble::Unfit, message));
            }
            // B206: a hash is a positive number before it is divided.
            (Self::ByKey, Some(key), _) => (murmur2(key) & 0x7fff_ffff) % count,
            (Self::ByKey, None, Some(key)) => (murmur2(key.as_bytes()) & 0x7fff_ffff) % count,
            (Self::ByKey, None, None) | (Self::Sticky, ..) => turn % count,
            (Self::RoundRobin, ..) => turn.wrapping_add(at) % count,
        };
        Ok(i32::try_from(chosen).expect("topics have far fewer partitions"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyed(key: &[u8]) -> Outgoing<'_> {
        Outgoing { key: Some(key), ..Outgoing::default() }
    }

    /// B206: keys whose hash is negative have a partition too, and it is the one that Kafka's producers choose.
    #[test]
    fn every_key_has_a_partition_that_is_there() {
        let by_key = Partitioner::ByKey;
        for key in ["foobar", "21", "a-little-bit-long-string"] {
            assert!(murmur2(key.as_bytes()).cast_signed() < 0, "{key}");
        }
        assert_eq!(by_key.choose(&keyed(b"foobar"), 7, 0, 0), Ok((-790_332_482_i32 & i32::MAX) % 7));
        for number in 0..10_000_u32 {
            let key = number.to_string();
            let partition = by_key.choose(&keyed(key.as_bytes()), 13, number, number).expect("chosen");
            assert!((0..13).contains(&partition), "{key}: {partition}");
            assert_eq!(by_key.choose(&keyed(key.as_bytes()), 13, 0, 0), Ok(partition));
        }
    }

    #[test]
    fn a_message_without_a_key_stays_with_the_others_of_its_record() {
        let of = |key| Outgoing { record_key: Some(key), ..Outgoing::default() };
        let chosen = |turn| Partitioner::ByKey.choose(&of("id=5"), 11, turn, turn);
        assert_eq!(chosen(0), chosen(9));
        assert_ne!(chosen(0), Partitioner::ByKey.choose(&of("id=6"), 11, 0, 0));
    }

    #[test]
    fn a_partition_that_is_not_there_or_not_named_is_the_messages_own_trouble() {
        let message = Outgoing { partition: Some(3), ..Outgoing::default() };
        assert_eq!(Partitioner::Manual.choose(&message, 4, 0, 0), Ok(3));
        let beyond = Partitioner::ByKey.choose(&message, 3, 0, 0).expect_err("it is not there");
        assert_eq!(beyond.trouble, Trouble::Unfit);
        let unnamed = Partitioner::Manual.choose(&keyed(b"k"), 3, 0, 0).expect_err("nobody chose");
        assert_eq!(unnamed.trouble, Trouble::Unfit);
    }
}
