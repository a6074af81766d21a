//! Running commands, with a folder for their files.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tarn_e2e::Scene;
use tarn_harness::{ClickHouse, Postgres, Tarn};

/// Variable of the source's password.
pub const SOURCE_PASSWORD: &str = "SHOP_PASSWORD";
/// Variable of the destination's password.
pub const TARGET_PASSWORD: &str = "ANALYTICS_PASSWORD";

/// What a command did.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ended {
    /// The output of a success.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        self.out
    }

    /// The output of a success, read as JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        let out = self.ok();
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("no JSON ({error}): {out}"))
    }
}

/// The three services without peers, and a folder.
pub struct Shell {
    pub scene: Scene,
    folder: PathBuf,
    environment: Vec<(String, String)>,
}

impl Shell {
    pub fn start() -> Self {
        Self::of(Tarn::start())
    }

    /// The same with a server that runs, or starts.
    pub fn of(tarn: Tarn) -> Self {
        let scene = Scene { postgres: Postgres::start(), clickhouse: ClickHouse::start(), tarn };
        let folder = scene.tarn.data_dir().parent().expect("it is in a folder").join("files");
        std::fs::create_dir(&folder).expect("a fresh folder");
        let environment = vec![
            (SOURCE_PASSWORD.to_owned(), scene.postgres.password().to_owned()),
            (TARGET_PASSWORD.to_owned(), scene.clickhouse.password().to_owned()),
        ];
        Self { scene, folder, environment }
    }

    /// Sets a variable for the commands that follow.
    pub fn set(&mut self, name: &str, value: &str) {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Writes a file of the folder.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name);
        std::fs::write(&path, text).expect("written");
        path
    }

    /// A file's path.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Runs a command in the folder; its words are split at spaces.
    #[track_caller]
    pub fn tarn(&self, line: &str) -> Ended {
        self.tarn_words(&line.split(' ').collect::<Vec<_>>())
    }

    /// The same with the words as they are.
    #[track_caller]
    pub fn tarn_words(&self, words: &[&str]) -> Ended {
        let output = self.command(words).output().expect("the binary runs");
        self.ended(output)
    }

    /// Runs a command on a terminal of 100 columns and 30 lines.
    #[track_caller]
    pub fn on_terminal(&self, line: &str) -> Ended {
        self.ended(self.terminal(line).output().expect("`script` makes a terminal"))
    }

    /// What runs a command on a terminal, whose name it writes to the file `terminal`.
    pub fn terminal(&self, line: &str) -> Command {
        let tarn = self.command(&[]);
        let line = format!("tty > terminal; stty cols 100 rows 30; {} {line}", tarn.get_program().display());
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).current_dir(Path::new(&self.folder));
        for (name, value) in tarn.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// A command in the folder.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = self.scene.tarn.command(words);
        let environment = self.environment.iter().map(|(name, value)| (name, value));
        command.envs(environment).current_dir(Path::new(&self.folder));
        command
    }

    #[track_caller]
    fn ended(&self, output: Output) -> Ended {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is text");
        let ended = Ended {
            code: output.status.code().expect("it ended by itself"),
            out: text(output.stdout),
            err: text(output.stderr),
        };
        self.check_secrets(&ended);
        ended
    }

    /// No command shows a secret, whatever it does.
    #[track_caller]
    fn check_secrets(&self, ended: &Ended) {
        let secrets = self.environment.iter().filter(|(name, _)| name.contains("PASSWORD"));
        let passwords = secrets.map(|(_, value)| value.as_str()).chain([self.scene.tarn.password()]);
        for password in passwords {
            for text in [&ended.out, &ended.err] {
                assert!(!text.contains(password), "a password is shown: {text}");
            }
        }
    }

    /// Creates both peers by flags.
    #[track_caller]
    pub fn create_peers(&self) {
        let Scene { postgres, clickhouse, .. } = &self.scene;
        let line = format!(
            "peer create postgres shop --host {} --port {} --user {} --database {} --password-env {SOURCE_PASSWORD}",
            postgres.host(),
            postgres.port(),
            postgres.user(),
            postgres.database()
        );
        assert_eq!(self.tarn(&line).ok(), "stored peer shop\n");
        let password = self.write("password", &format!("{}\n", clickhouse.password()));
        let line = format!(
            "peer create clickhouse analytics --host {} --port {} --user {} --database {} --disable-tls --store-password-file {}",
            clickhouse.host(),
            clickhouse.port(),
            clickhouse.user(),
            clickhouse.database(),
            password.display()
        );
        assert_eq!(self.tarn(&line).ok(), "stored peer analytics\n");
    }

    /// A setup of both peers, a script and the mirror `items` with further lines of it.
    pub fn setup(&self, mirror: &str) -> String {
        let Scene { postgres, clickhouse, .. } = &self.scene;
        format!(
            "version: 1
peers:
  - name: shop
    postgres_config: {{host: {}, port: {}, user: {}, database: {}, password: \"${{env:{SOURCE_PASSWORD}}}\"}}
  - name: analytics
    clickhouse_config: {{host: {}, port: {}, user: {}, database: {}, password: \"${{env:{TARGET_PASSWORD}}}\", disable_tls: true}}
scripts:
  - {{name: mask, file: mask.lua}}
mirrors:
  - flow_job_name: items
    source_name: shop
    destination_name: analytics
    do_initial_snapshot: true
    script: mask
    idle_timeout_seconds: 1
{mirror}",
            postgres.host(),
            postgres.port(),
            postgres.user(),
            postgres.database(),
            clickhouse.host(),
            clickhouse.port(),
            clickhouse.user(),
            clickhouse.database()
        )
    }
}
