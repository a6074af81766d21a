//! What values are.

use rquickjs_sys as qjs;

use super::View;

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `undefined`.
    Undefined,
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number that is held as an integer of 32 bits.
    Integer,
    /// Any other number.
    Float,
    /// A `BigInt`.
    BigInt,
    /// A string.
    String,
    /// A symbol.
    Symbol,
    /// An object, an array, a function.
    Object,
    /// What scripts never see.
    Other,
}

impl View {
    /// `undefined`.
    pub const UNDEFINED: Self = Self(qjs::JS_UNDEFINED);
    /// `null`.
    pub const NULL: Self = Self(qjs::JS_NULL);

    #[inline]
    pub(super) fn tag(self) -> i32 {
        // SAFETY: reading a value's tag is always possible.
        unsafe { qjs::JS_VALUE_GET_NORM_TAG(self.0) }
    }

    /// Whether references to it are counted.
    #[inline]
    pub(super) fn is_counted(self) -> bool {
        // SAFETY: see `tag`.
        unsafe { qjs::JS_VALUE_HAS_REF_COUNT(self.0) }
    }

    /// What it is.
    #[inline]
    pub fn kind(self) -> Kind {
        match self.tag() {
            qjs::JS_TAG_UNDEFINED => Kind::Undefined,
            qjs::JS_TAG_NULL => Kind::Null,
            qjs::JS_TAG_BOOL => Kind::Boolean,
            qjs::JS_TAG_INT => Kind::Integer,
            qjs::JS_TAG_FLOAT64 => Kind::Float,
            qjs::JS_TAG_BIG_INT | qjs::JS_TAG_SHORT_BIG_INT => Kind::BigInt,
            qjs::JS_TAG_STRING | qjs::JS_TAG_STRING_ROPE => Kind::String,
            qjs::JS_TAG_SYMBOL => Kind::Symbol,
            qjs::JS_TAG_OBJECT => Kind::Object,
            _ => Kind::Other,
        }
    }

    /// Whether it is `undefined` or `null`.
    #[inline]
    pub fn is_nothing(self) -> bool {
        matches!(self.kind(), Kind::Undefined | Kind::Null)
    }

    /// Whether both are the same object.
    #[inline]
    pub fn is_same_object(self, other: Self) -> bool {
        // SAFETY: both are objects, which are pointers.
        self.kind() == Kind::Object
            && other.kind() == Kind::Object
            && unsafe { qjs::JS_VALUE_GET_PTR(self.0) == qjs::JS_VALUE_GET_PTR(other.0) }
    }

    /// How many references an object has. The engine counts them before its objects; a test holds it to that.
    #[inline]
    pub fn references(self) -> i32 {
        debug_assert_eq!(self.kind(), Kind::Object);
        // SAFETY: an object's count is in the header before it, in its last four bytes.
        unsafe { qjs::JS_VALUE_GET_PTR(self.0).cast::<i32>().sub(1).read() }
    }

    /// A number that is held as an integer.
    #[inline]
    pub(super) fn int(self) -> i32 {
        // SAFETY: the caller looked at the kind.
        unsafe { qjs::JS_VALUE_GET_INT(self.0) }
    }

    #[inline]
    pub(super) fn float(self) -> f64 {
        // SAFETY: the caller looked at the kind.
        unsafe { qjs::JS_VALUE_GET_FLOAT64(self.0) }
    }
}
