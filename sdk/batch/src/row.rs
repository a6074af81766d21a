//! Rows: what happened, when, and the images.

use crate::config::{FORMAT_VERSION, FORMAT_VERSION_MESSAGES, ROW_HEADER_BYTES};
use crate::{Cell, Cells, DecodeError, LogMessage, Outgoing, Table, TableIndex};

/// What happened to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Op {
    /// It was inserted, or read by a snapshot.
    Insert = 1,
    /// It was updated.
    Update = 2,
    /// It was deleted: the row has a before-image only.
    Delete = 3,
    /// The whole table was emptied: the row has no image.
    Truncate = 4,
    /// No row of a table: a [`LogMessage`] that somebody put into the source's log.
    Message = 5,
    /// The table has other columns from here on, those of the batch's table: the row has no image.
    Relation = 6,
    /// No row of a table: an [`Outgoing`] message that a script made of a record.
    Outgoing = 7,
}

impl Op {
    fn read(byte: u8, version: u16) -> Result<Self, DecodeError> {
        Ok(match byte {
            1 => Self::Insert,
            2 => Self::Update,
            3 => Self::Delete,
            4 => Self::Truncate,
            5 if version >= FORMAT_VERSION_MESSAGES => Self::Message,
            6 if version >= FORMAT_VERSION_MESSAGES => Self::Relation,
            7 if version >= FORMAT_VERSION_MESSAGES => Self::Outgoing,
            _ => return Err(DecodeError::UnknownOp(byte)),
        })
    }

    /// What people and scripts call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Truncate => "truncate",
            Self::Message => "message",
            Self::Relation => "relation",
            Self::Outgoing => "outgoing",
        }
    }

    /// Which version of the format has such rows.
    pub(crate) fn format_version(self) -> u16 {
        match self {
            Self::Insert | Self::Update | Self::Delete | Self::Truncate => FORMAT_VERSION,
            Self::Message | Self::Relation | Self::Outgoing => FORMAT_VERSION_MESSAGES,
        }
    }

    /// How many cells a row has before its before-image, in a table of so many columns.
    #[inline]
    pub(crate) fn cells(self, columns: u32) -> u32 {
        match self {
            Self::Insert | Self::Update => columns,
            Self::Delete | Self::Truncate | Self::Relation => 0,
            Self::Message => LogMessage::CELLS,
            Self::Outgoing => Outgoing::CELLS,
        }
    }

    /// Whether rows of this kind have an after-image.
    #[inline]
    pub fn has_after(self) -> bool {
        matches!(self, Self::Insert | Self::Update)
    }
}

/// How much of the row before the change is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Before {
    /// The key's columns only; the others are [`Cell::Unchanged`].
    Key = 1,
    /// All columns.
    Full = 2,
}

impl Before {
    fn read(byte: u8) -> Result<Option<Self>, DecodeError> {
        Ok(match byte {
            0 => None,
            1 => Some(Self::Key),
            2 => Some(Self::Full),
            _ => return Err(DecodeError::Invalid("kind of before-image")),
        })
    }
}

/// When a row changed, in the source's order of commits: of two rows with the same key, the one with
/// the greater version is the later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Version {
    /// Where the transaction committed.
    pub commit: u64,
    /// Which row of the transaction.
    pub ordinal: u64,
}

impl Version {
    /// Ordinals of relation records begin here: they share none with a row. What is below is how many rows of the
    /// transaction were before.
    pub const RELATIONS_FROM: u64 = 1 << 63;

    /// Both in one number that sorts alike: commit in the upper half, ordinal in the lower.
    #[inline]
    pub fn to_u128(self) -> u128 {
        u128::from(self.commit) << 64 | u128::from(self.ordinal)
    }
}

/// What a row says before its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowHeader {
    /// What happened.
    pub op: Op,
    /// When, in the source's order.
    pub version: Version,
    /// When, by the source's clock: microseconds since 1970 UTC, [`RowHeader::TIME_UNKNOWN`] when
    /// the source does not say.
    pub commit_time_us: i64,
    /// The source's number of the transaction; 0 when it has none.
    pub transaction: u64,
}

impl RowHeader {
    /// The commit time of rows whose source does not say it.
    pub const TIME_UNKNOWN: i64 = i64::MIN;
}

/// One row of a batch. Everything but the operation is decoded when asked for.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    header: &'a [u8; ROW_HEADER_BYTES],
    raw: &'a [u8],
    op: Op,
    before: Option<Before>,
    table: TableIndex,
    columns: u32,
}

impl<'a> Row<'a> {
    /// Whether a load read the row: no transaction made it.
    pub fn is_of_load(&self) -> bool {
        let header = self.header();
        header.transaction == 0 && header.commit_time_us == RowHeader::TIME_UNKNOWN
    }

