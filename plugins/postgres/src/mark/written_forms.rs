//! How the server writes values of columns, where their bytes may become another type's as they are.
//!
//! A change to a type that takes the bytes of the old one writes no row anew, and yet each value is written otherwise: a
//! negative integer that became an `oid`, the network of a single address that became an `inet`. The catalog does not say what
//! a type was; so it is remembered, by the function that writes its values. Most types share their bytes with none that writes
//! them otherwise, and are not.

use std::collections::BTreeMap;

use crate::catalog::{CatalogColumn, CatalogTable};

/// Functions below this number are the server's own.
const FIRST_MADE: u32 = 16_384;

/// The functions that write what has the bytes of an `int4`: `oid`, then `regproc`, `regprocedure`, `regoper`, `regoperator`,
/// `regclass`, `regtype`, `regconfig`, `regdictionary`, `regrole`, `regnamespace` and `regcollation`; and `cidr`, which has
/// those of an `inet` (`pg_type.typoutput`).
const SHARING: [u32; 13] = [1799, 45, 2213, 2215, 2217, 2219, 2221, 3737, 3772, 4092, 4085, 4194, 1427];

/// Stands for the number of columns where these were not looked at.
const UNKNOWN: u16 = u16::MAX;

/// How values of a table's columns were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WrittenForms {
    /// The number of the last column that was made.
    made: u16,
    /// The functions that write values, by the columns' numbers; those of most types are left out.
    functions: BTreeMap<u16, u32>,
}

impl WrittenForms {
    pub(crate) fn of(table: &CatalogTable) -> Self {
        let functions = table.columns.iter().filter_map(|column| Some((number(column), form(column)?)));
        Self { made: small(table.attributes_made), functions: functions.collect() }
    }

    /// Whether a column was there, and its values are written otherwise now.
    pub(crate) fn differ(&self, now: &CatalogColumn) -> bool {
        let number = number(now);
        number <= self.made && self.functions.get(&number).copied() != form(now)
    }

    /// Appends how many functions there are (2 bytes, all bits set where that was not looked at), each with the column's number
    /// (2) and its own (4), and the number of the last column (2), little-endian.
    pub(super) fn write(forms: Option<&Self>, out: &mut Vec<u8>) {
        let Some(forms) = forms else { return out.extend_from_slice(&UNKNOWN.to_le_bytes()) };
        let count = u16::try_from(forms.functions.len()).expect("a table has at most 1,600 columns");
        out.extend_from_slice(&count.to_le_bytes());
        for (column, function) in &forms.functions {
            out.extend_from_slice(&column.to_le_bytes());
            out.extend_from_slice(&function.to_le_bytes());
        }
        out.extend_from_slice(&forms.made.to_le_bytes());
    }

    /// Reads the forms, and what follows them.
    pub(super) fn read(bytes: &[u8]) -> Option<(Option<Self>, &[u8])> {
        let (count, mut rest) = bytes.split_first_chunk()?;
        let count = u16::from_le_bytes(*count);
        if count == UNKNOWN {
            return Some((None, rest));
        }
        let mut functions = BTreeMap::new();
        for _ in 0..count {
            let (column, after) = rest.split_first_chunk()?;
            let (function, after) = after.split_first_chunk()?;
            functions.insert(u16::from_le_bytes(*column), u32::from_le_bytes(*function));
            rest = after;
        }
        let (made, rest) = rest.split_first_chunk()?;
        Some((Some(Self { made: u16::from_le_bytes(*made), functions }), rest))
    }
}

fn number(column: &CatalogColumn) -> u16 {
    small(column.attribute)
}

fn small(number: i32) -> u16 {
    u16::try_from(number).expect("a table has at most 1,600 columns")
}

/// The function that writes a column's values, unless it is one of most types.
fn form(column: &CatalogColumn) -> Option<u32> {
    let function = column.written_by;
    (function >= FIRST_MADE || SHARING.contains(&function)).then_some(function)
}
