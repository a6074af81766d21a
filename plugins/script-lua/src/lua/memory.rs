//! The memory of a Lua state, and its limit.
//!
//! A record makes a few small objects that die with it. Blocks of theirs are kept for the next ones by size, up to
//! [`SPARE_BYTES_MAX`]: the allocator of WebAssembly would join and split them again for each.

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::ffi::c_void;
use std::ptr;

use crate::config::SPARE_BYTES_MAX;

/// How much a state may take, and how much it has.
#[derive(Debug)]
pub struct Memory {
    /// Bytes in use.
    pub used: usize,
    /// Bytes allowed.
    pub limit: usize,
    spare: Spare,
}

/// What Lua asks for is aligned for its largest numbers and pointers.
const ALIGNMENT: usize = 8;

/// Sizes that blocks are kept by are multiples of this.
const STEP: usize = 16;

/// Largest block that is kept. Objects of this crate and short strings are below it, and so are small tables.
const SMALL_BYTES_MAX: usize = 256;

/// Blocks that are kept, by size.
#[derive(Debug)]
struct Spare {
    lists: [*mut Block; SMALL_BYTES_MAX / STEP + 1],
    bytes: usize,
}

/// A block that is kept.
#[derive(Debug)]
struct Block {
    next: *mut Block,
}

fn layout(size: usize) -> Layout {
    let room = if size <= SMALL_BYTES_MAX { size.next_multiple_of(STEP) } else { size };
    Layout::from_size_align(room, ALIGNMENT).expect("Lua asks for less than half of memory")
}

impl Memory {
    /// Nothing so far.
    pub fn new(limit: usize) -> Self {
        let spare = Spare { lists: [ptr::null_mut(); SMALL_BYTES_MAX / STEP + 1], bytes: 0 };
        Self { used: 0, limit, spare }
    }
}

impl Spare {
    /// A block of a size above 0, or null.
    #[inline]
    fn allocate(&mut self, size: usize) -> *mut u8 {
        if size <= SMALL_BYTES_MAX {
            let list = &mut self.lists[size.div_ceil(STEP)];
            if !list.is_null() {
                let block = *list;
                // SAFETY: a block in a list is free and begins with what comes after it.
                *list = unsafe { (*block).next };
                self.bytes -= size.next_multiple_of(STEP);
                return block.cast();
            }
        }
        // SAFETY: the size is not 0.
        unsafe { alloc(layout(size)) }
    }

    /// Takes a block of a size above 0 back.
    ///
    /// # Safety
    /// It came from here with that size.
    #[inline]
    unsafe fn free(&mut self, block: *mut u8, size: usize) {
        let room = size.next_multiple_of(STEP);
        if size <= SMALL_BYTES_MAX && self.bytes + room <= SPARE_BYTES_MAX {
            let list = &mut self.lists[room / STEP];
            let block = block.cast::<Block>();
            // SAFETY: the block has at least sixteen bytes, aligned, and nobody else uses it.
            unsafe { block.write(Block { next: *list }) };
            *list = block;
            self.bytes += room;
        } else {
            // SAFETY: the caller's promise.
            unsafe { dealloc(block, layout(size)) };
        }
    }

    /// A block of another size with the same beginning; null where there is no room, and then the old one stays.
    ///
    /// # Safety
    /// The block came from here with the old size.
    unsafe fn resize(&mut self, block: *mut u8, old_size: usize, new_size: usize) -> *mut u8 {
        if old_size > SMALL_BYTES_MAX && new_size > SMALL_BYTES_MAX {
            // SAFETY: the caller's promise; both sizes are beyond those that are rounded.
            return unsafe { realloc(block, layout(old_size), new_size) };
        }
        if old_size.max(new_size) <= SMALL_BYTES_MAX && old_size.div_ceil(STEP) == new_size.div_ceil(STEP) {
            return block;
        }
        let moved = self.allocate(new_size);
        if !moved.is_null() {
            // SAFETY: both have so many bytes, and the new one is another block.
            unsafe {
                ptr::copy_nonoverlapping(block, moved, old_size.min(new_size));
                self.free(block, old_size);
            }
        }
        moved
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        for (place, list) in self.lists.into_iter().enumerate() {
            let mut block = list;
            while !block.is_null() {
                // SAFETY: a block in a list is free, begins with what comes after it, and has its list's size.
                unsafe {
                    let next = (*block).next;
                    dealloc(block.cast(), layout(place * STEP));
                    block = next;
                }
            }
        }
    }
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
                memory.spare.free(block.cast(), old_size);
                ptr::null_mut()
            }
            (0, _) => memory.spare.allocate(new_size),
            (_, _) => memory.spare.resize(block.cast(), old_size, new_size),
        }
    };
    if !given.is_null() || new_size == 0 {
        memory.used = used;
    }
    given.cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resized(memory: &mut Memory, block: *mut u8, old: usize, new: usize) -> *mut u8 {
        allocate(ptr::from_mut(memory).cast(), block.cast(), old, new).cast()
    }

    #[test]
    fn blocks_keep_their_bytes_through_every_change_of_size_and_are_used_again() {
        let mut memory = Memory::new(1 << 20);
        let sizes = [1, 15, 16, 17, 100, 255, 256, 257, 272, 1_000, 5_000];
        for old in sizes {
            for new in sizes {
                let block = resized(&mut memory, ptr::null_mut(), 4, old);
                let bytes = |count: usize| (0..count).map(|at| (at % 251) as u8).collect::<Vec<_>>();
                // SAFETY: the blocks have the sizes that were asked for.
                let kept = unsafe {
                    ptr::copy_nonoverlapping(bytes(old).as_ptr(), block, old);
                    let block = resized(&mut memory, block, old, new);
                    let kept = std::slice::from_raw_parts(block, old.min(new)).to_vec();
                    resized(&mut memory, block, new, 0);
                    kept
                };
                assert_eq!(kept, bytes(old.min(new)), "{old} to {new}");
                assert_eq!(memory.used, 0);
            }
        }
        let first = resized(&mut memory, ptr::null_mut(), 4, 40);
        resized(&mut memory, first, 40, 0);
        assert_eq!(resized(&mut memory, ptr::null_mut(), 4, 33), first, "the next one of its size");
        resized(&mut memory, first, 33, 0);
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_limit_is_that_of_what_is_used() {
        let mut memory = Memory::new(1 << 20);
        for size in [16, 64, 256] {
            let blocks: Vec<_> =
                (0..(1 << 20) / size).map(|_| resized(&mut memory, ptr::null_mut(), 4, size)).collect();
            assert!(blocks.iter().all(|block| !block.is_null()), "up to the limit");
            assert!(resized(&mut memory, ptr::null_mut(), 4, 1).is_null(), "and not beyond");
            for block in blocks {
                resized(&mut memory, block, size, 0);
            }
            assert!(memory.used == 0 && memory.spare.bytes <= SPARE_BYTES_MAX);
        }
    }
}
