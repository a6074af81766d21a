//! What is done to a target, one step at a time, and what people are told of it before.

use tarn_sdk::{PlanStep, StepKind};

use crate::client::{Client, Error};
use crate::ddl::Ddl;
use crate::design::DesignColumn;
use crate::filling::Filling;
use crate::target_type::TargetType;

/// One step of the way from a table as it is to its design.
#[derive(Debug, PartialEq)]
pub(crate) enum Change {
    /// A column is called otherwise at the source.
    Rename { from: String, to: String, source: String },
    /// A column's name went to another one.
    SetAside { from: String, to: String },
    /// A column is new.
    Add { column: DesignColumn, earlier: Earlier, source: String },
    /// A column holds more.
    Widen { name: String, from: TargetType, to: TargetType, source: String },
    /// A column's values go to a new one, for it cannot hold them.
    Beside { older: Older, column: DesignColumn, source: String },
    /// A column is called otherwise at the source, and cannot be here.
    KeepName { name: String, wanted: String, source: String },
    /// A column left the source. Which columns got another type, for which the source may have written its rows anew: they
    /// are read again then, without this one.
    Keep { name: String, retyped: Vec<String> },
}

/// What rows from before a column hold in it at the source.
#[derive(Debug, PartialEq)]
pub(crate) enum Earlier {
    /// NULL.
    Null,
    /// Not known, of a column that cannot be NULL there.
    Unknown,
    /// A value that cannot be given as the column's default.
    Unfillable,
    /// A value.
    Value(Filling),
}

/// The column that a new one is put beside.
#[derive(Debug, PartialEq)]
pub(crate) struct Older {
    pub(crate) name: String,
    pub(crate) data_type: TargetType,
    /// Whether rows without the column show a value.
    pub(crate) has_default: bool,
}

impl Change {
    /// The column whose values the source may have written anew, in another type.
    pub(crate) fn retyped(&self) -> Option<&str> {
        match self {
            Self::Widen { name, from, to, .. } => is_rewritten(from, to).then_some(name),
            Self::Beside { older, .. } => Some(&older.name),
            _ => None,
        }
    }

    /// The step with its statements. The server is asked whether it reads a default as rows would bring it.
    pub(crate) fn step(self, ddl: &Ddl, client: &mut impl Client, target: &str) -> Result<PlanStep, Error> {
        Ok(match self {
            Self::Rename { from, to, source } => PlanStep {
                kind: StepKind::Rename,
                detail: format!("becomes {to}, as at the source"),
                statements: vec![ddl.rename_column(target, &from, &to)],
                column: from,
                source,
                warning: String::new(),
            },
            Self::SetAside { from, to } => PlanStep {
                kind: StepKind::SetAside,
                detail: format!("becomes {to}: its name is another column's at the source"),
                statements: vec![ddl.rename_column(target, &from, &to)],
                column: from,
                source: String::new(),
                warning: String::new(),
            },
            Self::Widen { name, from, to, source } => PlanStep {
                kind: StepKind::Widen,
                detail: format!(
                    "{from} becomes {to}, which holds every value of both{}",
                    if is_rewritten(&from, &to) { READ_AGAIN } else { "" }
                ),
                statements: vec![ddl.modify_column(target, &name, &to)],
                column: name,
                source,
                warning: String::new(),
            },
            Self::Add { column, earlier, source } => {
                PlanStep { source, ..added(&column, &earlier, ddl, client, target)? }
            }
            Self::Beside { older, column, source } => {
                PlanStep { source, ..beside(&older, &column, ddl, target) }
            }
            Self::KeepName { name, wanted, source } => PlanStep {
                kind: StepKind::Keep,
                detail: format!("keeps its name, and holds the values of what is {source} at the source"),
                statements: Vec::new(),
                warning: format!(
                    "what column {source} holds at the source goes to column {name} here, as before: ClickHouse does not let it \
                     be renamed to {wanted}, since it reads names with a dot as those of parts of a Nested. A resync makes the \
                     table with the column's new name"
                ),
                column: name,
                source,
            },
            Self::Keep { name, retyped } => PlanStep {
                kind: StepKind::Keep,
                detail: "left the source, or the mirror, and stays; later rows hold its default, or NULL"
                    .to_owned(),
                statements: Vec::new(),
                source: String::new(),
                warning: lost(&name, &retyped),
                column: name,
            },
        })
    }
}

