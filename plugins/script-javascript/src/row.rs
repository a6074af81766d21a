//! Rows as scripts see them: columns by name, decoded when they are touched.

use std::collections::BTreeMap;

use tarn_batch::{Cell, Column, Type};
use tarn_script::assign::Refusal;
use tarn_script::binding::Binding;
use tarn_script::config::ASSIGNED_BYTES_MAX;
use tarn_script::current::Which;

use crate::assign;
use crate::js::{Answer, Atom, Exotic, Js, Kind, Throw, Value, View};
use crate::read;
use crate::session::{Live, Session};

/// What a script is told that kept a row for longer than its call.
pub const STALE: &str = "this row belongs to an earlier record: keep what you need of it in variables";

/// Tables whose columns' names are kept. A changed table is another one, so all go when there are many.
const TABLES_MAX: usize = 1_024;

/// Slots of the cache of a table's names; a power of two. Scripts name few columns.
const SLOTS: usize = 64;

/// The names of a table's columns, as the engine holds them.
struct TableNames {
    atoms: Vec<Atom>,
    /// Numbers of names, and which column, counted from 1.
    cache: [(u32, u32); SLOTS],
}

/// The names of the columns of tables. They are held, so that their numbers stay theirs.
#[derive(Default)]
pub struct Names {
    /// The table of the current record, by its binding's serial.
    current: Option<(i64, TableNames)>,
    others: BTreeMap<i64, TableNames>,
}

impl Names {
    /// The names of a table's columns.
    #[inline]
    fn of(&mut self, js: Js, binding: &Binding) -> Answer<&mut TableNames> {
        let is_current = self.current.as_ref().is_some_and(|(serial, _)| *serial == binding.serial);
        if !is_current {
            let names = match self.others.remove(&binding.serial) {
                Some(names) => names,
                None => {
                    let columns = binding.table.columns.iter();
                    let atoms = columns.map(|column| js.atom(&column.name)).collect::<Answer<_>>()?;
                    TableNames { atoms, cache: [(0, 0); SLOTS] }
                }
            };
            if self.others.len() > TABLES_MAX {
                self.others.clear();
            }
            if let Some((serial, last)) = self.current.replace((binding.serial, names)) {
                self.others.insert(serial, last);
            }
        }
        match &mut self.current {
            Some((_, names)) => Ok(names),
            None => unreachable!("the current table's names were just put there"),
        }
    }
}

impl TableNames {
    /// The column of a name.
    #[inline]
    fn column(&mut self, name: u32) -> Option<usize> {
        let slot = &mut self.cache[name as usize % SLOTS];
        if slot.0 == name && slot.1 > 0 {
            return Some(slot.1 as usize - 1);
        }
        let column = self.atoms.iter().position(|atom| atom.number() == name)?;
        *slot = (name, column as u32 + 1);
        Some(column)
    }
}

/// The number that the object of a row holds: which row of which record.
fn number(which: Which, generation: u64) -> usize {
    (generation as usize) << 2 | 2 | which as usize
}

/// Which row of the current record an object is; none for other objects.
#[inline]
pub fn which(js: Js, object: View) -> Option<Answer<Which>> {
    let held = js.number_in(object, js.session().classes().row)?;
    let which = if held & 1 == 0 { Which::New } else { Which::Old };
    let current = &js.session().current;
    let generation = current.generation();
    let is_current = held == number(which, generation) && current.row(generation).is_some();
    Some(if is_current { Ok(which) } else { Err(Throw::of_type(STALE)) })
}

/// Which row of the current record an object is.
#[inline]
pub fn check(js: Js, object: View) -> Answer<Which> {
    which(js, object).unwrap_or_else(|| {
        Err(Throw::of_type(format_args!("a row is needed here, not {}", assign::described(js, object))))
    })
}

/// A row of the current record, always the same object; `null` when the record has no such row.
#[inline]
pub fn object(js: Js, which: Which) -> Answer {
    let session = js.session();
    if !session.current.has(which) {
        return Ok(js.null());
    }
    let generation = session.current.generation();
    let classes = session.classes();
    if let Some((object, of)) = &mut session.rows[which as usize] {
        if *of == generation {
            return Ok(object.clone());
        }
        // Nobody else holds it: the script cannot tell it from a new one.
        if object.references() == 1 {
            object.set_number(number(which, generation));
            *of = generation;
            return Ok(object.clone());
        }
    }
    let made = js.with_number(classes.row, number(which, generation))?;
    made.prevent_extensions()?;
    js.session().rows[which as usize] = Some((made.clone(), generation));
    Ok(made)
}

