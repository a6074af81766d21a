//! Classes of this crate's own objects: with data in the engine's memory, with a number, or with properties
//! that are looked up.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use rquickjs_sys as qjs;

use super::{Answer, Atom, Js, Throw, Value, View};

/// A class of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class(u32);

/// How the properties of a class of objects are looked up: `object` is one of them, `name` the number of a name
/// ([`Atom::number`]).
pub trait Exotic: 'static {
    /// Reads a property.
    fn get(js: Js, object: View, name: u32) -> Answer;
    /// Sets one.
    fn set(js: Js, object: View, name: u32, value: View) -> Answer<()>;
    /// Whether there is one, among the object's own.
    fn has(js: Js, object: View, name: u32) -> Answer<bool>;
    /// Whether there is one, among the prototype's too.
    fn has_any(js: Js, object: View, name: u32) -> Answer<bool>;
    /// The names of the object's own.
    fn names(js: Js, object: View) -> Answer<Vec<Atom>>;
    /// Why another one cannot be defined, or one deleted.
    fn refusal(js: Js, object: View) -> Throw;
}

impl Js {
    fn new_class(
        self,
        name: &CStr,
        finalizer: qjs::JSClassFinalizer,
        exotic: *mut qjs::JSClassExoticMethods,
    ) -> Answer<Class> {
        let mut class = 0;
        let definition =
            qjs::JSClassDef { class_name: name.as_ptr(), finalizer, gc_mark: None, call: None, exotic };
        // SAFETY: the engine copies the definition; exotic methods live as long as the program.
        unsafe {
            qjs::JS_NewClassID(self.runtime(), &mut class);
            if qjs::JS_NewClass(self.runtime(), class, &definition) < 0 {
                return Err(Throw::Pending);
            }
        }
        Ok(Class(class))
    }

    /// A class of objects that each hold a number.
    pub fn class_of_numbers(self, name: &CStr) -> Answer<Class> {
        self.new_class(name, None, ptr::null_mut())
    }

    /// A class of objects that each hold data.
    pub fn class_of_data(self, name: &CStr) -> Answer<Class> {
        self.new_class(name, Some(free_data), ptr::null_mut())
    }

    /// A class of objects that each hold a number and whose properties are looked up.
    pub fn class_of_exotics<E: Exotic>(self, name: &CStr) -> Answer<Class> {
        let methods = Box::leak(Box::new(qjs::JSClassExoticMethods {
            get_own_property: Some(get_own::<E>),
            get_own_property_names: Some(names::<E>),
            delete_property: Some(delete::<E>),
            define_own_property: Some(define::<E>),
            has_property: Some(has::<E>),
            get_property: Some(get::<E>),
            set_property: Some(set::<E>),
        }));
        self.new_class(name, None, methods)
    }

    /// Sets what the objects of a class inherit from.
    pub fn set_prototype(self, class: Class, prototype: Value) {
        // SAFETY: the engine takes the reference.
        unsafe { qjs::JS_SetClassProto(self.raw(), class.0, prototype.into_raw()) };
    }

    /// What the objects of a class inherit from.
    pub fn prototype(self, class: Class) -> Value {
        // SAFETY: see `runtime`.
        Value { view: View(unsafe { qjs::JS_GetClassProto(self.raw(), class.0) }), js: self }
    }

    /// Ties a constructor and the objects of a class together.
    pub fn set_constructor(self, constructor: View, class: Class) -> Answer<()> {
        let prototype = self.prototype(class);
        // SAFETY: live values.
        Js::done(unsafe { qjs::JS_SetConstructor(self.raw(), constructor.0, prototype.view.0) })?;
        Ok(())
    }

    /// The number of an object's class.
    pub fn class_number(self, object: View) -> u32 {
        // SAFETY: a live value.
        unsafe { qjs::JS_GetClassID(object.0) }
    }

    fn instance(self, class: Class) -> Answer {
        // SAFETY: the class was made by this crate.
        self.take(unsafe { qjs::JS_NewObjectClass(self.raw(), class.0) })
    }

    /// An object of a class of numbers.
    pub fn with_number(self, class: Class, number: usize) -> Answer {
        let object = self.instance(class)?;
        object.set_number(number);
        Ok(object)
    }

    /// The number that an object holds, if it is of that class.
    #[inline]
    pub fn number_in(self, object: View, class: Class) -> Option<usize> {
        if object.tag() != qjs::JS_TAG_OBJECT {
            return None;
        }
        // SAFETY: a live object. A number is never zero, which is what other objects give.
        let number = unsafe { qjs::JS_GetOpaque(object.0, class.0) }.addr();
        (number != 0).then_some(number)
    }

    /// An object of a class of data.
    pub fn with_data(self, class: Class, parts: [&[u8]; 2]) -> Answer {
        let object = self.instance(class)?;
        let length = parts[0].len() + parts[1].len();
        // SAFETY: the engine gives so many bytes, counted among the script's.
        unsafe {
            let start = qjs::js_malloc(self.raw(), (LENGTH + length) as _).cast::<u8>();
            if start.is_null() {
                return Err(Throw::Pending);
            }
            start.cast::<u32>().write(length as u32);
            let mut to = start.add(LENGTH);
            for part in parts {
                ptr::copy_nonoverlapping(part.as_ptr(), to, part.len());
                to = to.add(part.len());
            }
            qjs::JS_SetOpaque(object.view.0, start.cast());
        }
        Ok(object)
    }

