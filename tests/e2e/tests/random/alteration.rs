//! Statements that change tables.
//!
//! Left out is what is documented to stop a mirror: another key, a table that is dropped or renamed while it is mirrored;
//! a column that is made again of the same type, which may stop a mirror that is behind; and a column of a type that the
//! destination's cannot be turned into, which the oracle would look for by its name.

use super::dice::Dice;
use super::kind::Kind;
use super::statement;
use super::table::{Column, Identity, KEYS_MAX, Layout, Table};

/// Changes a table, as the program knows it and by statements.
pub fn alter(dice: &mut Dice, table: &mut Table) -> Vec<String> {
    let name = table.name.clone();
    match dice.below(17) {
        0..=2 => add(dice, table),
        3 | 4 => match take(dice, table) {
            Some(column) => {
                table.dropped.push(column.name.clone());
                vec![format!("ALTER TABLE {name} DROP {}", column.name)]
            }
            None => add(dice, table),
        },
        5 => match take(dice, table) {
            // Dropped, and made again under its name, of another type.
            Some(column) => {
                let again = Column { name: column.name.clone(), kind: dice.pick(super::kind::KINDS) };
                let statement = format!("ALTER TABLE {name} ADD {} {}", again.name, again.kind.sql);
                table.columns.push(again);
                let drop = format!("ALTER TABLE {name} DROP {}", column.name);
                if dice.chance(50) {
                    vec![format!("{drop}, {}", &statement[format!("ALTER TABLE {name} ").len()..])]
                } else {
                    vec![drop, statement]
                }
            }
            None => add(dice, table),
        },
        6 => match table.dropped.pop() {
            Some(dropped) => {
                let column = Column { name: dropped, kind: dice.pick(super::kind::KINDS) };
                let statement = format!("ALTER TABLE {name} ADD {} {}", column.name, column.kind.sql);
                table.columns.push(column);
                vec![statement]
            }
            None => add(dice, table),
        },
        7 => rename(dice, table),
        8 => swap_names(dice, table),
        9 => widen(dice, table),
        10 => identity(dice, table),
        11 | 12 => convert(dice, table),
        13 => add_with_values(dice, table),
        14 | 15 => generated(dice, table),
        _ => match table.layout {
            Layout::Plain => default_or_null(dice, table),
            Layout::Partitioned { .. } => statement::partition(dice, table),
        },
    }
}

/// Adds a column.
pub fn add(dice: &mut Dice, table: &mut Table) -> Vec<String> {
    let column = table.new_column(dice);
    let default =
        if column.kind.is_never_null() || dice.chance(50) { None } else { column.kind.default(dice) };
    let default = default.map_or_else(String::new, |value| format!(" DEFAULT {value}"));
    let statement = format!("ALTER TABLE {} ADD {} {}{default}", table.name, column.name, column.kind.sql);
    table.columns.push(column);
    vec![statement]
}

/// Adds a column with a default that is another one in each row: the server writes all of them anew.
fn add_with_values(dice: &mut Dice, table: &mut Table) -> Vec<String> {
    let (kind, value) = dice.pick(&[
        ("int8", "floor(random() * 1000)::int8"),
        ("uuid", "gen_random_uuid()"),
        ("timestamptz", "clock_timestamp()"),
        ("text", "md5(random()::text)"),
    ]);
    let column = Column { kind: Kind::named(kind), ..table.new_column(dice) };
    let statement = format!("ALTER TABLE {} ADD {} {kind} DEFAULT {value}", table.name, column.name);
    table.columns.push(column);
    vec![statement]
}

/// A column that is added, used, called otherwise and used again, to be done in one transaction.
pub fn add_and_use(dice: &mut Dice, table: &mut Table, moods: &[String]) -> Vec<String> {
    let mut statements = add(dice, table);
    let mut using = |dice: &mut Dice, table: &Table| {
        let number = dice.below(KEYS_MAX);
        let column = table.columns.last().expect("one was added");
        let set = format!("{} = {}", column.name, column.kind.value(dice, moods));
        if dice.chance(70) {
            statements.push(statement::insert(dice, table, &[number], moods, "NOTHING"));
        }
        statements.push(format!("UPDATE {} SET {set} WHERE {}", table.name, table.is(number)));
        std::mem::take(&mut statements)
    };
    let mut all = using(dice, table);
    if dice.chance(70) {
        let number = table.columns_made;
        table.columns_made += 1;
        let column = table.columns.last_mut().expect("one was added");
        let from = std::mem::replace(&mut column.name, format!("c{number}"));
        all.push(format!("ALTER TABLE {} RENAME {from} TO c{number}", table.name));
        all.extend(using(dice, table));
    }
    all
}

fn take(dice: &mut Dice, table: &mut Table) -> Option<Column> {
    let count = table.columns.len();
    (count > 1).then(|| table.columns.remove(dice.place(count)))
}

fn rename(dice: &mut Dice, table: &mut Table) -> Vec<String> {
    if table.columns.is_empty() {
        return add(dice, table);
    }
    let place = dice.place(table.columns.len());
    let to = if dice.chance(30) && !table.dropped.is_empty() {
        table.dropped.pop().expect("a name")
    } else {
        let number = table.columns_made;
        table.columns_made += 1;
        format!("\"C{number} x\"")
    };
    let from = std::mem::replace(&mut table.columns[place].name, to.clone());
    vec![format!("ALTER TABLE {} RENAME {from} TO {to}", table.name)]
}

