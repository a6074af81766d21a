//! Types whose values are written otherwise than they were, though no row is.
//!
//! A label of an enum that is renamed, and an attribute of a composite type that is added or dropped, change the text of
//! each value from before; the server writes no row and no log of that. The catalog does not say what a type was; so it is
//! remembered, by a number that its labels or attributes have.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tarn_sdk::Failure;

use crate::peer::{Reads, number, text};

/// Types below this number are the server's own, and stay as they are.
const FIRST_MADE: u32 = 16_384;

/// What the types of mapped columns, and the types within them, were like, by their numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Shapes(BTreeMap<u32, Shape>);

/// What values of a type are written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    /// How many labels or attributes there are.
    parts: u32,
    /// A digest of them, in the order in which they were made.
    digest: u64,
}

/// Whether later parts leave values from before as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Enum,
    Composite,
}

/// Types of columns, by number, each with one that it is or has within.
type Within = BTreeSet<(u32, u32)>;

/// A type that a column has, or has within its own.
#[derive(Debug)]
struct Found {
    sort: Sort,
    name: String,
    parts: Vec<String>,
}

impl Shapes {
    /// Looks at the types of columns, and says of which ones values from before are written otherwise now: by the number of
    /// the column's type, what became of it. Of a type that was not there at the last look nothing is said.
    ///
    /// # Errors
    /// Whatever keeps the server from answering.
    pub(crate) fn look(
        &mut self,
        reads: &mut impl Reads,
        types: impl IntoIterator<Item = u32>,
    ) -> Result<HashMap<u32, Vec<String>>, Failure> {
        let types: BTreeSet<u32> = types.into_iter().filter(|oid| *oid >= FIRST_MADE).collect();
        let (found, within) = if types.is_empty() { Default::default() } else { read(reads, &types)? };
        let mut changed: HashMap<u32, Vec<String>> = HashMap::new();
        for (oid, found) in &found {
            if let Some(cause) = self.0.get(oid).and_then(|before| found.cause(*before)) {
                for (root, _) in within.iter().filter(|(_, inner)| inner == oid) {
                    changed.entry(*root).or_default().push(cause.clone());
                }
            }
        }
        self.0 = found.iter().map(|(oid, found)| (*oid, Shape::of(&found.parts))).collect();
        Ok(changed)
    }

    /// Appends the shapes: how many there are (4 bytes), and each with the type's number (4), how many parts it has (4) and
    /// their digest (8), little-endian.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let count = u32::try_from(self.0.len()).expect("a database has fewer types than numbers for them");
        out.extend_from_slice(&count.to_le_bytes());
        for (oid, shape) in &self.0 {
            out.extend_from_slice(&oid.to_le_bytes());
            out.extend_from_slice(&shape.parts.to_le_bytes());
            out.extend_from_slice(&shape.digest.to_le_bytes());
        }
    }

    /// Reads the shapes, and what follows them.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (count, mut rest) = bytes.split_first_chunk()?;
        let mut shapes = BTreeMap::new();
        for _ in 0..u32::from_le_bytes(*count) {
            let (oid, after) = rest.split_first_chunk()?;
            let (parts, after) = after.split_first_chunk()?;
            let (digest, after) = after.split_first_chunk()?;
            let (parts, digest) = (u32::from_le_bytes(*parts), u64::from_le_bytes(*digest));
            shapes.insert(u32::from_le_bytes(*oid), Shape { parts, digest });
            rest = after;
        }
        Some((Self(shapes), rest))
    }
}

impl Shape {
    /// A 64-bit FNV-1a hash of the parts.
    fn of(parts: &[String]) -> Self {
        let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
        let digest = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self { parts: u32::try_from(parts.len()).unwrap_or(u32::MAX), digest }
    }
}

impl Found {
    /// What became of the type, if values from before are written otherwise now.
    fn cause(&self, before: Shape) -> Option<String> {
        let name = &self.name;
        match self.sort {
            // A label that is added is in no value from before.
            Sort::Enum => {
                let earlier = self.parts.get(..before.parts as usize);
                let is_same = earlier.is_some_and(|earlier| Shape::of(earlier) == before);
                (!is_same).then(|| format!("labels of the enum {name} were renamed"))
            }
            Sort::Composite => (Shape::of(&self.parts) != before)
                .then(|| format!("attributes of the type {name} were added or dropped")),
        }
    }
}

