//! The memory of the engine: this program's, each block with its length before it.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use rquickjs_sys as qjs;

use crate::config::{HEADROOM_BLOCK_BYTES_MAX, HEADROOM_BYTES};

thread_local! {
    /// Bytes in use, of all engines of the thread: a guest has one.
    static USED: Cell<usize> = const { Cell::new(0) };
    /// Bytes that may be.
    static LIMIT: Cell<usize> = const { Cell::new(usize::MAX) };
    /// Whether the limit was reached: then there is some more for the error.
    static EXHAUSTED: Cell<bool> = const { Cell::new(false) };
}

/// Bytes in use.
pub(super) fn used() -> usize {
    USED.get()
}

/// Bounds the bytes in use.
pub(super) fn limit(bytes: usize) {
    LIMIT.set(bytes);
}

/// Whether the limit was reached since this was last asked.
pub(super) fn take_exhausted() -> bool {
    EXHAUSTED.replace(false)
}

/// Whether so many bytes more may be in use.
fn allows(bytes: usize) -> bool {
    let wanted = USED.get().saturating_add(bytes);
    if wanted <= LIMIT.get() {
        return true;
    }
    let is_for_the_error = EXHAUSTED.replace(true) && bytes <= HEADROOM_BLOCK_BYTES_MAX;
    is_for_the_error && wanted <= LIMIT.get().saturating_add(HEADROOM_BYTES)
}

/// What lies before each block: its length, in as many bytes as keep the block aligned.
const HEADER: usize = 16;

/// The functions that the engine allocates by.
pub fn functions() -> qjs::JSMallocFunctions {
    qjs::JSMallocFunctions {
        js_calloc: Some(zeroed),
        js_malloc: Some(block),
        js_free: Some(free),
        js_realloc: Some(resize),
        js_malloc_usable_size: Some(length),
    }
}

fn layout(length: usize) -> Option<Layout> {
    Layout::from_size_align(length.checked_add(HEADER)?, HEADER).ok()
}

/// Writes the header and gives the block after it.
unsafe fn begin(start: *mut u8, length: usize) -> *mut c_void {
    if start.is_null() {
        return ptr::null_mut();
    }
    USED.set(USED.get() + length);
    // SAFETY: the caller allocated the header and so many bytes.
    unsafe {
        start.cast::<usize>().write(length);
        start.add(HEADER).cast()
    }
}

unsafe extern "C" fn zeroed(_: *mut c_void, count: qjs::size_t, size: qjs::size_t) -> *mut c_void {
    let length = (count as usize).checked_mul(size as usize);
    match length.and_then(|length| Some((length, layout(length)?))) {
        // SAFETY: the layout is no zero-sized one.
        Some((length, layout)) if allows(length) => unsafe { begin(alloc_zeroed(layout), length) },
        _ => ptr::null_mut(),
    }
}

unsafe extern "C" fn block(_: *mut c_void, size: qjs::size_t) -> *mut c_void {
    match layout(size as usize) {
        // SAFETY: the layout is no zero-sized one.
        Some(layout) if allows(size as usize) => unsafe { begin(alloc(layout), size as usize) },
        _ => ptr::null_mut(),
    }
}

unsafe extern "C" fn free(_: *mut c_void, block: *mut c_void) {
    if block.is_null() {
        return;
    }
    // SAFETY: the block came from these functions.
    unsafe {
        let start = block.cast::<u8>().sub(HEADER);
        let length = start.cast::<usize>().read();
        USED.set(USED.get().saturating_sub(length));
        dealloc(start, Layout::from_size_align_unchecked(length + HEADER, HEADER));
    }
}

unsafe extern "C" fn resize(opaque: *mut c_void, old: *mut c_void, size: qjs::size_t) -> *mut c_void {
    // SAFETY: the block came from these functions.
    unsafe {
        if old.is_null() {
            return block(opaque, size);
        }
        if size == 0 {
            free(opaque, old);
            return ptr::null_mut();
        }
        let start = old.cast::<u8>().sub(HEADER);
        let length = start.cast::<usize>().read();
        let (Some(_), Some(whole)) = (layout(size as usize), (size as usize).checked_add(HEADER)) else {
            return ptr::null_mut();
        };
        if size as usize > length && !allows(size as usize - length) {
            return ptr::null_mut();
        }
        let grown = realloc(start, Layout::from_size_align_unchecked(length + HEADER, HEADER), whole);
        if !grown.is_null() {
            USED.set(USED.get().saturating_sub(length));
        }
        begin(grown, size as usize)
    }
}

unsafe extern "C" fn length(block: *const c_void) -> qjs::size_t {
    if block.is_null() {
        return 0;
    }
    // SAFETY: the block came from these functions.
    unsafe { block.cast::<u8>().sub(HEADER).cast::<usize>().read() as _ }
}
