//! Properties of objects.

use std::ffi::CString;
use std::ptr;

use rquickjs_sys as qjs;

use super::function::{Getter, Native, getter_of};
use super::{Answer, Atom, Js, Value, View};

impl Value {
    /// A property by its name.
    pub fn get(&self, name: &str) -> Answer {
        self.js.get(self.view, name)
    }

    /// A property of the object's own; `undefined` where it has none.
    pub fn get_own(&self, name: &str) -> Answer {
        let atom = self.js.atom(name)?;
        // SAFETY: a live value.
        let found =
            unsafe { qjs::JS_GetOwnProperty(self.js.raw(), ptr::null_mut(), self.view.0, atom.number()) };
        if Js::done(found)? { self.js.get_atom(self.view, &atom) } else { Ok(self.js.undefined()) }
    }

    /// Sets a property.
    pub fn set(&self, name: &str, value: Value) -> Answer<()> {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: the engine takes the value's reference.
        Js::done(unsafe {
            qjs::JS_SetPropertyStr(self.js.raw(), self.view.0, name.as_ptr(), value.into_raw())
        })?;
        Ok(())
    }

    /// Defines a property of an object that was just made, that may be changed and is enumerated.
    pub fn define(&self, name: &str, value: Value) -> Answer<()> {
        let name = self.js.atom(name)?;
        let flags = qjs::JS_PROP_C_W_E as i32;
        // SAFETY: the engine takes the value's reference.
        Js::done(unsafe {
            qjs::JS_DefinePropertyValue(self.js.raw(), self.view.0, name.number(), value.into_raw(), flags)
        })?;
        Ok(())
    }

    /// Defines a property as [`Value::define`] does.
    pub fn define_atom(&self, name: &Atom, value: Value) -> Answer<()> {
        let flags = qjs::JS_PROP_C_W_E as i32;
        // SAFETY: the engine takes the value's reference.
        Js::done(unsafe {
            qjs::JS_DefinePropertyValue(self.js.raw(), self.view.0, name.number(), value.into_raw(), flags)
        })?;
        Ok(())
    }

    /// Appends an item to an array that was just made.
    pub fn item(&self, at: u32, value: Value) -> Answer<()> {
        let flags = qjs::JS_PROP_C_W_E as i32;
        // SAFETY: the engine takes the value's reference.
        Js::done(unsafe {
            qjs::JS_DefinePropertyValueUint32(self.js.raw(), self.view.0, at, value.into_raw(), flags)
        })?;
        Ok(())
    }

    /// Gives an object a method.
    pub fn method<F: Native>(&self, name: &str, length: i32, function: F) -> Answer<()> {
        let function = self.js.function(name, length, function)?;
        self.hidden(name, function)
    }

    /// Sets a property that is not enumerated.
    pub fn hidden(&self, name: &str, value: Value) -> Answer<()> {
        let name = self.js.atom(name)?;
        let flags = (qjs::JS_PROP_CONFIGURABLE | qjs::JS_PROP_WRITABLE) as i32;
        // SAFETY: the engine takes the value's reference.
        Js::done(unsafe {
            qjs::JS_DefinePropertyValue(self.js.raw(), self.view.0, name.number(), value.into_raw(), flags)
        })?;
        Ok(())
    }

    /// Gives an object a property that a function reads.
    pub fn getter<F: Getter>(&self, name: &str, getter: F) -> Answer<()> {
        let function = getter_of(self.js, name, getter)?;
        let name = self.js.atom(name)?;
        let flags = qjs::JS_PROP_CONFIGURABLE as i32;
        // SAFETY: the engine takes the function's reference.
        Js::done(unsafe {
            qjs::JS_DefinePropertyGetSet(
                self.js.raw(),
                self.view.0,
                name.number(),
                function.into_raw(),
                qjs::JS_UNDEFINED,
                flags,
            )
        })?;
        Ok(())
    }

    /// Refuses new properties, and another prototype.
    pub fn prevent_extensions(&self) -> Answer<()> {
        // SAFETY: a live value.
        Js::done(unsafe { qjs::JS_PreventExtensions(self.js.raw(), self.view.0) })?;
        Ok(())
    }
}

impl Js {
    /// A property of an object by its name.
    pub fn get(self, object: View, name: &str) -> Answer {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: the name ends with a zero byte.
        self.take(unsafe { qjs::JS_GetPropertyStr(self.raw(), object.0, name.as_ptr()) })
    }

    /// A property of an object by its name.
    pub fn get_atom(self, object: View, name: &Atom) -> Answer {
        // SAFETY: a live name.
        self.take(unsafe { qjs::JS_GetProperty(self.raw(), object.0, name.number()) })
    }

    /// An item of an array.
    pub fn get_item(self, array: View, at: u32) -> Answer {
        // SAFETY: a live value.
        self.take(unsafe { qjs::JS_GetPropertyUint32(self.raw(), array.0, at) })
    }

    /// How long an array is.
    pub fn length(self, array: View) -> Answer<usize> {
        let mut length = 0;
        // SAFETY: the engine writes the length.
        Js::done(unsafe { qjs::JS_GetLength(self.raw(), array.0, &mut length) })?;
        Ok(usize::try_from(length).unwrap_or(0))
    }

    /// The object's own names that are enumerated and no symbols, in their order.
    pub fn names(self, object: View) -> Answer<Vec<Atom>> {
        self.list(object, qjs::JS_GPN_STRING_MASK | qjs::JS_GPN_ENUM_ONLY)
    }

    /// The object's own names that are no symbols, also those that are not enumerated.
    pub fn own_names(self, object: View) -> Answer<Vec<Atom>> {
        self.list(object, qjs::JS_GPN_STRING_MASK)
    }

    fn list(self, object: View, flags: u32) -> Answer<Vec<Atom>> {
        let (mut table, mut count) = (ptr::null_mut(), 0);
        // SAFETY: the engine writes a table that is freed below; its names are taken over.
        unsafe {
            Js::done(qjs::JS_GetOwnPropertyNames(
                self.raw(),
                &mut table,
                &mut count,
                object.0,
                flags as i32,
            ))?;
            let names = (0..count as usize).map(|at| Atom { raw: (*table.add(at)).atom, js: self }).collect();
            qjs::js_free(self.raw(), table.cast());
            Ok(names)
        }
    }
}

impl Js {
    /// A property of an object by the number of its name.
    pub fn get_number(self, object: View, name: u32) -> Answer {
        // SAFETY: the number is of a live name.
        self.take(unsafe { qjs::JS_GetProperty(self.raw(), object.0, name) })
    }

    /// Whether an object has a property, or inherits it, by the number of its name.
    pub fn has_number(self, object: View, name: u32) -> Answer<bool> {
        // SAFETY: the number is of a live name.
        Self::done(unsafe { qjs::JS_HasProperty(self.raw(), object.0, name) })
    }
}
