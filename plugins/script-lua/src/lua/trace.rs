//! Where in a script something happens.

use std::ffi::CStr;
use std::mem::MaybeUninit;

use super::{Lua, raw};

impl Lua {
    /// The line that runs, of the innermost function that is the script's own.
    pub fn line(self) -> Option<u32> {
        (0..).map_while(|level| self.line_at(level)).flatten().next()
    }

    /// The line that runs at a level of the call stack: none beyond its end, `Some(None)` for C and for
    /// what is no part of the script's text.
    fn line_at(self, level: i32) -> Option<Option<u32>> {
        const SOURCE_AND_LINE: &CStr = c"Sl";
        const SCRIPT: &CStr = c"=script";
        let mut debug = MaybeUninit::<raw::lua_Debug>::zeroed();
        // SAFETY: Lua fills what is asked for; zeroes are valid for the rest.
        let line = unsafe {
            if raw::lua_getstack(self.0, level, debug.as_mut_ptr()) == 0 {
                return None;
            }
            raw::lua_getinfo(self.0, SOURCE_AND_LINE.as_ptr(), debug.as_mut_ptr());
            let debug = debug.assume_init();
            if CStr::from_ptr(debug.source) == SCRIPT { debug.currentline } else { 0 }
        };
        Some(u32::try_from(line).ok().filter(|&line| line > 0))
    }
}
