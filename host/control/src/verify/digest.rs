//! What keys add up to, so that two sets of them can be compared without holding either.

use crate::config::VERIFY_BUCKETS;

/// Sums of the numbers of keys, by the numbers' first bits. Equal sets have equal sums; sets that differ in few
/// keys differ in few buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Digest(Vec<u64>);

impl Digest {
    pub(super) fn new() -> Self {
        Self(vec![0; VERIFY_BUCKETS])
    }

    /// Adds a key. The number is mixed once more: a sum of plain numbers would hide two keys for two others.
    pub(super) fn add(&mut self, hash: u64) {
        let mixed = (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bucket = &mut self.0[bucket(hash)];
        *bucket = bucket.wrapping_add(mixed ^ (mixed >> 32));
    }

    /// The buckets in which two sets differ.
    pub(super) fn differing(&self, other: &Self) -> Buckets {
        Buckets(self.0.iter().zip(&other.0).map(|(one, other)| one != other).collect())
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|sum| sum.to_le_bytes()).collect()
    }

    /// The digest of these bytes; `None` where they are of another number of buckets.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (sums, rest) = bytes.as_chunks::<8>();
        let sums: Vec<u64> = sums.iter().map(|sum| u64::from_le_bytes(*sum)).collect();
        (rest.is_empty() && sums.len() == VERIFY_BUCKETS).then_some(Self(sums))
    }
}

/// Some of the buckets.
#[derive(Clone, Debug)]
pub(super) struct Buckets(Vec<bool>);

impl Buckets {
    pub(super) fn is_empty(&self) -> bool {
        !self.0.contains(&true)
    }

    /// Whether a key is in one of them.
    pub(super) fn have(&self, hash: u64) -> bool {
        self.0[bucket(hash)]
    }
}

/// The bucket of a key, by bits that a sample does not look at first.
fn bucket(hash: u64) -> usize {
    usize::try_from(hash % VERIFY_BUCKETS as u64).expect("there are few buckets")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(hashes: impl IntoIterator<Item = u64>) -> Digest {
        let mut digest = Digest::new();
        for hash in hashes {
            digest.add(hash);
        }
        digest
    }

    #[test]
    fn equal_sets_have_equal_digests_in_any_order() {
        assert!(of(0..50_000).differing(&of((0..50_000).rev())).is_empty());
    }

    #[test]
    fn a_key_more_is_seen_in_its_bucket_alone() {
        let differing = of(0..50_000).differing(&of((0..50_000).chain([77_777])));
        assert!(differing.have(77_777));
        assert_eq!(differing.0.iter().filter(|differs| **differs).count(), 1);
        // Two keys are not taken for two others with the same sum.
        let buckets = VERIFY_BUCKETS as u64;
        let (one, other) = ([buckets, 4 * buckets], [2 * buckets, 3 * buckets]);
        assert!(of(one).differing(&of(other)).have(0));
    }

    #[test]
    fn a_digest_is_read_as_it_was_written() {
        let digest = of(0..1_000);
        assert_eq!(Digest::from_bytes(&digest.to_bytes()), Some(digest));
        assert_eq!(Digest::from_bytes(&[0; 8]), None);
        assert_eq!(Digest::from_bytes(&[0; 9]), None);
    }
}
