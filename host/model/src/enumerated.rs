//! Enumerations that clients send by name or by number and read by name.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, Visitor};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};

/// An enumeration of the API.
pub trait Enumerated: Copy + PartialEq + 'static {
    /// What it is called in an error: `a mirror state`.
    const EXPECTED: &'static str;
    /// Every value with its number and its name.
    const ALL: &'static [(Self, u32, &'static str)];

    /// The name clients read.
    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(value, ..)| *value == self).map_or("", |(.., name)| name)
    }

    /// The number some clients send instead.
    fn number(self) -> u32 {
        Self::ALL.iter().find(|(value, ..)| *value == self).map_or(0, |(_, number, _)| *number)
    }

    /// The value of a name.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(.., known)| *known == name).map(|(value, ..)| *value)
    }

    /// The value of a text: of a name, or of the digits of a number, which other numbers may be sent as, too.
    fn from_text(text: &str) -> Option<Self> {
        Self::from_name(text).or_else(|| text.parse().ok().and_then(Self::from_number))
    }

    /// The value of a number.
    fn from_number(number: u64) -> Option<Self> {
        Self::ALL.iter().find(|(_, known, _)| u64::from(*known) == number).map(|(value, ..)| *value)
    }
}

/// Reads an [`Enumerated`] from either form.
pub(crate) struct NameOrNumber<T>(pub(crate) PhantomData<T>);

impl<T: Enumerated> Visitor<'_> for NameOrNumber<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by name or number", T::EXPECTED)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
        T::from_text(name).ok_or_else(|| {
            let names: Vec<_> = T::ALL.iter().map(|(.., name)| *name).collect();
            E::custom(format!("not {}; there are {}", T::EXPECTED, names.join(", ")))
        })
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        T::from_number(number)
            .ok_or_else(|| E::custom(format!("{number} is not the number of {}", T::EXPECTED)))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        let unsigned = u64::try_from(number)
            .map_err(|_| E::custom(format!("{number} is not the number of {}", T::EXPECTED)))?;
        self.visit_u64(unsigned)
    }

    /// Some clients write every number as a float.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the bounds are checked before"
    )]
    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        if number.fract() == 0.0 && (0.0..1e9).contains(&number) {
            return self.visit_u64(number as u64);
        }
        Err(E::custom(format!("{number} is not the number of {}", T::EXPECTED)))
    }
}

/// How an [`Enumerated`] is described: by its names.
pub(crate) fn schema<T: Enumerated>() -> RefOr<Schema> {
    let names: Vec<_> = T::ALL.iter().map(|(.., name)| *name).collect();
    let numbers: Vec<_> = T::ALL.iter().map(|(_, number, name)| format!("{number} {name}")).collect();
    let description =
        format!("{}. Read by name; sent by name or number: {}.", T::EXPECTED, numbers.join(", "));
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(names))
        .description(Some(description))
        .into()
}

/// Serialises an [`Enumerated`] by name and reads it by name or number.
macro_rules! serde_by_name {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(crate::Enumerated::name(*self))
            }
        }

        impl utoipa::PartialSchema for $type {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                crate::enumerated::schema::<$type>()
            }
        }

        impl utoipa::ToSchema for $type {}

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(crate::enumerated::NameOrNumber(std::marker::PhantomData))
            }
        }
    };
}

pub(crate) use serde_by_name;