/// The column that a value names.
pub fn check_column(js: Js, name: View) -> Answer<usize> {
    let text = js.text(name)?;
    let Session { bindings, current, .. } = js.session();
    let binding = bindings.get(current.binding());
    binding.table.columns.iter().position(|column| column.name.as_bytes() == &*text).ok_or_else(|| {
        Throw::plain(format_args!("table {} has no column \"{}\"", binding.source, text.to_text()))
    })
}

/// Calls `with` with the description of a column of the current record's table.
pub fn column_named<T>(js: Js, column: usize, with: impl FnOnce(&Column) -> T) -> T {
    let Session { bindings, current, .. } = js.session();
    with(&bindings.get(current.binding()).table.columns[column])
}

/// Whether script code can change values of a type in place.
fn is_mutable(data_type: &Type) -> bool {
    matches!(data_type, Type::Json | Type::Array(_) | Type::Bytes)
}

/// What a column holds, as the script has it by now.
#[inline]
pub fn read_column(js: Js, which: Which, column: usize) -> Answer {
    let Session { bindings, current, live, .. } = js.session();
    let binding = bindings.get(current.binding());
    let described = &binding.table.columns[column];
    let mutable = is_mutable(&described.data_type);
    if mutable && let Some(found) = live.iter().find(|live| live.which == which && live.column == column) {
        return Ok(found.value.clone());
    }
    let damaged = |error| Throw::of_type(format_args!("column {}: {error}", described.name));
    let value = match current.cell(which, column).map_err(damaged)? {
        Cell::Value(bytes) => read::value(js, &described.data_type, bytes)?,
        Cell::Null => js.null(),
        Cell::Unchanged => js.undefined(),
    };
    if mutable && value.kind() == Kind::Object {
        js.session().live.push(Live { which, column, value: value.clone() });
    }
    Ok(value)
}

/// Why a column does not take a value, with what people call the column.
fn refused(js: Js, column: usize, refusal: &Refusal) -> Throw {
    let Session { bindings, current, .. } = js.session();
    let binding = bindings.get(current.binding());
    let described = binding.describe(&binding.table.columns[column]);
    Throw::plain(format_args!("{described} of {} {refusal}", binding.source))
}

/// Assigns to a column.
fn assign(js: Js, which: Which, column: usize, value: View) -> Answer<()> {
    let Session { bindings, current, live, .. } = js.session();
    let binding = bindings.get(current.binding());
    let columns = binding.table.columns.len();
    let Column { data_type, nullable, .. } = &binding.table.columns[column];
    let cell = current.cell(which, column).map_err(Throw::of_type)?;
    match value.kind() {
        // A column that was not sent reads as undefined: assigning that back changes nothing.
        Kind::Undefined if cell == Cell::Unchanged => return Ok(()),
        // As a document that says null reads as null.
        Kind::Null if *data_type == Type::Json && cell == Cell::Value(b"null") => return Ok(()),
        Kind::Null if !nullable => return Err(refused(js, column, &Refusal::NotNull)),
        Kind::Null => {
            live.retain(|live| live.which != which || live.column != column);
            current.set_null(which, column, columns);
            return Ok(());
        }
        _ => {}
    }
    if current.assigned_bytes() > ASSIGNED_BYTES_MAX {
        return Err(refused(js, column, &Refusal::TooMuch));
    }
    // Writing a document may run script code, so nothing of the session is borrowed meanwhile.
    if is_mutable(data_type) {
        return write_mutable(js, which, column, value);
    }
    let data_type = data_type.clone();
    let mut written = std::mem::take(&mut js.session().scratch);
    written.clear();
    let result = assign::write(js, value, &data_type, &mut written);
    let session = js.session();
    if result.is_ok() {
        let _: Result<(), ()> = session.current.set_value(which, column, columns, |out| {
            out.extend_from_slice(&written);
            Ok(())
        });
    }
    session.scratch = written;
    match result {
        Ok(()) => Ok(()),
        Err(assign::Error::Refused(refusal)) => Err(refused(js, column, &refusal)),
        Err(assign::Error::Thrown(throw)) => Err(throw),
    }
}

