//! Scripts: transforms of records.

use crate::bindings::script::exports::tarn::plugin::script as wit;
use crate::instance::{self, Slot};
use crate::{Failure, ScriptSettings, config};

pub use crate::bindings::script::exports::tarn::plugin::script::{Outcome, Rejection};

/// A transform of records: the interface `script` of `wit/v0.1`, which says what each function
/// promises.
pub trait Script: Sized + 'static {
    /// Which entry points it defines, as JSON: `{"entryPoints": ["onRecord"]}`. May be called before
    /// `open`.
    fn describe() -> String;
    /// Takes the settings.
    fn open(settings: ScriptSettings) -> Result<Self, Failure>;
    /// Transforms the rows of a batch, given and returned as the bytes they are.
    fn apply(&mut self, batch: Vec<u8>) -> Result<Outcome, Failure>;
}

impl<S: Slot<Plugin: Script>> wit::Guest for S {
    fn describe() -> String {
        <S::Plugin as Script>::describe()
    }

    fn open(settings: String) -> Result<(), Failure> {
        instance::make::<S>(|| Script::open(config::parse(&settings)?))
    }

    fn apply(batch: Vec<u8>) -> Result<Outcome, Failure> {
        instance::call::<S, _>(|script| script.apply(batch))
    }
}
