//! What a seed stands for: a list of steps, the same each time.
//!
//! It is pure: the generator keeps what it believes the tables to be and asks nobody. Statements are written so that
//! they succeed whatever rows there are; those that may fail (of two transactions that meet at a row) end their
//! transaction, which is one more that was aborted.

use std::fmt;

use super::alteration;
use super::dice::Dice;
use super::statement;
use super::table::{Identity, KEYS, KEYS_MAX, Layout, PARTITION_WIDTH, Table};

/// What the mirror does with rows on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    None,
    /// Every row goes on as it came, in one of two languages.
    LuaIdentity,
    JavaScriptIdentity,
    /// `note` becomes what `n` says.
    Mark,
    /// Some rows, by their `n`, are refused and kept as dead letters, until they are replayed.
    Refuse,
    /// Some rows, by their `note`, which no change touches, are refused always, and left out.
    Skip,
}

/// One thing that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Statements on one of the connections, one after another.
    Sql {
        session: usize,
        statements: Vec<String>,
    },
    KillTarn,
    StopTarn,
    StartTarn,
    /// And starts it again: fast, or killed.
    RestartPostgres {
        killed: bool,
    },
    StopClickHouse {
        killed: bool,
    },
    StartClickHouse,
    /// Ends the connection that the stream comes by.
    EndWalsender,
    Pause,
    Resume,
    Resync,
    /// Takes tables out of the mirror and others in, by their names.
    Edit {
        removed: Vec<String>,
        added: Vec<String>,
    },
    /// Nothing, for so many milliseconds: what comes next falls on another moment.
    Wait(u64),
    /// Waits until the destination has everything, and compares.
    Compare,
}

/// A program.
#[derive(Debug)]
pub struct Program {
    pub seed: u64,
    pub script: Script,
    /// What makes types and tables with their first rows.
    pub setup: Vec<String>,
    /// Tables that are mirrored from the beginning.
    pub mirrored: Vec<String>,
    pub steps: Vec<Step>,
}

/// Connections.
pub const SESSIONS: usize = 3;

/// Types and their like that tables are made of.
const TYPES: &str = "CREATE EXTENSION citext; CREATE EXTENSION hstore;
    CREATE TYPE mood AS ENUM ('happy', 'calm', 'sad', 'very \"sad\", it''s');
    CREATE DOMAIN n82 AS numeric(8,2); CREATE DOMAIN n2 AS n82;
    CREATE DOMAIN email AS text CHECK (value LIKE '%@%');
    CREATE DOMAIN moods AS mood[];
    CREATE TYPE pair AS (a int, b text)";

struct Generator {
    dice: Dice,
    script: Script,
    tables: Vec<Table>,
    moods: Vec<String>,
    /// Which of the tables are in the mirror.
    mirrored: Vec<String>,
    tables_made: usize,
    in_transaction: [bool; SESSIONS],
    tarn_runs: bool,
    clickhouse_runs: bool,
    paused: bool,
    /// Whether an edit may wait for what is open: another one would wait for it in vain.
    edit_waits: bool,
    steps: Vec<Step>,
}

impl Program {
    /// The program of a seed: of so many steps, and a comparison at the end.
    pub fn new(seed: u64, steps: usize) -> Self {
        let mut dice = Dice::new(seed);
        let script = dice.weighted(&[
            (5, Script::None),
            (1, Script::LuaIdentity),
            (1, Script::JavaScriptIdentity),
            (1, Script::Mark),
            (2, Script::Refuse),
            (2, Script::Skip),
        ]);
        let mut generator = Generator {
            dice,
            script,
            tables: Vec::new(),
            moods: Vec::new(),
            mirrored: Vec::new(),
            tables_made: 0,
            in_transaction: [false; SESSIONS],
            tarn_runs: true,
            clickhouse_runs: true,
            paused: false,
            edit_waits: false,
            steps: Vec::new(),
        };
        let setup = generator.setup();
        let mirrored = generator.mirrored.clone();
        while generator.steps.len() < steps {
            generator.step();
        }
        let mut steps_of_all = generator.steps;
        steps_of_all.truncate(steps);
        Self { seed, script, setup, mirrored, steps: steps_of_all }
    }
}