/// Assigns a document, an array or bytes, unless that is what the column holds.
fn write_mutable(js: Js, which: Which, column: usize, value: View) -> Answer<()> {
    let Session { bindings, current, .. } = js.session();
    let table = &bindings.get(current.binding()).table;
    let (data_type, columns) = (table.columns[column].data_type.clone(), table.columns.len());
    let write = |value: View| {
        let mut out = Vec::new();
        match assign::write(js, value, &data_type, &mut out) {
            Ok(()) => Ok(out),
            Err(assign::Error::Refused(refusal)) => Err(refused(js, column, &refusal)),
            Err(assign::Error::Thrown(throw)) => Err(throw),
        }
    };
    let given = write(value)?;
    let held = match js.session().current.cell(which, column) {
        Ok(Cell::Value(bytes)) => {
            let bytes = bytes.to_vec();
            // What cannot be written, such as a number beyond floats, is not what was given.
            read::value(js, &data_type, &bytes).and_then(|held| write(*held)).ok()
        }
        _ => None,
    };
    if held.as_ref() == Some(&given) {
        return Ok(());
    }
    let session = js.session();
    if !session
        .live
        .iter()
        .any(|live| live.which == which && live.column == column && live.value.is_same_object(value))
    {
        session.live.retain(|live| live.which != which || live.column != column);
    }
    let _: Result<(), ()> = session.current.set_value(which, column, columns, |out| {
        out.extend_from_slice(&given);
        Ok(())
    });
    Ok(())
}

/// Assigns what script code changed in place.
#[cold]
pub fn assign_changed(js: Js) -> Answer<()> {
    let changed: Vec<Live> = std::mem::take(&mut js.session().live);
    for Live { which, column, value } in changed {
        write_mutable(js, which, column, *value)?;
    }
    Ok(())
}

/// How the properties of rows are looked up.
pub struct Columns;

impl Columns {
    #[inline]
    fn find(js: Js, name: u32) -> Answer<Option<usize>> {
        let Session { bindings, current, names, .. } = js.session();
        Ok(names.of(js, bindings.get(current.binding()))?.column(name))
    }
}

impl Exotic for Columns {
    #[inline]
    fn get(js: Js, object: View, name: u32) -> Answer {
        let which = check(js, object)?;
        match Self::find(js, name)? {
            Some(column) => read_column(js, which, column),
            None => inherited(js, name),
        }
    }

    fn set(js: Js, object: View, name: u32, value: View) -> Answer<()> {
        let which = check(js, object)?;
        match Self::find(js, name)? {
            Some(column) => assign(js, which, column, value),
            None => Err(missing(js, name)),
        }
    }

    fn has(js: Js, object: View, name: u32) -> Answer<bool> {
        check(js, object)?;
        Ok(Self::find(js, name)?.is_some())
    }

    fn has_any(js: Js, object: View, name: u32) -> Answer<bool> {
        if Self::has(js, object, name)? {
            return Ok(true);
        }
        let prototype = js.prototype(js.session().classes().row);
        js.has_number(*prototype, name)
    }

    fn names(js: Js, object: View) -> Answer<Vec<Atom>> {
        check(js, object)?;
        let Session { bindings, current, .. } = js.session();
        bindings.get(current.binding()).table.columns.iter().map(|column| js.atom(&column.name)).collect()
    }

    fn refusal(_: Js, _: View) -> Throw {
        Throw::of_type("the columns of a row are fixed: assign a value or null to one")
    }
}

/// Names that the language itself asks every object for.
const ASKED_FOR: [&str; 2] = ["then", "toJSON"];

/// What rows inherit under a name that is no column's.
fn inherited(js: Js, name: u32) -> Answer {
    let prototype = js.prototype(js.session().classes().row);
    let found = js.get_number(*prototype, name)?;
    if found.kind() != Kind::Undefined {
        return Ok(found);
    }
    let asked = js.value_of_atom(name)?;
    if asked.kind() == Kind::Symbol || ASKED_FOR.iter().any(|known| is_text(js, &asked, known)) {
        return Ok(found);
    }
    Err(missing(js, name))
}

fn is_text(js: Js, value: &Value, text: &str) -> bool {
    js.text(**value).is_ok_and(|said| &*said == text.as_bytes())
}

fn missing(js: Js, name: u32) -> Throw {
    let said = js.value_of_atom(name).and_then(|name| match name.kind() {
        Kind::Symbol => Ok("a symbol".to_owned()),
        _ => Ok(format!("\"{}\"", js.text(*name)?.to_text())),
    });
    match said {
        Ok(name) => {
            let Session { bindings, current, .. } = js.session();
            let source = &bindings.get(current.binding()).source;
            Throw::plain(format_args!("table {source} has no column {name}"))
        }
        Err(throw) => throw,
    }
}
