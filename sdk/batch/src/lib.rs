//! The record batch: the one form in which rows travel between sources, scripts, destinations and the
//! host. `wit/BATCH.md` describes the bytes; this crate reads and writes them.
//!
//! It is not a schema registry and knows no store. It holds one promise: any bytes may be given to a
//! reader, and it answers with rows or with a [`DecodeError`], without a panic and without allocating
//! for a row or a cell.
//!
//! A batch is written once, front to back, into one buffer ([`BatchWriter`]), and read lazily
//! ([`Batch`]): the tables are decoded when it is parsed, a row is a slice of the batch, a cell is a
//! slice of the row. [`value`] reads and writes the value inside a cell, [`text`] says it as
//! PostgreSQL would, [`calendar`] turns days into dates.

pub mod calendar;
pub mod config;
pub mod text;
pub mod value;

mod batch;
mod cell;
mod data_type;
mod error;
mod message;
mod row;
mod table;
mod table_name;
mod wire;
mod writer;

pub use batch::{Batch, Rows};
pub use cell::{Cell, Cells};
pub use data_type::Type;
pub use error::DecodeError;
pub use message::{Headers, LogMessage, Outgoing, write_header};
pub use row::{Before, Op, Row, RowHeader, Version};
pub use table::{Column, Table, TableIndex};
pub use table_name::split_table_name;
pub use writer::BatchWriter;