impl Generator {
    fn setup(&mut self) -> Vec<String> {
        let mut setup: Vec<String> = TYPES.split(';').map(|statement| statement.trim().to_owned()).collect();
        for number in 0..3 + self.dice.below(3) {
            setup.extend(self.new_table(number == 1));
        }
        // One of them comes later, by an edit.
        self.mirrored = self.tables.iter().map(|table| table.name.clone()).collect();
        if self.mirrored.len() > 3 && self.dice.chance(50) {
            self.mirrored.pop();
        }
        setup
    }

    /// A table with its first rows.
    fn new_table(&mut self, is_child: bool) -> Vec<String> {
        let number = self.tables_made;
        self.tables_made += 1;
        let key = if number == 0 { &KEYS[0] } else { self.dice.pick(KEYS) };
        let mut table = Table::new(number, key, &mut self.dice);
        table.is_child = is_child;
        if number > 1 && table.has_number() && self.dice.chance(60) {
            table.layout = Layout::Partitioned { attached: vec![PARTITION_WIDTH], made: 1 };
            table.identity = Identity::Default;
        }
        let mut statements = table.create();
        if self.dice.chance(80) {
            let end = if table.has_number() { 2_000 + self.dice.below(6_000) } else { KEYS_MAX };
            let first: Vec<_> = (0..60).collect();
            statements.push(statement::insert(&mut self.dice, &table, &first, &self.moods, "NOTHING"));
            statements.push(statement::series(&table, 0, end));
        }
        self.tables.push(table);
        statements
    }

    fn step(&mut self) {
        #[derive(Clone, Copy)]
        enum Next {
            Change,
            Alter,
            UseAtOnce,
            Pack,
            Tarn,
            Postgres,
            ClickHouse,
            Walsender,
            Pause,
            Edit,
            NewTable,
            Label,
            Resync,
            KilledLoad,
            Wait,
            Compare,
        }
        let (alter, use_at_once) = if self.script == Script::Refuse { (3, 0) } else { (8, 2) };
        let next = self.dice.weighted(&[
            (60, Next::Change),
            (alter, Next::Alter),
            (use_at_once, Next::UseAtOnce),
            (2, Next::Pack),
            (5, Next::Tarn),
            (1, Next::Postgres),
            (2, Next::ClickHouse),
            (2, Next::Walsender),
            (2, Next::Pause),
            (2, Next::Edit),
            (1, Next::NewTable),
            (1, Next::Label),
            (1, Next::Resync),
            (2, Next::KilledLoad),
            (6, Next::Wait),
            (2, Next::Compare),
        ]);
        match next {
            Next::Change => self.change(),
            Next::Alter => self.alter(),
            Next::UseAtOnce => self.use_at_once(),
            Next::Pack => self.pack(),
            Next::Tarn => self.tarn(),
            Next::Postgres => {
                self.in_transaction = [false; SESSIONS];
                let killed = self.dice.chance(50);
                self.steps.push(Step::RestartPostgres { killed });
            }
            Next::ClickHouse if self.clickhouse_runs => {
                let killed = self.dice.chance(50);
                self.clickhouse_runs = false;
                self.steps.push(Step::StopClickHouse { killed });
            }
            Next::ClickHouse => self.start_clickhouse(),
            Next::Walsender => self.steps.push(Step::EndWalsender),
            Next::Pause if !self.tarn_runs => self.tarn(),
            Next::Pause => {
                self.steps.push(if self.paused { Step::Resume } else { Step::Pause });
                self.paused = !self.paused;
            }
            Next::Edit => self.edit(),
            Next::NewTable if self.tables.len() < 7 => self.add_table(),
            Next::NewTable => self.edit(),
            Next::Label => self.label(),
            Next::Resync => {
                if self.tarn_runs && self.clickhouse_runs {
                    self.paused = false;
                    self.steps.push(Step::Resync);
                }
            }
            Next::KilledLoad => self.killed_load(),
            Next::Wait => {
                let milliseconds = 1 + self.dice.below(400);
                self.steps.push(Step::Wait(milliseconds));
            }
            Next::Compare => self.compare(),
        }
    }

