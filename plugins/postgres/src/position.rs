//! Where the stream restarts.
//!
//! The server sends whole transactions in the order of their commits, so a place between two of them is
//! one number, the end of the last commit record. A batch may be cut inside a transaction; the place is
//! then still the end of the transaction before, with the one that was begun (by the place of its commit
//! record) and how many of its rows were delivered. Started from there, the server sends that
//! transaction again from its first row, in the same order, and exactly that many rows are passed over.
//! Rows are counted as the server sends them, mapped or not, so the count holds when the settings change. Messages
//! of the log are counted by themselves, since the server sends them only where a script wants them.
//!
//! The system identifier and the timeline tell the cluster ([`crate::cluster`]). Marks tell what the
//! tables were like, for what became of them since.

use tarn_sdk::Failure;

use crate::cluster::Cluster;
use crate::lsn::Lsn;
use crate::mark::Marks;

/// The form of version 9: a byte 9, then the system identifier, the end, the begun transaction's commit, the rows
/// of it and the messages of it, where the last transaction ended, where the last one with rows ended, and when it
/// was committed, eight bytes each, little-endian, the timeline in four, then the [marks](Marks::write). No transaction
/// is begun where its commit is 0, and none with rows is known where its end is.
const VERSION: u8 = 9;

/// Bytes before the marks.
const HEAD_BYTES: usize = 1 + 8 * 8 + 4;

/// The form of version 8: the same with marks that say nothing of partitions, of primary keys, of columns' names, of how their values are
/// written, and of columns that are stored by now or left out.
const VERSION_WITHOUT_STORED: u8 = 8;

/// The form of version 7: with marks that say nothing of types, too.
const VERSION_WITHOUT_SHAPES: u8 = 7;

/// The form of version 6: without what came before the end, too.
const VERSION_WITHOUT_PAST: u8 = 6;

/// The form of version 5: with marks that say nothing of sorts of columns, too.
const VERSION_WITHOUT_SORTS: u8 = 5;

/// The form of version 4: with marks of which none is read again, too.
const VERSION_WITHOUT_AGAIN: u8 = 4;

/// The form of version 3: without entries, too.
const VERSION_WITHOUT_ENTRIES: u8 = 3;

/// The form of version 2: without messages and timeline, too.
const VERSION_WITHOUT_TIMELINE: u8 = 2;

/// The form of version 1: without marks, too.
const VERSION_WITHOUT_MARKS: u8 = 1;

/// A place in the stream, and what the tables were like there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) place: Place,
    pub(crate) marks: Marks,
}

/// A place in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The cluster, and the timeline that it was on.
    pub(crate) cluster: Cluster,
    /// The end of the last complete transaction.
    pub(crate) end: Lsn,
    /// The transaction that was begun.
    pub(crate) partial: Option<Partial>,
    pub(crate) past: Past,
}

/// What came before a place. A server of another history does not have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Past {
    /// The end of the last transaction that came: from there to the place nothing was delivered.
    pub(crate) end: Lsn,
    /// The last transaction with rows of a mapped table, if it is known.
    pub(crate) last: Option<Last>,
}

/// A transaction that was delivered whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Last {
    /// The end of its commit record.
    pub(crate) end: Lsn,
    pub(crate) commit_time_us: i64,
}

/// A transaction of which a part was delivered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Partial {
    /// Its commit record.
    pub(crate) commit: Lsn,
    /// The rows of it that were delivered.
    pub(crate) rows: u64,
    /// The messages of the log in it that were delivered.
    pub(crate) messages: u64,
}

impl Partial {
    /// Whether anything of it was delivered.
    pub(crate) fn is_begun(&self) -> bool {
        self.rows > 0 || self.messages > 0
    }
}

impl Place {
    /// Everything delivered is before this number.
    pub(crate) fn sequence(&self) -> Lsn {
        self.partial.map_or(self.end, |partial| partial.commit.max(self.end))
    }

