//! Where in a script something happens.

use std::ffi::CStr;
use std::mem::MaybeUninit;

use super::{Lua, raw};
use crate::runtime::ENTRY_POINTS;

/// A place in a script.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The function's name; empty where it has none.
    pub function: String,
}

impl Lua {
    /// The place that runs, of the innermost function that is the script's own.
    pub fn place(self) -> Option<Place> {
        const SLOTS: i32 = 4;
        if !self.reserve(SLOTS) {
            return None;
        }
        (0..).map_while(|level| self.place_at(level)).flatten().next()
    }

    /// The place that runs at a level of the call stack: none beyond its end, `Some(None)` for C and for
    /// what is no part of the script's text.
    fn place_at(self, level: i32) -> Option<Option<Place>> {
        const WHAT: &CStr = c"Slnf";
        const SCRIPT: &CStr = c"=script";
        let mut debug = MaybeUninit::<raw::lua_Debug>::zeroed();
        // SAFETY: Lua fills what is asked for and pushes the function; zeroes are valid for the rest, and texts
        // live as long as the function, which is on the stack.
        let (line, name) = unsafe {
            if raw::lua_getstack(self.0, level, debug.as_mut_ptr()) == 0 {
                return None;
            }
            raw::lua_getinfo(self.0, WHAT.as_ptr(), debug.as_mut_ptr());
            let debug = debug.assume_init();
            let line = if CStr::from_ptr(debug.source) == SCRIPT { debug.currentline } else { 0 };
            let name =
                (!debug.name.is_null()).then(|| CStr::from_ptr(debug.name).to_string_lossy().into_owned());
            (line, name)
        };
        let line = u32::try_from(line).ok().filter(|&line| line > 0);
        let place = line.map(|line| Place { line, function: name.unwrap_or_else(|| self.entry_point()) });
        self.pop(1);
        Some(place)
    }

    /// The name of the entry point that the function at the top is, which nothing in the script calls; empty if
    /// it is none.
    fn entry_point(self) -> String {
        let is_it = |name: &&(&str, i32)| {
            self.push_globals();
            self.push_str(name.0);
            self.raw_get(-2);
            let same = self.same(-1, -3);
            self.pop(2);
            same
        };
        ENTRY_POINTS.iter().find(is_it).map_or_else(String::new, |(name, _)| (*name).to_owned())
    }
}
