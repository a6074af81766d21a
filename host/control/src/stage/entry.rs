//! An entry of a stage as bytes.
//!
//! ```text
//!   "TARNSTG1"  kind: 1 byte  count: u32  { rows: u32  length: u64  bytes } …  CRC-32 of all before: u32
//!   "TARNSTG2"  nonce: 12 bytes  the above, sealed by ChaCha20-Poly1305  tag: 16 bytes
//! ```
//! Numbers are little-endian. The digit counts the form's versions. A sealed entry has a key of its own, and belongs
//! to the mirror and the name it was sealed for: among other entries it does not open.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use tarn_model::Secret;
use tarn_replication::{Batch, Staged};

const MAGIC: &[u8; 8] = b"TARNSTG1";
const SEALED_MAGIC: &[u8; 8] = b"TARNSTG2";
const KEY_BYTES: usize = 32;
const SCHEMA: u8 = 1;
const ROWS: u8 = 2;

/// An entry in the clear.
pub(super) fn clear(staged: &Staged) -> io::Result<Vec<u8>> {
    // The least copying: every batch has some bytes of numbers before it.
    let mut bytes = Vec::with_capacity(usize::try_from(staged.len_bytes()).unwrap_or(0) + 4096);
    encode(staged, &mut bytes)?;
    Ok(bytes)
}

/// An entry sealed for one name, and the key that opens it.
pub(super) fn sealed(staged: &Staged, name: &str) -> io::Result<(Vec<u8>, Secret)> {
    let random = SystemRandom::new();
    let (mut key, mut nonce) = ([0; KEY_BYTES], [0; NONCE_LEN]);
    for bytes in [&mut key[..], &mut nonce[..]] {
        random.fill(bytes).map_err(|_| io::Error::other("the operating system has no random bytes"))?;
    }
    let head = SEALED_MAGIC.len() + NONCE_LEN;
    let mut bytes = Vec::with_capacity(head + usize::try_from(staged.len_bytes()).unwrap_or(0) + 4096);
    bytes.extend_from_slice(SEALED_MAGIC);
    bytes.extend_from_slice(&nonce);
    encode(staged, &mut bytes)?;
    let tag = cipher(&key)
        .and_then(|cipher| {
            let nonce = Nonce::assume_unique_for_key(nonce);
            cipher.seal_in_place_separate_tag(nonce, Aad::from(name.as_bytes()), &mut bytes[head..]).ok()
        })
        .ok_or_else(|| io::Error::other("what waits cannot be sealed"))?;
    bytes.extend_from_slice(tag.as_ref());
    Ok((bytes, Secret::new(STANDARD.encode(key))))
}

/// Reads a sealed entry; `None` of one that is not whole, or not that of the name and the key.
pub(super) fn open(mut bytes: Vec<u8>, name: &str, key: &Secret) -> Option<Staged> {
    let cipher = cipher(&STANDARD.decode(key.expose()).ok()?)?;
    let head = SEALED_MAGIC.len() + NONCE_LEN;
    if bytes.len() < head || !bytes.starts_with(SEALED_MAGIC) {
        return None;
    }
    // Opened where it is: a write is large enough to be held once.
    let (before, body) = bytes.split_at_mut(head);
    let nonce = Nonce::try_assume_unique_for_key(&before[SEALED_MAGIC.len()..]).ok()?;
    let length = cipher.open_in_place(nonce, Aad::from(name.as_bytes()), body).ok()?.len();
    decode(Bytes::from(bytes).slice(head..head + length))
}

/// What tells the bytes of an entry from all others.
pub(super) fn fingerprint(bytes: &[u8]) -> String {
    STANDARD.encode(digest(&SHA256, bytes))
}

fn cipher(key: &[u8]) -> Option<LessSafeKey> {
    UnboundKey::new(&CHACHA20_POLY1305, key).ok().map(LessSafeKey::new)
}

/// Writes an entry.
fn encode(staged: &Staged, out: &mut impl Write) -> io::Result<()> {
    let mut out = Summed { out, sum: crc32fast::Hasher::new() };
    out.write_all(MAGIC)?;
    match staged {
        Staged::Schema(schema) => {
            out.write_all(&[SCHEMA])?;
            out.write_all(&1_u32.to_le_bytes())?;
            part(&mut out, 0, schema)?;
        }
        Staged::Rows(batches) => {
            out.write_all(&[ROWS])?;
            let count = u32::try_from(batches.len()).map_err(io::Error::other)?;
            out.write_all(&count.to_le_bytes())?;
            for batch in batches {
                part(&mut out, batch.rows, &batch.bytes)?;
            }
        }
    }
    let sum = out.sum.finalize();
    out.out.write_all(&sum.to_le_bytes())
}

fn part(out: &mut impl Write, rows: u32, bytes: &[u8]) -> io::Result<()> {
    out.write_all(&rows.to_le_bytes())?;
    out.write_all(&(bytes.len() as u64).to_le_bytes())?;
    out.write_all(bytes)
}

struct Summed<'a, W> {
    out: &'a mut W,
    sum: crc32fast::Hasher,
}

impl<W: Write> Write for Summed<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Reads an entry; `None` of one that is not whole.
pub(super) fn decode(bytes: Bytes) -> Option<Staged> {
    let (content, sum) = bytes.split_last_chunk::<4>()?;
    if crc32fast::hash(content) != u32::from_le_bytes(*sum) {
        return None;
    }
    let mut rest = bytes.slice(..content.len());
    if rest.len() < MAGIC.len() || &*rest.split_to(MAGIC.len()) != MAGIC {
        return None;
    }
    let [kind] = take::<1>(&mut rest)?;
    let count = u32::from_le_bytes(take(&mut rest)?);
    let mut parts = Vec::new();
    for _ in 0..count {
        let rows = u32::from_le_bytes(take(&mut rest)?);
        let length = usize::try_from(u64::from_le_bytes(take(&mut rest)?)).ok()?;
        if rest.len() < length {
            return None;
        }
        parts.push(Batch { bytes: rest.split_to(length), rows });
    }
    match kind {
        SCHEMA => parts.pop().map(|part| Staged::Schema(part.bytes)),
        ROWS => Some(Staged::Rows(parts)),
        _ => None,
    }
    .filter(|_| rest.is_empty())
}

fn take<const N: usize>(rest: &mut Bytes) -> Option<[u8; N]> {
    if rest.len() < N {
        return None;
    }
    rest.split_to(N).as_ref().try_into().ok()
}