    /// Takes one row off the front of `bytes` and returns it with what follows.
    #[inline]
    pub(crate) fn split(
        bytes: &'a [u8],
        tables: &[Table],
        version: u16,
    ) -> Result<(Self, &'a [u8]), DecodeError> {
        let header: &[u8; ROW_HEADER_BYTES] = bytes.first_chunk().ok_or(DecodeError::Truncated("row"))?;
        let [size @ .., op, before, table_low, table_high] =
            header.first_chunk::<8>().ok_or(DecodeError::Truncated("row"))?;
        let size = u32::from_le_bytes(*size) as usize;
        if size < ROW_HEADER_BYTES {
            return Err(DecodeError::Invalid("row length"));
        }
        let (raw, rest) = bytes.split_at_checked(size).ok_or(DecodeError::Truncated("row"))?;
        let op = Op::read(*op, version)?;
        let before = Before::read(*before)?;
        match (op, before) {
            (Op::Delete, None) => return Err(DecodeError::Invalid("delete without a before-image")),
            (Op::Truncate, Some(_)) => return Err(DecodeError::Invalid("truncate with a before-image")),
            (Op::Message | Op::Relation | Op::Outgoing, Some(_)) => {
                return Err(DecodeError::Invalid("message or relation with a before-image"));
            }
            _ => {}
        }
        let table = TableIndex(u16::from_le_bytes([*table_low, *table_high]));
        let columns = tables
            .get(usize::from(table.0))
            .ok_or(DecodeError::Invalid("table index of a row"))?
            .columns
            .len();
        Ok((Self { header, raw, op, before, table, columns: columns as u32 }, rest))
    }

    #[inline]
    fn number(&self, at: usize) -> u64 {
        let bytes = self.header[at..].first_chunk().expect("the header holds eight bytes from here");
        u64::from_le_bytes(*bytes)
    }

    /// What happened.
    #[inline]
    pub fn op(&self) -> Op {
        self.op
    }

    /// When it happened, in the source's order.
    #[inline]
    pub fn version(&self) -> Version {
        Version { commit: self.number(8), ordinal: self.number(16) }
    }

    /// Everything before the cells.
    #[inline]
    pub fn header(&self) -> RowHeader {
        RowHeader {
            op: self.op,
            version: self.version(),
            commit_time_us: self.number(24).cast_signed(),
            transaction: self.number(32),
        }
    }

    /// Which of the batch's tables it is of.
    #[inline]
    pub fn table_index(&self) -> TableIndex {
        self.table
    }

    /// How many cells an image of it has: the columns of its table.
    #[inline]
    pub fn columns(&self) -> usize {
        self.columns as usize
    }

    /// All its bytes, header included.
    #[inline]
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// The cells before the before-image, whatever they are.
    #[inline]
    fn body(&self) -> Cells<'a> {
        Cells::new(&self.raw[ROW_HEADER_BYTES..], self.op.cells(self.columns))
    }

    /// What a message in the source's log says; none for other rows.
    pub fn log_message(&self) -> Result<Option<LogMessage<'a>>, DecodeError> {
        (self.op == Op::Message).then(|| LogMessage::read(self.body())).transpose()
    }

    /// A message to a queue; none for other rows.
    pub fn outgoing(&self) -> Result<Option<Outgoing<'a>>, DecodeError> {
        (self.op == Op::Outgoing).then(|| Outgoing::read(self.body())).transpose()
    }

    /// The row after the change; no cells for a delete or truncate, nor for what is no row of a table.
    #[inline]
    pub fn after(&self) -> Cells<'a> {
        let count = if self.op.has_after() { self.columns } else { 0 };
        Cells::new(&self.raw[ROW_HEADER_BYTES..], count)
    }

    /// The row before the change, where the source told it. Skips the after-image.
    pub fn before(&self) -> Option<(Before, Cells<'a>)> {
        let kind = self.before?;
        let mut after = self.after();
        // A damaged after-image leaves nothing to read the before-image from: its first cell says so.
        let rest = if after.by_ref().all(|cell| cell.is_ok()) { after.rest() } else { &[] };
        Some((kind, Cells::new(rest, self.columns)))
    }

    /// The cell of one column in the after-image (for a delete: in the before-image).
    pub fn cell(&self, column: usize) -> Result<Cell<'a>, DecodeError> {
        let mut cells = match self.op {
            Op::Delete => self.before().map_or(self.after(), |(_, cells)| cells),
            _ => self.after(),
        };
        cells.nth(column).unwrap_or(Err(DecodeError::Truncated("row")))
    }

    /// Reads every cell and checks that they fill the row exactly.
    pub(crate) fn verify(&self) -> Result<(), DecodeError> {
        let mut cells = self.body();
        cells.by_ref().try_for_each(|cell| cell.map(drop))?;
        if self.before.is_some() {
            cells = Cells::new(cells.rest(), self.columns);
            cells.by_ref().try_for_each(|cell| cell.map(drop))?;
        }
        if cells.rest().is_empty() { Ok(()) } else { Err(DecodeError::Trailing("the cells of a row")) }
    }
}
