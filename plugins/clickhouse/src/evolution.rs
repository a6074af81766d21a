//! The way from a target as it is to its design.
//!
//! Only what keeps every stored value is done: columns are added, widened and renamed. A column that left the
//! source stays; one whose name went to another column is kept aside (B091). Where a column cannot hold what the
//! source's holds now, a new one is put beside it, for the rows from there on. What cannot be done is refused.
//! Everything is decided from the table as it is, so that the same change may come twice, and an earlier one again.

use tarn_batch::Table;
use tarn_sdk::{Description, Failure, Fill, UsualTypes};

use crate::calendar_range::CalendarRange;
use crate::change::{Change, Earlier, Older};
use crate::column_type::usual_type;
use crate::config::BESIDE_NAMES_MAX;
use crate::design::{Design, DesignColumn};
use crate::encoder::{Encoder, holds_every};
use crate::existing::Existing;
use crate::filling::Filling;
use crate::nested::{self, Named};
use crate::origin::Origin;
use crate::target_type::TargetType;
use crate::targets::column_missing;
use crate::widening::{common, widens};

/// See the module's documentation.
pub(crate) struct Evolution<'a> {
    table: &'a Table,
    fills: &'a [Fill],
    /// Places of columns whose values the target had.
    delivered: &'a [usize],
    design: &'a Design,
    existing: &'a Existing,
    range: CalendarRange,
    /// What the mirror says of types.
    usual: &'a UsualTypes,
    /// The table's columns as the changes so far leave them.
    columns: Vec<Present<'a>>,
    changes: Vec<Change>,
}

/// A column that is there.
struct Present<'a> {
    name: String,
    /// Its name before the changes.
    found_as: &'a str,
    origin: Option<Origin>,
}

impl<'a> Evolution<'a> {
    pub(crate) fn new(
        description: &'a Description,
        design: &'a Design,
        existing: &'a Existing,
        range: CalendarRange,
        usual: &'a UsualTypes,
    ) -> Self {
        let Description { table, fills, delivered } = description;
        let present =
            |(name, origin): (&'a str, _)| Present { name: name.to_owned(), found_as: name, origin };
        let columns = existing.origins().map(present).collect();
        Self { table, fills, delivered, design, existing, range, usual, columns, changes: Vec::new() }
    }

    /// The steps, in their order.
    pub(crate) fn changes(mut self) -> Result<Vec<Change>, Failure> {
        // A table of someone else's is not touched.
        if let Some((difference, hint)) = self.existing.own_differences(self.design).into_iter().next() {
            let message = format!("table {} is there, and {difference}", self.design.target);
            return Err(Failure::permanent("target_incompatible", message)
                .with_hint(hint)
                .with_table(self.table.qualified_name()));
        }
        for column in &self.design.columns {
            let keeps_name = self.holder(column).is_some_and(|(oldest, _)| !self.takes_name(oldest, column));
            if !keeps_name {
                self.make_way(column)?;
            }
            match self.holder(column) {
                Some((oldest, holder)) if keeps_name => {
                    let (name, source) = (self.columns[oldest].name.clone(), self.source_of(column));
                    self.changes.push(Change::KeepName { name, wanted: column.name.clone(), source });
                    self.retype(column, holder)?;
                }
                Some((oldest, holder)) => {
                    // Values of an earlier type are in the oldest; it has the name, and the others one of their own.
                    if oldest == holder || !self.is_taken_beside(&column.name, oldest) {
                        self.rename(oldest, column)?;
                    }
                    self.retype(column, holder)?;
                }
                None => self.add(column)?,
            }
        }
        self.keep();
        Ok(self.changes)
    }

    /// Puts a column aside that has the name of this one and holds another one of the source's.
    fn make_way(&mut self, column: &DesignColumn) -> Result<(), Failure> {
        let Some(wanted) = column.origin else { return Ok(()) };
        let other = |present: &Present<'_>| {
            present
                .origin
                .filter(|origin| present.name == column.name && origin.is_beside(wanted) && *origin != wanted)
        };
        let found = self.columns.iter().enumerate().find_map(|(at, present)| Some((at, other(present)?)));
        let Some((at, origin)) = found else { return Ok(()) };
        let (from, to) = (self.columns[at].name.clone(), origin.aside(&column.name));
        self.give_name(at, &to)?;
        self.changes.push(Change::SetAside { from, to });
        Ok(())
    }

    /// The oldest column that holds values of this one, and the one that rows go to.
    fn holder(&self, column: &DesignColumn) -> Option<(usize, usize)> {
        let by_origin = |present: &Present<'_>| present.origin.is_some() && present.origin == column.origin;
        let mut places: Vec<_> = (0..self.columns.len()).filter(|&at| by_origin(&self.columns[at])).collect();
        if places.is_empty() {
            places.extend(self.columns.iter().position(|present| present.name == column.name));
        }
        let names: Vec<_> = places.iter().map(|&at| self.columns[at].found_as).collect();
        let source = &self.table.columns[column.source].data_type;
        let name = self.existing.holder_of(&names, source, self.range)?;
        let holder = places.iter().copied().find(|&at| self.columns[at].found_as == name)?;
        Some((*places.first()?, holder))
    }

