//! The API's JSON, by the rules its clients know from protocol buffers. The server reads requests and
//! writes answers with it, the command line reads answers and files.
//!
//! In: keys in snake_case or camelCase, integers as numbers or texts, `null` as absent; unknown keys are
//! ignored by [`from_value`] and refused by [`from_value_strictly`]; in a URL's query, for [`from_query`], a
//! flag is a text. A mistake names the field's path and never quotes a value. Out: keys in camelCase, every
//! scalar present, 64-bit integers as texts. Only the names of our own fields are touched: keys that are
//! data, such as those of `env`, stay as they are, because serde tells fields and map keys apart.

mod case;
mod input;
mod number;
mod output;

pub use case::{camel, snake};
pub use input::{InputError, from_query, from_value, from_value_strictly};
pub use output::to_value;