/// The enums and composites among these types and within them, and within which of these types each is.
fn read(reads: &mut impl Reads, types: &BTreeSet<u32>) -> Result<(BTreeMap<u32, Found>, Within), Failure> {
    let types: Vec<String> = types.iter().map(|oid| format!("({oid}::oid)")).collect();
    let rows = reads.read(&format!(
        "WITH RECURSIVE used (root, oid) AS (
           SELECT v.oid, v.oid FROM (VALUES {}) AS v (oid)
           UNION
           SELECT u.root, i.oid
           FROM used AS u JOIN pg_catalog.pg_type AS t ON t.oid = u.oid
           CROSS JOIN LATERAL
             (SELECT t.typbasetype AS oid WHERE t.typtype = 'd'
              UNION ALL SELECT t.typelem WHERE t.typtype = 'b'
              UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range AS r WHERE t.typtype = 'r' AND r.rngtypid = t.oid
              UNION ALL SELECT d.refobjid FROM pg_catalog.pg_depend AS d
                        WHERE t.typtype = 'm' AND d.deptype = 'i' AND d.objid = t.oid AND d.refclassid = d.classid
                          AND d.classid = 'pg_catalog.pg_type'::pg_catalog.regclass
              UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute AS a
                        WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped) AS i
           WHERE i.oid >= {FIRST_MADE}::oid)
         SELECT u.root, t.oid, t.typtype, pg_catalog.format_type(t.oid, NULL), p.part
         FROM used AS u JOIN pg_catalog.pg_type AS t ON t.oid = u.oid
         CROSS JOIN LATERAL
           (SELECT e.oid::bigint AS place, e.enumlabel::text AS part FROM pg_catalog.pg_enum AS e
            WHERE t.typtype = 'e' AND e.enumtypid = t.oid
            UNION ALL
            SELECT a.attnum, CASE WHEN a.attisdropped THEN '' ELSE a.atttypid::text END FROM pg_catalog.pg_attribute AS a
            WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0) AS p
         ORDER BY t.oid, u.root, p.place",
        types.join(", ")
    ))?;
    let mut found: BTreeMap<u32, Found> = BTreeMap::new();
    let mut within = Within::new();
    // A type comes once within each.
    let mut first: HashMap<u32, u32> = HashMap::new();
    for row in &rows {
        let (root, oid): (u32, u32) = (number(row, 0)?, number(row, 1)?);
        within.insert((root, oid));
        if *first.entry(oid).or_insert(root) != root {
            continue;
        }
        let sort = if text(row, 2)? == "e" { Sort::Enum } else { Sort::Composite };
        let name = text(row, 3)?;
        let entry =
            found.entry(oid).or_insert_with(|| Found { sort, name: name.to_owned(), parts: Vec::new() });
        entry.parts.push(text(row, 4)?.to_owned());
    }
    Ok((found, within))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sort: Sort, parts: &[&str]) -> Found {
        let parts = parts.iter().map(|part| (*part).to_owned()).collect();
        Found { sort, name: "x".to_owned(), parts }
    }

    #[test]
    fn labels_that_are_renamed_and_attributes_that_come_or_go_are_told() {
        let is_told = |sort, before: &[&str], now: &[&str]| {
            let before = Shape::of(&found(sort, before).parts);
            found(sort, now).cause(before).is_some()
        };
        for (now, is_other) in [
            (&["a", "b"][..], false),
            (&["a", "b", "c"], false),
            (&["a", "c"], true),
            (&["ab", ""], true),
            (&["a"], true),
        ] {
            assert_eq!(is_told(Sort::Enum, &["a", "b"], now), is_other, "{now:?}");
        }
        for (now, is_other) in [(&["23", "25"][..], false), (&["23", "25", "25"], true), (&["23", ""], true)]
        {
            assert_eq!(is_told(Sort::Composite, &["23", "25"], now), is_other, "{now:?}");
        }
    }

    #[test]
    fn shapes_read_as_they_were_written() {
        let shape = |parts: &[&str]| Shape::of(&found(Sort::Enum, parts).parts);
        let shapes = Shapes([(20_000, shape(&["a"])), (30_000, shape(&[]))].into_iter().collect());
        for shapes in [Shapes::default(), shapes] {
            let mut bytes = Vec::new();
            shapes.write(&mut bytes);
            bytes.push(7);
            assert_eq!(Shapes::read(&bytes), Some((shapes, &[7][..])));
            assert_eq!(Shapes::read(&bytes[..bytes.len() - 2]), None);
        }
    }
}
