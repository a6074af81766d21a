//! The bounds of compiling, each with its reason.

/// Length of a script's source: a hundred times the longest in use. The runtime has the same.
pub(super) const SOURCE_BYTES_MAX: usize = 1 << 20;

/// Stored scripts that one may require, and those again: each is found by loading once more.
pub(super) const MODULES_MAX: usize = 16;

/// WebAssembly instructions that loading a script may take: about two seconds of one core, a thousand
/// times what a script's top level needs. Counted, so that the same script is refused everywhere or
/// nowhere.
pub(super) const LOAD_FUEL: u64 = 2_000_000_000;

/// Memory that the runtime may take while it loads a script: twice what it allows the script.
pub(super) const LOAD_MEMORY_BYTES_MAX: usize = 256 << 20;

/// Memory that a loaded script may have filled: it is part of the component, which every mirror that uses
/// it reads.
pub(super) const COMPONENT_BYTES_MAX: usize = 32 << 20;

/// Stack of the runtime: what a script has when it runs.
pub(super) const STACK_BYTES: usize = crate::config::GUEST_STACK_BYTES;

/// Memory of a script that did not come to its end from which on its author is told of it: many times what the
/// runtime itself takes.
pub(super) const LOAD_MEMORY_TOLD_BYTES: usize = 48 << 20;