/// What follows where a source stores values of a type otherwise.
const READ_AGAIN: &str = "; where the source writes its rows anew for that, they are read again beside the stream, unless TARN_REREAD is false";

/// Whether PostgreSQL writes a table anew where a column's type became one that is held so. It does not for more digits
/// before the point, finer moments, more labels, or NULL.
fn is_rewritten(from: &TargetType, to: &TargetType) -> bool {
    use TargetType::{DateTime64, Decimal, Enum};
    match (from.value_type(), to.value_type()) {
        (Decimal { scale, .. }, Decimal { scale: to, .. }) => scale != to,
        (DateTime64 { .. }, DateTime64 { .. }) | (Enum { .. }, Enum { .. }) => false,
        (from, to) => from != to,
    }
}

/// What a column loses that left the source, where all rows are read again.
fn lost(name: &str, retyped: &[String]) -> String {
    if retyped.is_empty() {
        return String::new();
    }
    format!(
        "the source has no values of column {name} any more: where its rows are read again for the other type of {}, they \
         show its default, or NULL, in it. Copy what it holds before, or have no rows read again (TARN_REREAD)",
        retyped.join(", ")
    )
}

fn added(
    column: &DesignColumn,
    earlier: &Earlier,
    ddl: &Ddl,
    client: &mut impl Client,
    target: &str,
) -> Result<PlanStep, Error> {
    let DesignColumn { name, data_type, .. } = column;
    let expression = match earlier {
        Earlier::Value(filling) => filling.confirmed(client, data_type)?,
        Earlier::Null | Earlier::Unknown | Earlier::Unfillable => None,
    };
    let warning = match (earlier, expression) {
        (Earlier::Null, _) | (Earlier::Value(_), Some(_)) => String::new(),
        (Earlier::Unknown, _) => format!(
            "column {name} is NOT NULL at the source; rows written before show NULL until they change, or are read again"
        ),
        (Earlier::Unfillable, _) | (Earlier::Value(_), None) => format!(
            "the source holds a value in column {name} of rows from before it, which cannot be given as the column's \
             default here; they show NULL until they change. Resync the mirror, or edit the table out of it and add it \
             again, to have the value in them"
        ),
    };
    let shown = if expression.is_some() { "the source's default" } else { "NULL" };
    Ok(PlanStep {
        kind: StepKind::Add,
        detail: format!("new, {data_type}; rows from before show {shown}"),
        statements: vec![ddl.add_column(target, column, expression)],
        column: name.clone(),
        source: String::new(),
        warning,
    })
}

/// Later rows bring nothing for the older column, which has to show that: no default, and NULL.
fn beside(older: &Older, column: &DesignColumn, ddl: &Ddl, target: &str) -> PlanStep {
    let mut statements = Vec::new();
    if older.has_default {
        statements.extend(ddl.settle_default(target, &older.name));
    }
    if !older.data_type.is_nullable() {
        statements.push(ddl.modify_column(target, &older.name, &older.data_type.clone().nullable()));
    }
    statements.push(ddl.add_column(target, column, None));
    let (name, before) = (&column.name, &older.name);
    PlanStep {
        kind: StepKind::Beside,
        detail: format!(
            "new, {}, beside {before}, whose {} cannot hold it; rows from before keep their value in {before} and show \
             NULL here, later ones the other way round{READ_AGAIN}",
            column.data_type,
            older.data_type.value_type()
        ),
        statements,
        column: name.clone(),
        source: String::new(),
        warning: format!(
            "values of column {before} go to {name} from here on: {} cannot hold them. Rows from before keep their value \
             in {before} until they are read again, which the mirror's log tells, or change; `tarn mirror resync` has all \
             of them in one column",
            older.data_type.value_type()
        ),
    }
}
