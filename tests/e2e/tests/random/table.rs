//! The tables as the program believes them to be.

use super::dice::Dice;
use super::kind::{KINDS, Kind};

/// What rows are told apart by: columns with their types, and an expression for each from the number `$g`.
#[derive(Debug)]
pub struct Key {
    pub columns: &'static [(&'static str, &'static str, &'static str)],
    /// Whether another unique index than the primary key identifies rows.
    pub by_index: bool,
}

const INT: Key = Key { columns: &[("id", "bigint", "$g")], by_index: false };

/// Every sort of key.
pub const KEYS: &[Key] = &[
    INT,
    Key { columns: &[("k", "text", "'ключ ' || $g")], by_index: false },
    Key { columns: &[("u", "uuid", "md5(($g)::text)::uuid")], by_index: false },
    Key {
        columns: &[(
            "at",
            "timestamptz",
            "timestamptz '1969-12-31 23:59:00Z' + ($g) * interval '37.000001 s'",
        )],
        by_index: false,
    },
    Key { columns: &[("a", "int", "($g) / 10"), ("b", "text", "'b' || ($g) % 10")], by_index: false },
    Key {
        columns: &[
            ("i", "int", "($g) / 3"),
            ("m", "mood", "(ARRAY['happy', 'calm', 'sad'])[1 + ($g) % 3]::mood"),
        ],
        by_index: false,
    },
    Key {
        columns: &[
            ("d", "date", "date '2024-01-01' + ($g)::int"),
            ("v", "varchar(12)", "chr(65 + ($g)::int % 26)"),
        ],
        by_index: false,
    },
    Key { columns: &[("q", "numeric", "($g) / 4.0")], by_index: false },
    Key { columns: &[("b", "bytea", "decode(md5(($g)::text), 'hex')")], by_index: false },
    Key { columns: &[("code", "text", "'c' || $g")], by_index: true },
];

/// A column beside the key.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub kind: &'static Kind,
}

/// What the server logs of old rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    Default,
    Full,
    Index,
}

/// How a table is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    Plain,
    /// By ranges of the key's number: the ends of those that are attached, and how many were made.
    Partitioned {
        attached: Vec<u64>,
        made: u64,
    },
}

/// A table. Beside its key each has `n int`, `note text` and `big text`, the latter stored out of line.
#[derive(Clone, Debug)]
pub struct Table {
    pub name: String,
    pub key: &'static Key,
    pub columns: Vec<Column>,
    pub identity: Identity,
    pub layout: Layout,
    /// How many columns were made: each has a name of its own.
    pub columns_made: usize,
    /// Names of columns that were dropped.
    pub dropped: Vec<String>,
    /// Names of generated columns, which no side but the source has.
    pub generated: Vec<String>,
    /// Whether its column `parent` refers to the first table.
    pub is_child: bool,
}

/// Keys have numbers below this one, and that of a bulk of rows.
pub const KEYS_MAX: u64 = 700;

/// How wide a partition is.
pub const PARTITION_WIDTH: u64 = 100_000;

impl Table {
    /// A table with some columns.
    pub fn new(number: usize, key: &'static Key, dice: &mut Dice) -> Self {
        let mut table = Self {
            name: format!("t{number}"),
            key,
            columns: Vec::new(),
            identity: if key.by_index { Identity::Index } else { Identity::Default },
            layout: Layout::Plain,
            columns_made: 0,
            dropped: Vec::new(),
            generated: vec!["twice".to_owned()],
            is_child: false,
        };
        for _ in 0..3 + dice.below(8) {
            let column = table.new_column(dice);
            table.columns.push(column);
        }
        if !key.by_index && dice.chance(25) {
            table.identity = Identity::Full;
        }
        table
    }

    /// A column that is not in the table yet.
    pub fn new_column(&mut self, dice: &mut Dice) -> Column {
        let name = format!("c{}", self.columns_made);
        self.columns_made += 1;
        Column { name, kind: dice.pick(KINDS) }
    }

    /// Whether its key is one number, so that rows can be made and chosen by ranges of it.
    pub fn has_number(&self) -> bool {
        self.key.columns[0].1 == "bigint"
    }

    /// What makes the table.
    pub fn create(&self) -> Vec<String> {
        let mut columns: Vec<String> =
            self.key.columns.iter().map(|(name, sql, _)| format!("{name} {sql} NOT NULL")).collect();
        let key: Vec<_> = self.key.columns.iter().map(|(name, ..)| *name).collect();
        let key = key.join(", ");
        columns.extend(["n int".to_owned(), "note text".to_owned(), "big text".to_owned()]);
        columns.extend(self.columns.iter().map(|column| format!("{} {}", column.name, column.kind.sql)));
        if self.is_child {
            columns.push("parent bigint REFERENCES t0 ON DELETE CASCADE ON UPDATE CASCADE".to_owned());
        }
        columns.push("twice bigint GENERATED ALWAYS AS (n::bigint * 2) STORED".to_owned());
        if self.key.by_index {
            columns.push("pk bigserial PRIMARY KEY".to_owned());
        } else {
            columns.push(format!("PRIMARY KEY ({key})"));
        }
        let name = &self.name;
        let partitioned = if self.layout == Layout::Plain { "" } else { " PARTITION BY RANGE (id)" };
        let mut statements = vec![format!("CREATE TABLE {name} ({}){partitioned}", columns.join(", "))];
        statements.push(format!("ALTER TABLE {name} ALTER big SET STORAGE EXTERNAL"));
        if let Layout::Partitioned { attached, .. } = &self.layout {
            for end in attached {
                let start = end - PARTITION_WIDTH;
                statements.push(format!(
                    "CREATE TABLE {name}_{end} PARTITION OF {name} FOR VALUES FROM ({start}) TO ({end})"
                ));
            }
        }
        match self.identity {
            Identity::Default => {}
            Identity::Full => statements.push(format!("ALTER TABLE {name} REPLICA IDENTITY FULL")),
            Identity::Index => {
                statements.push(format!("CREATE UNIQUE INDEX {name}_identity ON {name} ({key})"));
                statements.push(format!("ALTER TABLE {name} REPLICA IDENTITY USING INDEX {name}_identity"));
            }
        }
        statements
    }

    /// The condition of the row of a number.
    pub fn is(&self, number: u64) -> String {
        self.key_terms(number, "").join(" AND ")
    }

    /// The same, of rows that go by another name.
    pub fn other_is(&self, alias: &str, number: u64) -> String {
        self.key_terms(number, &format!("{alias}.")).join(" AND ")
    }

    /// Assignments of the key of a number.
    pub fn becomes(&self, number: u64) -> String {
        self.key_terms(number, "").join(", ")
    }

    fn key_terms(&self, number: u64, prefix: &str) -> Vec<String> {
        let number = number.to_string();
        let terms = self.key.columns.iter();
        terms
            .map(|(name, _, expression)| format!("{prefix}{name} = {}", expression.replace("$g", &number)))
            .collect()
    }

    /// The key's columns, and the key of a number.
    pub fn key_values(&self, number: &str) -> (Vec<String>, Vec<String>) {
        let columns = self.key.columns.iter();
        columns.map(|(name, _, expression)| ((*name).to_owned(), expression.replace("$g", number))).unzip()
    }
}
