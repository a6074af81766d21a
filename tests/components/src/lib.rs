//! Bad guests against the sandbox: every limit is reached, everything that can be wrong with a component
//! is wrong once, and the host goes on.
//!
//! The guests are built from `guests/` by the same script as the plugins. This crate has no code but its
//! tests.

#[cfg(test)]
mod bundle;
#[cfg(test)]
mod cache;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod loading;
#[cfg(test)]
mod rust_script;
#[cfg(test)]
mod sandbox;
#[cfg(test)]
mod unharmed;
#[cfg(test)]
mod waiting;