    /// Whether another column of the same one of the source's has a name.
    fn is_taken_beside(&self, name: &str, at: usize) -> bool {
        let origin = self.columns[at].origin;
        let mut others = self.columns.iter().enumerate().filter(|(other, _)| *other != at);
        others.any(|(_, present)| present.name == name && present.origin == origin)
    }

    /// Whether a column can have this one's name, as far as ClickHouse's reading of dots goes. Rows find their column by its
    /// number, so that one which keeps its name holds them as well.
    fn takes_name(&self, at: usize, column: &DesignColumn) -> bool {
        let Present { name, found_as, .. } = &self.columns[at];
        let to = Named { name: &column.name, is_array: self.existing.is_array(found_as) };
        // A key's column is refused with a remedy of its own.
        *name == column.name
            || !self.existing.has_nested()
            || self.existing.is_sorting_key(found_as)
            || nested::can_be_renamed(name, to, self.present().filter(|other| other.name != name))
    }

    /// The columns that are there, with those that are to be added.
    fn present(&self) -> impl Iterator<Item = Named<'_>> {
        let found = |present: &'_ Present<'_>| self.existing.is_array(present.found_as);
        let there =
            self.columns.iter().map(move |column| Named { name: &column.name, is_array: found(column) });
        let added = self.changes.iter().filter_map(|change| match change {
            Change::Add { column, .. } => Some(Named::of(column)),
            _ => None,
        });
        there.chain(added)
    }

    /// A column that ClickHouse would not have beside one that is there.
    fn refuse_clash(&self, column: &DesignColumn) -> Result<(), Failure> {
        let named = Named::of(column);
        let other = self.present().find(|other| named.is_kept_out_by(*other));
        let Some(other) = other.filter(|_| self.existing.has_nested()) else { return Ok(()) };
        let (name, table) = (&column.name, self.table.qualified_name());
        let message = format!("cannot be added: {}", nested::why(name, other.name));
        Err(self.refused(name, &message).with_hint(format!(
            "have it under another name there by `tarn mirror edit … --column-name {table}:{}=<another name, without a dot>`, or \
             leave it out of the mirror",
            self.source_of(column)
        )))
    }

    fn rename(&mut self, at: usize, column: &DesignColumn) -> Result<(), Failure> {
        let from = self.columns[at].name.clone();
        if from == column.name {
            return Ok(());
        }
        self.give_name(at, &column.name)?;
        self.changes.push(Change::Rename { from, to: column.name.clone(), source: self.source_of(column) });
        Ok(())
    }

    /// What the source calls a column.
    fn source_of(&self, column: &DesignColumn) -> String {
        self.table.columns[column.source].name.clone()
    }

    fn give_name(&mut self, at: usize, name: &str) -> Result<(), Failure> {
        let from = self.columns[at].name.clone();
        if self.existing.is_sorting_key(self.columns[at].found_as) {
            let message = "is part of the sorting key, whose columns ClickHouse does not rename";
            let table = self.table.qualified_name();
            return Err(self.refused(&from, message).with_hint(format!(
                "have it keep its name there by `tarn mirror edit … --column-name {table}:<name at the source>={from}`, or \
                 resync the mirror"
            )));
        }
        if self.columns.iter().any(|present| present.name == name) {
            return Err(self.refused(&from, &format!("would be a second {name}")));
        }
        name.clone_into(&mut self.columns[at].name);
        Ok(())
    }

    /// A new column shows what the source holds in the rows that are there already. Where that is not known it
    /// is NULL, for anything else would be made up.
    fn add(&mut self, column: &DesignColumn) -> Result<(), Failure> {
        if self.delivered.binary_search(&column.source).is_ok() {
            return Err(column_missing(&self.design.target, self.table, &column.name));
        }
        if self.table.columns[column.source].key > 0 {
            let message = "became part of the key, which a table cannot be sorted by later";
            return Err(self.refused(&column.name, message));
        }
        self.refuse_clash(column)?;
        let data_type = column.data_type.clone().nullable();
        let source = &self.table.columns[column.source].data_type;
        let fill = self.fills.iter().find(|fill| fill.column == column.source);
        let filling = fill.map(|fill| Filling::new(source, &data_type, &fill.value, self.range));
        let earlier = match filling {
            Some(Some(filling)) => Earlier::Value(filling),
            Some(None) => Earlier::Unfillable,
            None if column.data_type.is_nullable() => Earlier::Null,
            None => Earlier::Unknown,
        };
        let source = self.source_of(column);
        let column = DesignColumn { data_type, ..column.clone() };
        self.changes.push(Change::Add { column, earlier, source });
        Ok(())
    }

    /// Lets a column hold what the source's holds now, or puts one beside it that does.
    fn retype(&mut self, column: &DesignColumn, at: usize) -> Result<(), Failure> {
        let source = &self.table.columns[column.source];
        let Present { found_as, name, .. } = &self.columns[at];
        let (found_as, name) = (*found_as, name.clone());
        let Some(found) = self.existing.type_of(found_as) else {
            return Err(self.refused(&name, "has a type or default that rows cannot go to"));
        };
        let (held, wanted) = (found.value_type(), column.data_type.value_type());
        let encodes = Encoder::new(&source.data_type, found, self.range).is_some();
        let value_type = match common(held, wanted) {
            Some(common) if common == *held => found.clone(),
            // A key keeps a type that rows can go to.
            Some(_) if source.key > 0 && encodes && !widens(held, wanted) => found.clone(),
            Some(common) if common == *wanted => column.data_type.clone(),
            Some(common) => common,
            None if encodes && holds_every(&source.data_type, found) => found.clone(),
            // Where there can be none beside it, the values that fit go on.
            None => match self.put_beside(column, at, found) {
                Err(_) if encodes => found.clone(),
                done => return done,
            },
        };
        let nullable = column.data_type.is_nullable() || found.is_nullable();
        let to = if nullable { value_type.nullable() } else { value_type };
        if to == *found {
            return Ok(());
        }
        if source.key > 0 && to.value_type() != held {
            let message = "is part of the sorting key, whose type ClickHouse does not change";
            return Err(self.refused(&name, message));
        }
        let source = source.name.clone();
        self.changes.push(Change::Widen { name, from: found.clone(), to, source });
        Ok(())
    }

    /// Adds a column for the values of another type. The one that is there holds nothing of later rows, and says so by
    /// NULL: where it cannot, nothing is done.
    fn put_beside(&mut self, column: &DesignColumn, at: usize, found: &TargetType) -> Result<(), Failure> {
        let source = &self.table.columns[column.source];
        let Present { found_as, name, origin } = &self.columns[at];
        let message = format!("is {found} and would have to be {}", column.data_type);
        if source.key > 0
            || self.existing.is_sorting_key(found_as)
            || self.existing.is_partition_key(found_as)
        {
            let message = format!("{message}; rows are sorted or partitioned by it");
            return Err(self.refused(name, &message));
        }
        // What holds no NULL at the target could not tell rows from before.
        let wanted = tarn_batch::Column { nullable: true, ..source.clone() };
        let data_type = match column.data_type.can_be_nullable() {
            true => column.data_type.clone().nullable(),
            false => usual_type(&wanted, self.usual),
        };
        if origin.is_none()
            || *origin != column.origin
            || !found.can_be_nullable()
            || !data_type.is_nullable()
        {
            return Err(self.refused(name, &message));
        }
        let older = Older {
            name: name.clone(),
            data_type: found.clone(),
            has_default: self.existing.has_default(found_as),
        };
        let Some(beside) = self.name_beside(&column.name, &data_type) else {
            return Err(self.refused(name, &message));
        };
        self.columns.push(Present { name: beside.clone(), found_as: "", origin: column.origin });
        let column = DesignColumn { name: beside, data_type, ..column.clone() };
        self.changes.push(Change::Beside { older, column, source: source.name.clone() });
        Ok(())
    }

    /// A name that no column has, made of the column's own and the type's.
    fn name_beside(&self, name: &str, data_type: &TargetType) -> Option<String> {
        let own = self.design.own.types();
        let is_free = |wanted: &String| {
            !self.columns.iter().any(|present| present.name == *wanted || present.found_as == *wanted)
                && !self.design.columns.iter().any(|column| column.name == *wanted)
                && !own.iter().any(|(own, _)| own == wanted)
        };
        let name = format!("{name}_{}", slug(data_type.value_type()));
        let numbered = (2..=BESIDE_NAMES_MAX).map(|number| format!("{name}_{number}"));
        std::iter::once(name.clone()).chain(numbered).find(is_free)
    }

    /// Names the columns of the table that hold nothing of later rows.
    fn keep(&mut self) {
        let origins = || self.design.columns.iter().filter_map(|column| column.origin);
        let left = self.columns.iter().filter(|present| {
            present.origin.is_some_and(|origin| {
                origins().any(|other| other.is_beside(origin)) && !origins().any(|other| other == origin)
            })
        });
        let retyped: Vec<String> =
            self.changes.iter().filter_map(Change::retyped).map(str::to_owned).collect();
        let kept = left.map(|present| Change::Keep { name: present.name.clone(), retyped: retyped.clone() });
        self.changes.extend(kept);
    }

    fn refused(&self, column: &str, message: &str) -> Failure {
        let message = format!("table {}: column {column} {message}", self.design.target);
        Failure::permanent("column_change_unsupported", message)
            .with_hint("resync the mirror, or change the table's target by hand and resume")
            .with_table(self.table.qualified_name())
    }
}

/// A type as a part of a name: `decimal_12_4`.
fn slug(data_type: &TargetType) -> String {
    let text = data_type.to_string().to_ascii_lowercase();
    let words =
        text.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}
