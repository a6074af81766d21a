//! Statements that make and change targets. Every name goes through the SDK's quoting (B185).

use tarn_sdk::DestinationConfig;
use tarn_sdk::sql::clickhouse::{ident, literal};

use crate::beside;
use crate::config::ALTERATION_SQL_BYTES_MAX;
use crate::design::{Design, DesignColumn, Engine};
use crate::target_type::TargetType;

/// Where DDL runs, and with which family of engines.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ddl {
    /// ` ON CLUSTER c`, or nothing.
    on_cluster: String,
    replicated: bool,
    /// What tables are commented with when they are made.
    comment: String,
}

impl Ddl {
    pub(crate) fn new(config: &DestinationConfig) -> Self {
        let on_cluster = match config.cluster.as_str() {
            "" => String::new(),
            cluster => format!(" ON CLUSTER {}", ident(cluster)),
        };
        let comment = match config.beside.as_str() {
            "" => String::new(),
            load => beside::comment(load),
        };
        Self { on_cluster, replicated: config.replicated, comment }
    }

    /// Makes the target unless it is there (B199: workers may do so at once).
    pub(crate) fn create(&self, design: &Design) -> String {
        let own = design.own.types();
        let columns = design
            .columns
            .iter()
            .map(definition)
            .chain(own.iter().map(|(name, data_type)| format!("{} {data_type}", ident(name))))
            .map(|definition| format!("    {definition}"));
        let columns = columns.collect::<Vec<_>>().join(",\n");
        let mut sql = format!(
            "CREATE TABLE IF NOT EXISTS {}{} (\n{columns}\n) ENGINE = {}",
            ident(&design.target),
            self.on_cluster,
            self.engine(design)
        );
        if design.engine != Engine::Null {
            if !design.partition_key.is_empty() {
                sql.push_str(&format!("\nPARTITION BY {}", design.partition_key));
            }
            let key = design.sorting_key.iter().map(|&at| ident(&design.columns[at].name));
            sql.push_str(&format!("\nORDER BY ({})", key.collect::<Vec<_>>().join(", ")));
        }
        if !self.comment.is_empty() {
            sql.push_str(&format!("\nCOMMENT {}", literal(&self.comment)));
        }
        sql
    }

    fn engine(&self, design: &Design) -> String {
        let replicated = if self.replicated || design.replicated { "Replicated" } else { "" };
        let (version, deleted) = (ident(&design.own.version), ident(&design.own.deleted));
        match design.engine {
            Engine::ReplacingMergeTree => format!("{replicated}ReplacingMergeTree({version}, {deleted})"),
            Engine::MergeTree => format!("{replicated}MergeTree"),
            Engine::Null => "Null".to_owned(),
        }
    }

    /// Adds a column unless it is there. Rows that are there show the value of an expression, or NULL.
    pub(crate) fn add_column(&self, target: &str, column: &DesignColumn, filling: Option<&str>) -> String {
        let filling = filling.map_or_else(String::new, |expression| format!(" DEFAULT {expression}"));
        format!("{} ADD COLUMN IF NOT EXISTS {}", self.alter(target), defined(column, &filling))
    }

    /// Puts statements of a target that add columns together where they follow one another: each is a change of the table's
    /// metadata, on a cluster with a turn of its queue.
    pub(crate) fn additions_joined(
        &self,
        target: &str,
        statements: impl IntoIterator<Item = String>,
    ) -> Vec<String> {
        let adds = format!("{} ADD COLUMN ", self.alter(target));
        let mut joined: Vec<String> = Vec::new();
        for statement in statements {
            match (statement.strip_prefix(&adds), joined.last_mut()) {
                (Some(column), Some(last))
                    if last.starts_with(&adds) && last.len() + column.len() < ALTERATION_SQL_BYTES_MAX =>
                {
                    last.push_str(", ADD COLUMN ");
                    last.push_str(column);
                }
                _ => joined.push(statement),
            }
        }
        joined
    }

    /// Changes a column's type; waits for the data to be rewritten.
    pub(crate) fn modify_column(&self, target: &str, name: &str, data_type: &TargetType) -> String {
        format!(
            "{} MODIFY COLUMN {} {data_type} SETTINGS mutations_sync = 1",
            self.alter(target),
            ident(name)
        )
    }

    /// Writes a column's default into the rows that show it, on every replica, and takes it away from later ones: a replica
    /// that wrote it afterwards would write none.
    pub(crate) fn settle_default(&self, target: &str, name: &str) -> [String; 2] {
        let (alter, name) = (self.alter(target), ident(name));
        [
            format!("{alter} MATERIALIZE COLUMN {name} SETTINGS mutations_sync = 2"),
            format!("{alter} MODIFY COLUMN {name} REMOVE DEFAULT"),
        ]
    }

    /// Gives a column another name; waits for the data to be rewritten.
    pub(crate) fn rename_column(&self, target: &str, name: &str, new_name: &str) -> String {
        let alter = self.alter(target);
        format!("{alter} RENAME COLUMN {} TO {} SETTINGS mutations_sync = 1", ident(name), ident(new_name))
    }

    /// Sets the table's comment.
    pub(crate) fn comment(&self, target: &str, comment: &str) -> String {
        format!("{} MODIFY COMMENT {}", self.alter(target), literal(comment))
    }

    /// Empties the target; returns when it is empty everywhere (B118).
    pub(crate) fn truncate(&self, target: &str) -> String {
        format!("TRUNCATE TABLE IF EXISTS {}{} SYNC", ident(target), self.on_cluster)
    }

    /// Lets two tables change names, at once.
    pub(crate) fn exchange(&self, one: &str, other: &str) -> String {
        format!("EXCHANGE TABLES {} AND {}{}", ident(one), ident(other), self.on_cluster)
    }

    /// Gives tables other names, in order.
    pub(crate) fn rename(&self, names: &[(&str, &str)]) -> String {
        let pair = |(from, to): &(&str, &str)| format!("{} TO {}", ident(from), ident(to));
        let pairs = names.iter().map(pair).collect::<Vec<_>>().join(", ");
        format!("RENAME TABLE {pairs}{}", self.on_cluster)
    }

    /// Drops the target; returns when it is gone.
    pub(crate) fn drop(&self, target: &str) -> String {
        format!("DROP TABLE IF EXISTS {}{} SYNC", ident(target), self.on_cluster)
    }

    fn alter(&self, target: &str) -> String {
        format!("ALTER TABLE {}{}", ident(target), self.on_cluster)
    }
}

fn definition(column: &DesignColumn) -> String {
    defined(column, "")
}

fn defined(column: &DesignColumn, filling: &str) -> String {
    let mut definition = format!("{} {}{filling}", ident(&column.name), column.data_type);
    if let Some(origin) = column.origin {
        definition.push_str(&format!(" COMMENT {}", literal(&origin.to_string())));
    }
    if !column.codec.is_empty() {
        definition.push_str(&format!(" {}", column.codec));
    }
    definition
}

/// `database = … AND name = …` of a system table that lists tables.
pub(crate) fn is_one_of(name_column: &str, targets: &[&str]) -> String {
    let names: Vec<String> = targets.iter().map(|target| literal(target)).collect();
    format!("database = currentDatabase() AND {name_column} IN ({})", names.join(", "))
}