    fn change(&mut self) {
        let session = self.dice.place(SESSIONS);
        let dice = &mut self.dice;
        let mut statements = Vec::new();
        if !self.in_transaction[session] && dice.chance(45) {
            statements.push("BEGIN".to_owned());
            self.in_transaction[session] = true;
        }
        let open = self.in_transaction[session];
        for _ in 0..1 + dice.below(4) {
            let savepoint = open && dice.chance(30);
            if savepoint {
                statements.push("SAVEPOINT s".to_owned());
            }
            statements.extend(statement::change(dice, &self.tables, &self.moods));
            if savepoint && dice.chance(80) {
                let way = dice.pick(&["ROLLBACK TO s", "ROLLBACK TO s", "RELEASE s"]);
                statements.push((*way).to_owned());
            }
        }
        if open && dice.chance(45) {
            let end = dice.weighted(&[(6, "COMMIT"), (2, "ROLLBACK"), (1, "SELECT 1 / 0")]);
            statements.push(end.to_owned());
            if end == "SELECT 1 / 0" {
                statements.push("COMMIT".to_owned());
            }
            self.in_transaction[session] = false;
        }
        self.steps.push(Step::Sql { session, statements });
    }

    /// Ends what is open, so that no statement waits for another connection's.
    fn end_transactions(&mut self) {
        for session in 0..SESSIONS {
            if std::mem::take(&mut self.in_transaction[session]) {
                let end = if self.dice.chance(75) { "COMMIT" } else { "ROLLBACK" };
                self.steps.push(Step::Sql { session, statements: vec![end.to_owned()] });
            }
        }
    }

    fn alter(&mut self) {
        // A load that waits for ClickHouse holds its table.
        self.start_clickhouse();
        self.end_transactions();
        let place = self.dice.place(self.tables.len());
        let before = self.tables[place].clone();
        let mut statements = Vec::new();
        let changes = |dice: &mut Dice, statements: &mut Vec<String>, table: &Table| {
            for _ in 0..dice.below(3) {
                let number = dice.below(KEYS_MAX);
                let (is, moods) = (table.is(number), Vec::new());
                statements.push(match dice.below(3) {
                    0 => statement::insert(dice, table, &[number], &moods, "NOTHING"),
                    1 => format!("UPDATE {} SET n = {number} WHERE {is}", table.name),
                    _ => format!("DELETE FROM {} WHERE {is}", table.name),
                });
            }
        };
        let is_transaction = self.dice.chance(50);
        for _ in 0..1 + self.dice.below(2) {
            let before = self.tables[place].clone();
            let savepoint = is_transaction && self.dice.chance(40);
            if savepoint {
                statements.push("SAVEPOINT d".to_owned());
            }
            changes(&mut self.dice, &mut statements, &self.tables[place]);
            // Letters hold changes of the table as it was: what a column that is gone, or another, has to do with
            // them is not said. One that was added since shows its default.
            statements.extend(match self.script {
                Script::Refuse => alteration::add(&mut self.dice, &mut self.tables[place]),
                _ => alteration::alter(&mut self.dice, &mut self.tables[place]),
            });
            changes(&mut self.dice, &mut statements, &self.tables[place]);
            if savepoint {
                let keeps = self.dice.chance(60);
                statements.push(if keeps { "RELEASE d" } else { "ROLLBACK TO d" }.to_owned());
                if !keeps {
                    self.take_back(place, before);
                }
            }
        }
        if is_transaction {
            statements.insert(0, "BEGIN".to_owned());
            let keeps = self.dice.chance(75);
            statements.push(if keeps { "COMMIT" } else { "ROLLBACK" }.to_owned());
            if !keeps {
                self.take_back(place, before);
            }
        }
        self.steps.push(Step::Sql { session: 0, statements });
    }

    /// A column that is added and used before anybody else can see it.
    fn use_at_once(&mut self) {
        self.start_clickhouse();
        self.end_transactions();
        let place = self.dice.place(self.tables.len());
        let before = self.tables[place].clone();
        let table = &mut self.tables[place];
        let mut statements = vec!["BEGIN".to_owned()];
        statements.extend(alteration::add_and_use(&mut self.dice, table, &self.moods));
        if self.dice.chance(80) {
            statements.push("COMMIT".to_owned());
        } else {
            statements.push("ROLLBACK".to_owned());
            self.take_back(place, before);
        }
        self.steps.push(Step::Sql { session: 0, statements });
    }

