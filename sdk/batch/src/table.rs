//! Tables and their columns, as a batch carries them once.

use crate::wire::{Cursor, put_string};
use crate::{DecodeError, Type};

/// Which of a batch's tables, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableIndex(pub u16);

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, exactly as the source has it.
    pub name: String,
    /// Which form its values have.
    pub data_type: Type,
    /// The source's name of the type with its modifiers, such as `numeric(10,2)`.
    pub type_name: String,
    /// Whether it may be null.
    pub nullable: bool,
    /// Its place in the key, from 1 in the key's own order; 0 when it is not part of the key.
    pub key: u16,
    /// The source's number for it, which survives a rename.
    pub attribute: i32,
}

/// A table in one version of its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The source's number for it, which survives a rename.
    pub id: u32,
    /// The schema it is in.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Counts the changes of its columns.
    pub version: u32,
    /// Its columns, in the order of the cells of a row.
    pub columns: Vec<Column>,
}

const NULLABLE: u8 = 1;

impl Table {
    /// `schema.name`, unquoted: how a table is called in settings and messages.
    pub fn qualified_name(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }

    /// The indexes of the key's columns, in the key's own order.
    pub fn key_columns(&self) -> Vec<usize> {
        let mut key: Vec<usize> = (0..self.columns.len()).filter(|&at| self.columns[at].key != 0).collect();
        key.sort_by_key(|&at| self.columns[at].key);
        key
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let columns = u16::try_from(self.columns.len()).expect("a table has fewer than 65536 columns");
        out.extend_from_slice(&self.id.to_le_bytes());
        put_string(out, &self.schema);
        put_string(out, &self.name);
        out.extend_from_slice(&self.version.to_le_bytes());
        out.extend_from_slice(&columns.to_le_bytes());
        for column in &self.columns {
            column.write(out);
        }
    }

    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let id = cursor.u32()?;
        let schema = cursor.string()?;
        let name = cursor.string()?;
        let version = cursor.u32()?;
        let count = cursor.u16()?;
        let columns = (0..count).map(|_| Column::read(cursor)).collect::<Result<_, _>>()?;
        Ok(Self { id, schema, name, version, columns })
    }
}

impl Column {
    fn write(&self, out: &mut Vec<u8>) {
        put_string(out, &self.name);
        self.data_type.write(out);
        put_string(out, &self.type_name);
        out.push(if self.nullable { NULLABLE } else { 0 });
        out.extend_from_slice(&self.key.to_le_bytes());
        out.extend_from_slice(&self.attribute.to_le_bytes());
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let name = cursor.string()?;
        let data_type = Type::read(cursor)?;
        let type_name = cursor.string()?;
        let flags = cursor.u8()?;
        if flags & !NULLABLE != 0 {
            return Err(DecodeError::Invalid("column flags"));
        }
        let key = cursor.u16()?;
        let attribute = cursor.i32()?;
        Ok(Self { name, data_type, type_name, nullable: flags & NULLABLE != 0, key, attribute })
    }
}