    /// The data that an object holds, if it is of that class. It lives as long as the object.
    #[inline]
    pub fn data_in<'a>(self, object: View, class: Class) -> Option<&'a [u8]> {
        if object.tag() != qjs::JS_TAG_OBJECT {
            return None;
        }
        // SAFETY: a live object, whose data was written by `with_data`.
        unsafe {
            let start = qjs::JS_GetOpaque(object.0, class.0).cast::<u8>();
            if start.is_null() {
                return None;
            }
            Some(std::slice::from_raw_parts(start.add(LENGTH), start.cast::<u32>().read() as usize))
        }
    }
}

impl Value {
    /// Makes an object of a class of numbers hold another one.
    pub fn set_number(&self, number: usize) {
        debug_assert_ne!(number, 0);
        // SAFETY: a live object of this crate's own.
        unsafe { qjs::JS_SetOpaque(self.view.0, ptr::without_provenance_mut::<c_void>(number)) };
    }
}

/// What lies before data: its length.
const LENGTH: usize = 8;

unsafe extern "C" fn free_data(runtime: *mut qjs::JSRuntime, object: qjs::JSValue) {
    let mut class = 0;
    // SAFETY: the engine calls this once, for an object of a class of data.
    unsafe {
        let data = qjs::JS_GetAnyOpaque(object, &mut class);
        qjs::js_free_rt(runtime, data);
    }
}

/// The answer of a function that says yes or no, for the engine.
fn said(js: Js, answer: Answer<bool>) -> c_int {
    match answer {
        Ok(yes) => yes.into(),
        Err(throw) => {
            js.throw(throw);
            -1
        }
    }
}

unsafe extern "C" fn get<E: Exotic>(
    context: *mut qjs::JSContext,
    object: qjs::JSValue,
    name: qjs::JSAtom,
    _: qjs::JSValue,
) -> qjs::JSValue {
    let js = Js::of(context);
    match E::get(js, View(object), name) {
        Ok(value) => value.into_raw(),
        Err(throw) => js.throw(throw),
    }
}

unsafe extern "C" fn set<E: Exotic>(
    context: *mut qjs::JSContext,
    object: qjs::JSValue,
    name: qjs::JSAtom,
    value: qjs::JSValue,
    receiver: qjs::JSValue,
    _: c_int,
) -> c_int {
    let js = Js::of(context);
    if !View(object).is_same_object(View(receiver)) {
        return said(js, Err(E::refusal(js, View(object))));
    }
    said(js, E::set(js, View(object), name, View(value)).map(|()| true))
}

unsafe extern "C" fn has<E: Exotic>(
    context: *mut qjs::JSContext,
    object: qjs::JSValue,
    name: qjs::JSAtom,
) -> c_int {
    let js = Js::of(context);
    said(js, E::has_any(js, View(object), name))
}

unsafe extern "C" fn delete<E: Exotic>(
    context: *mut qjs::JSContext,
    object: qjs::JSValue,
    _: qjs::JSAtom,
) -> c_int {
    let js = Js::of(context);
    said(js, Err(E::refusal(js, View(object))))
}

unsafe extern "C" fn define<E: Exotic>(
    context: *mut qjs::JSContext,
    object: qjs::JSValue,
    _: qjs::JSAtom,
    _: qjs::JSValue,
    _: qjs::JSValue,
    _: qjs::JSValue,
    _: c_int,
) -> c_int {
    let js = Js::of(context);
    said(js, Err(E::refusal(js, View(object))))
}

unsafe extern "C" fn get_own<E: Exotic>(
    context: *mut qjs::JSContext,
    description: *mut qjs::JSPropertyDescriptor,
    object: qjs::JSValue,
    name: qjs::JSAtom,
) -> c_int {
    let js = Js::of(context);
    match E::has(js, View(object), name) {
        Ok(true) if !description.is_null() => match E::get(js, View(object), name) {
            Ok(value) => {
                // SAFETY: the engine passes room for a description.
                unsafe {
                    description.write(qjs::JSPropertyDescriptor {
                        flags: qjs::JS_PROP_C_W_E as c_int,
                        value: value.into_raw(),
                        getter: qjs::JS_UNDEFINED,
                        setter: qjs::JS_UNDEFINED,
                    });
                }
                1
            }
            Err(throw) => said(js, Err(throw)),
        },
        found => said(js, found),
    }
}

unsafe extern "C" fn names<E: Exotic>(
    context: *mut qjs::JSContext,
    table: *mut *mut qjs::JSPropertyEnum,
    count: *mut u32,
    object: qjs::JSValue,
) -> c_int {
    let js = Js::of(context);
    let found = match E::names(js, View(object)) {
        Ok(found) => found,
        Err(throw) => return said(js, Err(throw)),
    };
    // SAFETY: the engine passes both places, and frees the table and its names.
    unsafe {
        let size = size_of::<qjs::JSPropertyEnum>() * found.len().max(1);
        let start = qjs::js_malloc(context, size as _).cast::<qjs::JSPropertyEnum>();
        if start.is_null() {
            return -1;
        }
        for (at, name) in found.iter().enumerate() {
            start.add(at).write(qjs::JSPropertyEnum { is_enumerable: true, atom: name.to_raw() });
        }
        table.write(start);
        count.write(found.len() as u32);
    }
    0
}
