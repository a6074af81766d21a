//! The memory of a Lua state, and its limit.

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::ffi::c_void;
use std::ptr;

/// How much a state may take, and how much it has.
#[derive(Debug)]
pub struct Memory {
    /// Bytes in use.
    pub used: usize,
    /// Bytes allowed.
    pub limit: usize,
}

/// What Lua asks for is aligned for its largest numbers and pointers.
const ALIGNMENT: usize = 8;

fn layout(size: usize) -> Layout {
    Layout::from_size_align(size, ALIGNMENT).expect("Lua asks for less than half of memory")
}

/// Lua's allocator: gives null, which Lua turns into "not enough memory", above the limit.
pub(super) extern "C" fn allocate(
    data: *mut c_void,
    block: *mut c_void,
    old_size: usize,
    new_size: usize,
) -> *mut c_void {
    // SAFETY: the state was made with this data.
    let memory = unsafe { &mut *data.cast::<Memory>() };
    // For a new block the old size is a code of what it is for.
    let old_size = if block.is_null() { 0 } else { old_size };
    let used = memory.used - old_size + new_size;
    if new_size > old_size && (used > memory.limit || new_size > memory.limit) {
        return ptr::null_mut();
    }
    // SAFETY: blocks come from here with the sizes that Lua gives back.
    let given = unsafe {
        match (old_size, new_size) {
            (0, 0) => ptr::null_mut(),
            (_, 0) => {
                dealloc(block.cast(), layout(old_size));
                ptr::null_mut()
            }
            (0, _) => alloc(layout(new_size)),
            (_, _) => realloc(block.cast(), layout(old_size), new_size),
        }
    };
    if !given.is_null() || new_size == 0 {
        memory.used = used;
    }
    given.cast()
}