    /// The position of this place with marks that are [written](Marks::write) already: those of thousands of tables are
    /// mostly the same from one position to the next.
    pub(crate) fn to_bytes_with(self, marks: &[u8]) -> Vec<u8> {
        let Partial { commit, rows, messages } = self.partial.unwrap_or_default();
        let Past { end: past, last } = self.past;
        let (last, time) = last.map_or((0, 0), |last| (last.end.0, last.commit_time_us.cast_unsigned()));
        let mut bytes = Vec::with_capacity(HEAD_BYTES + marks.len());
        bytes.push(VERSION);
        for number in [self.cluster.system, self.end.0, commit.0, rows, messages, past.0, last, time] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.cluster.timeline.to_le_bytes());
        debug_assert_eq!(bytes.len(), HEAD_BYTES, "the head has one length");
        bytes.extend_from_slice(marks);
        bytes
    }

    /// The place of a position; its marks are not read.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Failure> {
        Self::read(bytes).map(|(place, ..)| place).ok_or_else(unreadable)
    }

    /// The place, the version of the form, and the bytes of the marks.
    fn read(bytes: &[u8]) -> Option<(Self, u8, &[u8])> {
        let (version, rest) = bytes.split_first()?;
        let (numbers, rest) = rest.split_first_chunk::<{ 4 * 8 }>()?;
        let (messages, rest) = match *version {
            VERSION_WITHOUT_TIMELINE | VERSION_WITHOUT_MARKS => ([0; 8], rest),
            VERSION_WITHOUT_ENTRIES..=VERSION => {
                let (messages, rest) = rest.split_first_chunk()?;
                (*messages, rest)
            }
            _ => return None,
        };
        let (past, rest) = match *version {
            VERSION_WITHOUT_SHAPES..=VERSION => {
                rest.split_first_chunk().map(|(past, rest)| (Some(*past), rest))?
            }
            _ => (None, rest),
        };
        let (timeline, marks) = match *version {
            VERSION_WITHOUT_TIMELINE | VERSION_WITHOUT_MARKS => (0, rest),
            _ => rest.split_first_chunk().map(|(timeline, rest)| (u32::from_le_bytes(*timeline), rest))?,
        };
        let [system, end, commit, rows] = eights(numbers);
        let partial = (commit != 0).then_some(Partial {
            commit: Lsn(commit),
            rows,
            messages: u64::from_le_bytes(messages),
        });
        let past = past.as_ref().map_or(Past { end: Lsn(end), last: None }, |past: &[u8; 3 * 8]| {
            let [past, last, time] = eights(past);
            let last = (last != 0).then_some(Last { end: Lsn(last), commit_time_us: time.cast_signed() });
            Past { end: Lsn(past), last }
        });
        let cluster = Cluster { system, timeline };
        Some((Self { cluster, end: Lsn(end), partial, past }, *version, marks))
    }
}

/// Little-endian numbers of eight bytes.
fn eights<const COUNT: usize>(bytes: &[u8]) -> [u64; COUNT] {
    let (numbers, _) = bytes.as_chunks();
    std::array::from_fn(|at| u64::from_le_bytes(numbers[at]))
}

