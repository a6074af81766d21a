//! How the server writes values of columns, where their bytes may become another type's as they are.
//!
//! A change to a type that takes the bytes of the old one writes no row anew, and yet each value is written otherwise: a
//! negative integer that became an `oid`, the network of a single address that became an `inet`. The catalog does not say what
//! a type was; so it is remembered, by the function that writes its values. Most types share their bytes with none that writes
//! them otherwise, and are not.

use std::collections::BTreeMap;

use crate::catalog::CatalogColumn;

/// Functions below this number are the server's own.
const FIRST_MADE: u32 = 16_384;

/// The functions that write what has the bytes of an `int4`: `oid`, then `regproc`, `regprocedure`, `regoper`, `regoperator`,
/// `regclass`, `regtype`, `regconfig`, `regdictionary`, `regrole`, `regnamespace` and `regcollation`; and `cidr`, which has
/// those of an `inet` (`pg_type.typoutput`).
const SHARING: [u32; 13] = [1799, 45, 2213, 2215, 2217, 2219, 2221, 3737, 3772, 4092, 4085, 4194, 1427];

/// Stands for the number of columns where these were not looked at.
const UNKNOWN: u16 = u16::MAX;

/// The functions that write values of columns, by the columns' numbers; those of most types are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WrittenForms(BTreeMap<u16, u32>);

impl WrittenForms {
    pub(crate) fn of(columns: &[CatalogColumn]) -> Self {
        Self(columns.iter().filter_map(|column| Some((number(column), form(column)?))).collect())
    }

    /// Whether values of a column that was there are written otherwise now.
    pub(crate) fn differ(&self, now: &CatalogColumn) -> bool {
        self.0.get(&number(now)).copied() != form(now)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends how many there are (2 bytes, all bits set where that was not looked at), and each with the column's number (2)
    /// and the function's (4), little-endian.
    pub(super) fn write(forms: Option<&Self>, out: &mut Vec<u8>) {
        let small = |number: usize| u16::try_from(number).expect("a table has at most 1,600 columns");
        out.extend_from_slice(&forms.map_or(UNKNOWN, |forms| small(forms.0.len())).to_le_bytes());
        for (column, function) in forms.iter().flat_map(|forms| &forms.0) {
            out.extend_from_slice(&column.to_le_bytes());
            out.extend_from_slice(&function.to_le_bytes());
        }
    }

    /// Reads the forms, and what follows them.
    pub(super) fn read(bytes: &[u8]) -> Option<(Option<Self>, &[u8])> {
        let (count, mut rest) = bytes.split_first_chunk()?;
        let count = u16::from_le_bytes(*count);
        if count == UNKNOWN {
            return Some((None, rest));
        }
        let mut forms = BTreeMap::new();
        for _ in 0..count {
            let (column, after) = rest.split_first_chunk()?;
            let (function, after) = after.split_first_chunk()?;
            forms.insert(u16::from_le_bytes(*column), u32::from_le_bytes(*function));
            rest = after;
        }
        Some((Some(Self(forms)), rest))
    }
}

fn number(column: &CatalogColumn) -> u16 {
    u16::try_from(column.attribute).expect("a table has at most 1,600 columns")
}

/// The function that writes a column's values, unless it is one of most types.
fn form(column: &CatalogColumn) -> Option<u32> {
    let function = column.written_by;
    (function >= FIRST_MADE || SHARING.contains(&function)).then_some(function)
}
