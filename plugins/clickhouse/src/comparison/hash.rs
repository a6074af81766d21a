//! A number for a key.

/// The number of a key in the form that the target holds it in: FNV-1a, mixed so that every bit of it depends
/// on every byte (splitmix64).
pub(super) fn hash(key: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in key {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_same_everywhere_and_spread_evenly() {
        assert_eq!(hash(b""), hash(b""));
        assert_ne!(hash(&1i64.to_le_bytes()), hash(&2i64.to_le_bytes()));
        let below_a_tenth = (0..10_000i64).filter(|id| hash(&id.to_le_bytes()) < u64::MAX / 10).count();
        assert!((900..1_100).contains(&below_a_tenth), "{below_a_tenth}");
    }
}