    /// Has a table be as it was before a change that was rolled back. Names that were given away are not given again.
    fn take_back(&mut self, place: usize, before: Table) {
        let columns_made = self.tables[place].columns_made;
        self.tables[place] = Table { columns_made, ..before };
    }

    fn pack(&mut self) {
        self.start_clickhouse();
        self.end_transactions();
        let place = self.dice.place(self.tables.len());
        let statements = vec![alteration::pack(&mut self.dice, &self.tables[place])];
        self.steps.push(Step::Sql { session: 0, statements });
    }

    fn tarn(&mut self) {
        if !self.tarn_runs {
            self.steps.push(Step::StartTarn);
            self.tarn_runs = true;
            return;
        }
        let milliseconds = self.dice.below(300);
        self.steps.push(Step::Wait(milliseconds));
        self.steps.push(if self.dice.chance(80) { Step::KillTarn } else { Step::StopTarn });
        self.tarn_runs = false;
    }

    /// A load that is killed in its middle and goes on, while rows that it read, and others, are gone or changed.
    fn killed_load(&mut self) {
        self.end_transactions();
        self.start_tarn();
        self.start_clickhouse();
        self.paused = false;
        self.steps.push(Step::Resync);
        for _ in 0..1 + self.dice.below(2) {
            let milliseconds = 200 + self.dice.below(2_500);
            self.steps.push(Step::Wait(milliseconds));
            self.steps.push(Step::KillTarn);
            let mut statements = Vec::new();
            for _ in 0..2 + self.dice.below(5) {
                let place = self.dice.place(self.tables.len());
                statements.extend(statement::gone_meanwhile(
                    &mut self.dice,
                    &self.tables[place],
                    &self.moods,
                ));
            }
            self.steps.push(Step::Sql { session: 0, statements });
            self.steps.push(Step::StartTarn);
        }
    }

    fn start_clickhouse(&mut self) {
        if !self.clickhouse_runs {
            self.clickhouse_runs = true;
            self.steps.push(Step::StartClickHouse);
        }
    }

    fn start_tarn(&mut self) {
        if !self.tarn_runs {
            self.tarn();
        }
    }

    fn edit(&mut self) {
        if self.script == Script::Refuse && self.dice.chance(70) {
            return;
        }
        self.start_tarn();
        self.start_clickhouse();
        let outside: Vec<_> = self
            .tables
            .iter()
            .map(|table| table.name.clone())
            .filter(|name| !self.mirrored.contains(name))
            .collect();
        let added: Vec<_> = outside.into_iter().filter(|_| self.dice.chance(70)).collect();
        let mut removed = Vec::new();
        if self.mirrored.len() > 1 && self.dice.chance(50) {
            let place = self.dice.place(self.mirrored.len());
            removed.push(self.mirrored.remove(place));
        }
        if added.is_empty() && removed.is_empty() {
            return;
        }
        // What is open would make the edit wait, and what follows it too.
        if self.dice.chance(70) || self.edit_waits {
            self.end_transactions();
        }
        self.edit_waits = true;
        self.mirrored.extend(added.iter().cloned());
        self.paused = false;
        self.steps.push(Step::Edit { removed, added });
    }

    fn add_table(&mut self) {
        self.end_transactions();
        let statements = self.new_table(false);
        self.steps.push(Step::Sql { session: 0, statements });
        self.edit();
    }

    fn label(&mut self) {
        self.end_transactions();
        let label = format!("label {} é", self.moods.len());
        self.steps
            .push(Step::Sql { session: 0, statements: vec![format!("ALTER TYPE mood ADD VALUE '{label}'")] });
        self.moods.push(label);
    }

    fn compare(&mut self) {
        self.end_transactions();
        self.start_tarn();
        self.start_clickhouse();
        self.paused = false;
        self.edit_waits = false;
        self.steps.push(Step::Compare);
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, script {:?}, mirrored {}", self.seed, self.script, self.mirrored.join(", "))?;
        for statement in &self.setup {
            writeln!(f, "  setup: {statement};")?;
        }
        for (number, step) in self.steps.iter().enumerate() {
            match step {
                Step::Sql { session, statements } => {
                    for statement in statements {
                        writeln!(f, "  {number} session {session}: {statement};")?;
                    }
                }
                step => writeln!(f, "  {number} {step:?}")?,
            }
        }
        Ok(())
    }
}
