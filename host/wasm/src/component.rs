//! A component that was checked, compiled and linked.

use std::collections::BTreeSet;
use std::sync::Arc;

use tarn_model::Failure;
use wasmtime::Engine;
use wasmtime::component::{HasSelf, InstancePre, Linker};

use crate::bindings::exports::tarn::plugin as guest;
use crate::bindings::tarn::plugin as host;
use crate::capability::Capability;
use crate::error::LoadError;
use crate::interface::{Extra, Surface};
use crate::manifest::{Kind, Manifest};
use crate::state::State;
use crate::ticker::Ticker;

/// A loaded component: instances are made of it in microseconds. Cloning shares it.
#[derive(Clone)]
pub struct Component(Arc<Loaded>);

struct Loaded {
    plugin: Arc<str>,
    label: Arc<str>,
    ticker: Arc<Ticker>,
    origin: Origin,
    pre: InstancePre<State>,
    source: Option<guest::source::GuestIndices>,
    destination: Option<guest::destination::GuestIndices>,
    script: Option<guest::script::GuestIndices>,
    inspection: Option<guest::inspection::GuestIndices>,
    lookup: Option<guest::lookup::GuestIndices>,
    comparison: Option<guest::comparison::GuestIndices>,
    replacement: Option<guest::replacement::GuestIndices>,
    parts: Option<guest::parts::GuestIndices>,
    preview: Option<guest::preview::GuestIndices>,
}

/// Where a component's machine code came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was compiled when it was loaded.
    Compiled,
    /// It was compiled before and kept.
    Cached,
}

impl Component {
    /// Links what the manifest grants, and finds the exports of the surface.
    pub(crate) fn link(
        engine: &Engine,
        ticker: Arc<Ticker>,
        manifest: &Manifest,
        compiled: &wasmtime::component::Component,
        surface: &Surface,
        origin: Origin,
    ) -> wasmtime::Result<Self> {
        let pre = linker(engine, &manifest.capabilities)?.instantiate_pre(compiled)?;
        let is = |kind| surface.kinds.contains(&kind);
        let source = is(Kind::Source).then(|| guest::source::GuestIndices::new(&pre)).transpose()?;
        let destination =
            is(Kind::Destination).then(|| guest::destination::GuestIndices::new(&pre)).transpose()?;
        let script = is(Kind::Script).then(|| guest::script::GuestIndices::new(&pre)).transpose()?;
        let has = |extra| surface.extras.contains(&extra);
        let inspection =
            has(Extra::Inspection).then(|| guest::inspection::GuestIndices::new(&pre)).transpose()?;
        let lookup = has(Extra::Lookup).then(|| guest::lookup::GuestIndices::new(&pre)).transpose()?;
        let comparison =
            has(Extra::Comparison).then(|| guest::comparison::GuestIndices::new(&pre)).transpose()?;
        let replacement =
            has(Extra::Replacement).then(|| guest::replacement::GuestIndices::new(&pre)).transpose()?;
        let parts = has(Extra::Parts).then(|| guest::parts::GuestIndices::new(&pre)).transpose()?;
        let preview = has(Extra::Preview).then(|| guest::preview::GuestIndices::new(&pre)).transpose()?;
        Ok(Self(Arc::new(Loaded {
            plugin: manifest.name.as_str().into(),
            label: manifest.label().into(),
            ticker,
            origin,
            pre,
            source,
            destination,
            script,
            inspection,
            lookup,
            comparison,
            replacement,
            parts,
            preview,
        })))
    }

    /// The plugin's name.
    pub fn plugin(&self) -> &str {
        &self.0.plugin
    }

    /// Whether it had to be compiled.
    pub fn origin(&self) -> Origin {
        self.0.origin
    }

    /// Whether it is of a kind.
    pub fn is(&self, kind: Kind) -> bool {
        match kind {
            Kind::Source => self.0.source.is_some(),
            Kind::Destination => self.0.destination.is_some(),
            Kind::Script => self.0.script.is_some(),
        }
    }

    /// The failure of whoever takes it for what it is not.
    pub(crate) fn is_no(&self, kind: Kind) -> Failure {
        LoadError::KindMissing { plugin: self.plugin().to_owned(), kind }.into()
    }

    /// See [`Manifest::label`].
    pub(crate) fn label(&self) -> Arc<str> {
        Arc::clone(&self.0.label)
    }

    pub(crate) fn ticker(&self) -> Arc<Ticker> {
        Arc::clone(&self.0.ticker)
    }

    pub(crate) fn pre(&self) -> &InstancePre<State> {
        &self.0.pre
    }

    pub(crate) fn source(&self) -> Option<&guest::source::GuestIndices> {
        self.0.source.as_ref()
    }

    pub(crate) fn destination(&self) -> Option<&guest::destination::GuestIndices> {
        self.0.destination.as_ref()
    }

    pub(crate) fn script(&self) -> Option<&guest::script::GuestIndices> {
        self.0.script.as_ref()
    }

    pub(crate) fn inspection(&self) -> Option<&guest::inspection::GuestIndices> {
        self.0.inspection.as_ref()
    }

    pub(crate) fn lookup(&self) -> Option<&guest::lookup::GuestIndices> {
        self.0.lookup.as_ref()
    }

    pub(crate) fn comparison(&self) -> Option<&guest::comparison::GuestIndices> {
        self.0.comparison.as_ref()
    }

    pub(crate) fn replacement(&self) -> Option<&guest::replacement::GuestIndices> {
        self.0.replacement.as_ref()
    }

    pub(crate) fn parts(&self) -> Option<&guest::parts::GuestIndices> {
        self.0.parts.as_ref()
    }

    pub(crate) fn preview(&self) -> Option<&guest::preview::GuestIndices> {
        self.0.preview.as_ref()
    }

    /// Whether it is a destination that tells what it would do to its tables.
    pub fn previews(&self) -> bool {
        self.0.destination.is_some() && self.0.preview.is_some()
    }

    /// Whether it is a destination that loads tables beside others and puts them in their place.
    pub fn replaces(&self) -> bool {
        self.0.destination.is_some() && self.0.replacement.is_some()
    }

    /// Whether it is a source whose rows can be read by key.
    pub fn looks_up(&self) -> bool {
        self.0.source.is_some() && self.0.lookup.is_some()
    }

    /// Whether it is a destination that compares rows with what it holds.
    pub fn compares(&self) -> bool {
        self.0.destination.is_some() && self.0.comparison.is_some()
    }
}

/// A linker that has what is granted and nothing else.
fn linker(engine: &Engine, granted: &BTreeSet<Capability>) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    host::types::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
    for capability in granted {
        match capability {
            Capability::Log => host::log::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?,
            Capability::Clock => host::clock::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?,
            Capability::Postgres => {
                host::postgres::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?
            }
            Capability::Clickhouse => {
                host::clickhouse::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?
            }
            Capability::Kafka => host::kafka::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?,
            Capability::Spool => host::spool::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?,
        }
    }
    Ok(linker)
}

impl std::fmt::Debug for Component {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Component")
            .field("plugin", &self.0.plugin)
            .field("origin", &self.0.origin)
            .finish_non_exhaustive()
    }
}
