//! Why a value cannot be stored as it is.

use tarn_batch::DecodeError;

use crate::target_type::TargetType;

/// What is wrong with a value for its column. It never holds the value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// NULL, in a column that has none.
    Null,
    /// An element of an array is NULL, and elements have none.
    NullElement,
    /// Greater or less than what the type holds.
    Range,
    /// More digits after the point than the type has.
    Digits,
    /// NaN or an infinity of a number.
    NotANumber,
    /// An infinity of a date or time.
    Infinity,
    /// An array of other dimensions than the column's.
    Dimensions { value: usize, column: usize },
    /// A label that the column's enum lacks.
    Label,
    /// A text of another length than the column's.
    Length,
    /// The batch is damaged.
    Damaged(DecodeError),
}

impl From<DecodeError> for Fault {
    fn from(error: DecodeError) -> Self {
        Self::Damaged(error)
    }
}

impl Fault {
    /// What a person reads after the column's name.
    pub(crate) fn describe(&self, target: &TargetType) -> String {
        match self {
            Self::Null => format!("is NULL, which {target} cannot hold"),
            Self::NullElement => format!("has a NULL element, which {target} cannot hold"),
            Self::Range => format!("is outside the range of {target} on this server"),
            Self::Digits => format!("has more digits after the point than {target} holds"),
            Self::NotANumber => format!("is NaN or infinity, which {target} cannot hold"),
            Self::Infinity => format!("is infinity, which {target} cannot hold"),
            Self::Dimensions { value, column } => {
                format!("is an array of {value} dimensions, and {target} has {column}")
            }
            Self::Label => format!("has a label that {target} lacks"),
            Self::Length => format!("has another length than {target}"),
            Self::Damaged(error) => format!("is damaged: {error}"),
        }
    }
}