fn swap_names(dice: &mut Dice, table: &mut Table) -> Vec<String> {
    if table.columns.len() < 2 {
        return add(dice, table);
    }
    let (one, two) = (dice.place(table.columns.len()), dice.place(table.columns.len()));
    if one == two {
        return rename(dice, table);
    }
    let (a, b) = (table.columns[one].name.clone(), table.columns[two].name.clone());
    table.columns[one].name.clone_from(&b);
    table.columns[two].name.clone_from(&a);
    let rename = |from: &str, to: &str| format!("ALTER TABLE {} RENAME {from} TO {to}", table.name);
    vec![rename(&a, "between"), rename(&b, &a), rename("between", &b)]
}

fn widen(dice: &mut Dice, table: &mut Table) -> Vec<String> {
    let name = table.name.clone();
    let mut can: Vec<&mut Column> =
        table.columns.iter_mut().filter(|column| !column.kind.wider.is_empty()).collect();
    if can.is_empty() {
        return add(dice, table);
    }
    let place = dice.place(can.len());
    let column = &mut can[place];
    column.kind = Kind::named(dice.pick::<&str>(column.kind.wider));
    vec![format!("ALTER TABLE {name} ALTER {} TYPE {}", column.name, column.kind.sql)]
}

/// Writes the rows anew with values of an expression, in a column of the same type or a wider one.
fn convert(dice: &mut Dice, table: &mut Table) -> Vec<String> {
    if table.columns.is_empty() {
        return add(dice, table);
    }
    let place = dice.place(table.columns.len());
    let column = &mut table.columns[place];
    if !column.kind.wider.is_empty() && dice.chance(50) {
        column.kind = Kind::named(dice.pick::<&str>(column.kind.wider));
    }
    let (name, kind) = (&column.name, column.kind.name());
    let other = match column.kind.default(dice) {
        Some(value) => format!("({value})::{kind}"),
        None if column.kind.is_never_null() => name.clone(),
        None => "NULL".to_owned(),
    };
    let value = format!("CASE WHEN n % 2 = 0 THEN {name}::{kind} ELSE {other} END");
    vec![format!("ALTER TABLE {} ALTER {name} TYPE {kind} USING {value}", table.name)]
}

fn identity(dice: &mut Dice, table: &mut Table) -> Vec<String> {
    if table.layout != Layout::Plain || table.identity == Identity::Index {
        return add(dice, table);
    }
    let (identity, sql) = match table.identity {
        Identity::Full => (Identity::Default, "DEFAULT"),
        Identity::Default | Identity::Index => (Identity::Full, "FULL"),
    };
    table.identity = identity;
    vec![format!("ALTER TABLE {} REPLICA IDENTITY {sql}", table.name)]
}

/// Adds a generated column, or gives one another name, or drops it, or has it be a stored one.
fn generated(dice: &mut Dice, table: &mut Table) -> Vec<String> {
    let name = table.name.clone();
    let number = table.columns_made;
    table.columns_made += 1;
    let added = format!("g{number}");
    if table.generated.is_empty() || dice.chance(30) {
        table.generated.push(added.clone());
        return vec![format!(
            "ALTER TABLE {name} ADD {added} bigint GENERATED ALWAYS AS (n::bigint * {number}) STORED"
        )];
    }
    let place = dice.place(table.generated.len());
    match dice.below(4) {
        0 => {
            let from = std::mem::replace(&mut table.generated[place], added.clone());
            vec![format!("ALTER TABLE {name} RENAME {from} TO {added}")]
        }
        1 => {
            let stored = table.generated.remove(place);
            let statement = format!("ALTER TABLE {name} ALTER {stored} DROP EXPRESSION");
            table.columns.push(Column { name: stored, kind: Kind::named("int8") });
            vec![statement]
        }
        _ => vec![format!("ALTER TABLE {name} DROP {}", table.generated.remove(place))],
    }
}

/// Changes that show in later rows only.
fn default_or_null(dice: &mut Dice, table: &mut Table) -> Vec<String> {
    let name = &table.name;
    let Some(column) = table.columns.iter().find(|column| !column.kind.sql.contains('[')) else {
        return add(dice, table);
    };
    if column.kind.is_never_null() {
        return vec![format!("ALTER TABLE {name} ALTER {} DROP NOT NULL", column.name)];
    }
    match column.kind.default(dice) {
        Some(value) => vec![format!("ALTER TABLE {name} ALTER {} SET DEFAULT {value}", column.name)],
        None => vec![format!("ALTER TABLE {name} ALTER {} DROP DEFAULT", column.name)],
    }
}

/// Packs a table: its rows are in another file then, and at other places.
pub fn pack(dice: &mut Dice, table: &Table) -> String {
    let name = &table.name;
    match table.layout {
        Layout::Plain if dice.chance(40) => format!("CLUSTER {name} USING {name}_pkey"),
        _ => format!("VACUUM FULL {name}"),
    }
}
