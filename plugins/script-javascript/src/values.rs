//! The values that JavaScript has no type for: decimals, times, intervals.

pub mod decimal;
pub mod interval;
pub mod time;