impl Position {
    /// A place between two transactions, of which nothing before is known.
    pub(crate) fn between(cluster: Cluster, end: Lsn) -> Self {
        let place = Place { cluster, end, partial: None, past: Past { end, last: None } };
        Self { place, marks: Marks::default() }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut marks = Vec::new();
        self.marks.write(&mut marks);
        self.place.to_bytes_with(&marks)
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Failure> {
        Self::read(bytes).ok_or_else(unreadable)
    }

    /// The marks of the place where a load started. Earlier versions did not look there at conditions on rows.
    pub(crate) fn of_load(bytes: &[u8]) -> Result<Marks, Failure> {
        let mut marks = Self::from_bytes(bytes)?.marks;
        if bytes.first().is_some_and(|version| *version < VERSION_WITHOUT_STORED) {
            marks.forget_filters();
        }
        Ok(marks)
    }

    /// Whether an earlier version of the plugin made a position, which noted less.
    pub(crate) fn is_of_earlier_version(bytes: &[u8]) -> bool {
        bytes.first().is_some_and(|version| *version < VERSION)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (place, version, marks) = Place::read(bytes)?;
        let marks = match version {
            VERSION => Marks::read(marks)?,
            VERSION_WITHOUT_STORED => Marks::read_with_shapes(marks)?,
            VERSION_WITHOUT_SHAPES | VERSION_WITHOUT_PAST => Marks::read_with_sorts(marks)?,
            VERSION_WITHOUT_SORTS => Marks::read_with_again(marks)?,
            VERSION_WITHOUT_AGAIN => Marks::read_with_entries(marks)?,
            VERSION_WITHOUT_ENTRIES | VERSION_WITHOUT_TIMELINE => Marks::read_without_entries(marks)?,
            _ => marks.is_empty().then(Marks::default)?,
        };
        Some(Self { place, marks })
    }
}

fn unreadable() -> Failure {
    Failure::permanent(
        "position_unreadable",
        "the stored position was not made by this version of the plugin",
    )
    .with_hint("resync the mirror, or run the version that made it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mark::leaves::Leaf;
    use crate::table_name::TableName;

    const CLUSTER: Cluster = Cluster { system: 7, timeline: 3 };

    #[test]
    fn a_position_reads_as_it_was_written() {
        let between = Position::between(CLUSTER, Lsn(0x16_B374_D848));
        let partial = Some(Partial { commit: Lsn(99), rows: 3, messages: 4 });
        let mut marks = Marks::new(9);
        let name = TableName::new("public", "t");
        marks.add(&name, 7, 8, [1, 3].into_iter().collect());
        marks.get_mut(&name).expect("it was added").filtered_by = Some(800);
        marks.leaves.set(7, [(9, Leaf { file: 10, links: 11 })].into_iter().collect());
        let last = Some(Last { end: Lsn(0x16_B374_D800), commit_time_us: -5 });
        let past = Past { end: Lsn(0x16_B374_D810), last };
        let within = Position { place: Place { partial, past, ..between.place }, marks };
        for position in [between, within] {
            let bytes = position.to_bytes();
            assert_eq!(Position::from_bytes(&bytes).expect("a position"), position);
            assert_eq!(Place::from_bytes(&bytes).expect("a position"), position.place);
        }
    }

    #[test]
    fn version_1_is_still_read() {
        let bytes: Vec<u8> = [
            vec![1],
            vec![7; 8],
            vec![0, 0, 0, 0, 1, 0, 0, 0],
            vec![9, 0, 0, 0, 0, 0, 0, 0],
            vec![3, 0, 0, 0, 0, 0, 0, 0],
        ]
        .concat();
        let position = Position::from_bytes(&bytes).expect("a position");
        assert_eq!(position.place.cluster, Cluster { system: 0x0707_0707_0707_0707, timeline: 0 });
        assert_eq!(position.place.end.to_string(), "1/0");
        assert_eq!(position.place.partial, Some(Partial { commit: Lsn(9), rows: 3, messages: 0 }));
        assert_eq!(position.place.past, Past { end: Lsn(1 << 32), last: None });
    }

    #[test]
    fn version_2_is_still_read() {
        let bytes: Vec<u8> = [
            vec![2],
            vec![7; 8],
            vec![0, 0, 0, 0, 1, 0, 0, 0],
            vec![0; 16],
            vec![9, 0, 0, 0, 0, 0, 0, 0],
            // The digest of public.t, its number, its file, and the columns 1 and 9.
            vec![0xbc, 0x1a, 0x3c, 0xbd, 0xa2, 0x22, 0x46, 0x07],
            vec![5, 0, 0, 0],
            vec![6, 0, 0, 0],
            vec![2, 0, 1, 1],
        ]
        .concat();
        let position = Position::from_bytes(&bytes).expect("a position");
        assert_eq!((position.place.end.to_string().as_str(), position.place.partial), ("1/0", None));
        assert_eq!(position.marks.horizon, 9);
        let mark = position.marks.get(&TableName::new("public", "t")).expect("it is marked");
        assert_eq!((mark.oid, mark.file), (5, 6));
        assert_eq!(mark.columns.delivered, [1, 9].into_iter().collect());
    }

    #[test]
    fn version_3_is_still_read() {
        let bytes: Vec<u8> = [
            vec![3],
            vec![7; 8],
            vec![0, 0, 0, 0, 1, 0, 0, 0],
            vec![9, 0, 0, 0, 0, 0, 0, 0],
            vec![3, 0, 0, 0, 0, 0, 0, 0],
            vec![4, 0, 0, 0, 0, 0, 0, 0],
            vec![6, 0, 0, 0],
            vec![5, 0, 0, 0, 0, 0, 0, 0],
        ]
        .concat();
        let position = Position::from_bytes(&bytes).expect("a position");
        assert_eq!(position.place.partial, Some(Partial { commit: Lsn(9), rows: 3, messages: 4 }));
        assert_eq!((position.place.cluster.timeline, position.marks.horizon), (6, 5));
    }

    #[test]
    fn version_4_is_still_read() {
        let bytes: Vec<u8> = [
            vec![4],
            vec![7; 8],
            vec![0, 0, 0, 0, 1, 0, 0, 0],
            vec![9, 0, 0, 0, 0, 0, 0, 0],
            vec![3, 0, 0, 0, 0, 0, 0, 0],
            vec![4, 0, 0, 0, 0, 0, 0, 0],
            vec![6, 0, 0, 0],
            // One entry, of public.t: the transaction and the place.
            vec![1, 0, 0, 0],
            vec![0xbc, 0x1a, 0x3c, 0xbd, 0xa2, 0x22, 0x46, 0x07],
            vec![8, 0, 0, 0],
            vec![0, 0, 0, 0, 2, 0, 0, 0],
            vec![5, 0, 0, 0, 0, 0, 0, 0],
            vec![0xbc, 0x1a, 0x3c, 0xbd, 0xa2, 0x22, 0x46, 0x07],
            vec![5, 0, 0, 0],
            vec![6, 0, 0, 0],
            vec![2, 0, 1, 1],
        ]
        .concat();
        let position = Position::from_bytes(&bytes).expect("a position");
        let mark = position.marks.get(&TableName::new("public", "t")).expect("it is marked");
        assert_eq!(mark.entry, Some(crate::entry::Entry { transaction: 8, until: Lsn(2 << 32) }));
        assert_eq!((mark.oid, position.marks.horizon), (5, 5));
    }

    #[test]
    fn version_5_is_still_read() {
        let bytes: Vec<u8> = [
            vec![5],
            vec![7; 8],
            vec![0, 0, 0, 0, 1, 0, 0, 0],
            vec![9, 0, 0, 0, 0, 0, 0, 0],
            vec![3, 0, 0, 0, 0, 0, 0, 0],
            vec![4, 0, 0, 0, 0, 0, 0, 0],
            vec![6, 0, 0, 0],
            // public.t is still to be read again.
            vec![1, 0, 0, 0],
            vec![0xbc, 0x1a, 0x3c, 0xbd, 0xa2, 0x22, 0x46, 0x07],
            vec![0xff; 8],
            // One entry, of the same.
            vec![1, 0, 0, 0],
            vec![0xbc, 0x1a, 0x3c, 0xbd, 0xa2, 0x22, 0x46, 0x07],
            vec![8, 0, 0, 0],
            vec![0, 0, 0, 0, 2, 0, 0, 0],
            vec![5, 0, 0, 0, 0, 0, 0, 0],
            vec![0xbc, 0x1a, 0x3c, 0xbd, 0xa2, 0x22, 0x46, 0x07],
            vec![5, 0, 0, 0],
            vec![6, 0, 0, 0],
            vec![2, 0, 1, 1],
        ]
        .concat();
        let position = Position::from_bytes(&bytes).expect("a position");
        let mark = position.marks.get(&TableName::new("public", "t")).expect("it is marked");
        assert_eq!(mark.again, crate::mark::Again::Due);
        assert_eq!((mark.oid, position.marks.horizon), (5, 5));
    }

    #[test]
    fn version_6_is_still_read() {
        let bytes: Vec<u8> = [
            vec![6],
            vec![7; 8],
            vec![0, 0, 0, 0, 1, 0, 0, 0],
            vec![9, 0, 0, 0, 0, 0, 0, 0],
            vec![3, 0, 0, 0, 0, 0, 0, 0],
            vec![4, 0, 0, 0, 0, 0, 0, 0],
            vec![6, 0, 0, 0],
            // public.t has a generated column 2 and a bounded decimal 9.
            vec![1, 0, 0, 0],
            vec![0xbc, 0x1a, 0x3c, 0xbd, 0xa2, 0x22, 0x46, 0x07],
            vec![1, 0, 2],
            vec![2, 0, 0, 1],
            // Nobody gave it a condition.
            vec![0, 0, 0, 0],
            // It is still to be read again, and there is no entry.
            vec![1, 0, 0, 0],
            vec![0xbc, 0x1a, 0x3c, 0xbd, 0xa2, 0x22, 0x46, 0x07],
            vec![0xff; 8],
            vec![0, 0, 0, 0],
            vec![5, 0, 0, 0, 0, 0, 0, 0],
            vec![0xbc, 0x1a, 0x3c, 0xbd, 0xa2, 0x22, 0x46, 0x07],
            vec![5, 0, 0, 0],
            vec![6, 0, 0, 0],
            vec![2, 0, 1, 1],
        ]
        .concat();
        let position = Position::from_bytes(&bytes).expect("a position");
        let mark = position.marks.get(&TableName::new("public", "t")).expect("it is marked");
        assert_eq!(
            (&mark.columns.generated, &mark.bounded),
            (&[2].into_iter().collect(), &[9].into_iter().collect())
        );
        assert_eq!(position.place.past, Past { end: Lsn(1 << 32), last: None });
        let again = Position::from_bytes(&position.to_bytes()).expect("a position");
        assert_eq!(again, position);
    }

    #[test]
    fn version_7_is_still_read() {
        let mut position = Position::between(CLUSTER, Lsn(1 << 32));
        position.place.past = Past { end: Lsn(9), last: Some(Last { end: Lsn(8), commit_time_us: 3 }) };
        let bytes: Vec<u8> = [
            vec![7],
            vec![7, 0, 0, 0, 0, 0, 0, 0],
            vec![0, 0, 0, 0, 1, 0, 0, 0],
            vec![0; 24],
            vec![9, 0, 0, 0, 0, 0, 0, 0],
            vec![8, 0, 0, 0, 0, 0, 0, 0],
            vec![3, 0, 0, 0, 0, 0, 0, 0],
            vec![3, 0, 0, 0],
            // Of no table anything special, none to read again, no entry, and the horizon.
            vec![0; 4 + 4 + 4 + 8],
        ]
        .concat();
        assert_eq!(Position::from_bytes(&bytes).expect("a position"), position);
        // Version 8 says how many types have a shape before that.
        let mut bytes = bytes;
        bytes[0] = 8;
        bytes.splice(69..69, [0; 4]);
        assert_eq!(Position::from_bytes(&bytes).expect("a position"), position);
        // Version 9 says how many tables have partitions, how many bytes there are of primary keys, of names and of how values are
        // written, and how many tables have columns that are stored by now, before that.
        bytes[0] = 9;
        bytes.splice(69..69, [0; 4 + 4 + 4 + 4 + 4]);
        assert_eq!(position.to_bytes(), bytes);
    }

    #[test]
    fn other_bytes_are_no_position() {
        const BYTES: usize = 1 + 4 * 8;
        for bytes in [
            &[][..],
            &[1],
            &[2; BYTES],
            &[3; BYTES],
            &[4; BYTES],
            &[5; BYTES],
            &[6; BYTES],
            &[7; BYTES],
            &[8; BYTES],
            &[9; BYTES],
            &[10; BYTES],
            &[1; BYTES - 1],
            &[1; BYTES + 1],
        ] {
            assert_eq!(Position::from_bytes(bytes).expect_err("no position").code, "position_unreadable");
        }
    }

    #[test]
    fn the_sequence_only_grows() {
        let between = Position::between(CLUSTER, Lsn(50)).place;
        let within = Place { partial: Some(Partial { commit: Lsn(99), rows: 3, messages: 0 }), ..between };
        assert!(within.sequence() > between.sequence());
        assert!(Position::between(CLUSTER, Lsn(120)).place.sequence() > within.sequence());
    }
}
