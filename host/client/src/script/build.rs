//! `tarn script build`: a component of a script file, without a server.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;

use clap::Args;
use serde_json::json;
use tarn_model::ScriptLanguage;

use super::{language, version};
use crate::error::Error;
use crate::file;
use crate::output::Report;
use crate::setup::ScriptText;
use crate::table::grouped;

/// A script that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltScript {
    /// The component's bytes.
    pub component: Vec<u8>,
    /// Their SHA-256, in hexadecimal.
    pub digest: String,
    /// The functions that it defines for the host.
    pub entry_points: Vec<String>,
}

/// Builds scripts: this crate knows no compiler, and is handed one.
pub trait ScriptBuilder: Send + Sync {
    /// Builds the component that a server makes of the same script; `modules` are the names and the code of
    /// scripts that it may require. The error is for a person.
    fn build<'a>(
        &'a self,
        name: &'a str,
        language: ScriptLanguage,
        source: &'a str,
        modules: &'a [(String, String)],
    ) -> Pin<Box<dyn Future<Output = Result<BuiltScript, String>> + Send + 'a>>;
}

/// A script file to build.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// The code. Its extension tells the language: .lua, .js, .wasm.
    file: PathBuf,
    /// The file to write.
    #[arg(short, long, value_name = "OUT.wasm")]
    output: PathBuf,
    /// Its language: lua, javascript or wasm.
    #[arg(long, value_parser = language)]
    lang: Option<ScriptLanguage>,
    /// Folder of the scripts that it may require by name; that of the file by default.
    #[arg(long, value_name = "FOLDER")]
    modules: Option<PathBuf>,
}

impl BuildArgs {
    pub(super) async fn build(self, builder: &dyn ScriptBuilder) -> Result<Report, Error> {
        let script = ScriptText::load(&self.file, None, self.lang)?;
        let folder = self.modules.as_deref().or_else(|| self.file.parent());
        let Neighbours { modules, unreadable } =
            neighbours(folder.filter(|folder| !folder.as_os_str().is_empty()), &script)?;
        let ScriptText { name, language, source, .. } = &script;
        let built = builder.build(name, *language, source, &modules).await;
        let built = built.map_err(|message| {
            // A file beside it that is no text matters where it is the one that is missing.
            let missing = unreadable.into_iter().find(|(name, _)| message.contains(&format!("\"{name}\"")));
            missing.map_or_else(
                || Error::Usage(format!("{}: {message}", self.file.display())),
                |(_, error)| error,
            )
        })?;
        version::write(&self.output, &built.component)?;
        let BuiltScript { component, digest, entry_points } = built;
        let defines = match entry_points.as_slice() {
            [] => "no entry point: other scripts may require it".to_owned(),
            names => names.join(", "),
        };
        let people = format!(
            "{}: {} bytes\nSHA-256 {digest}\nentry points: {defines}\n",
            self.output.display(),
            grouped(component.len() as u64)
        );
        let programs = json!({"file": self.output.display().to_string(), "bytes": component.len(),
            "digest": digest, "entryPoints": entry_points});
        Ok(Report::new(people, programs))
    }
}

/// The other scripts in a folder, by the names of their files.
#[derive(Debug, Default)]
struct Neighbours {
    /// Those that may be required, with their code.
    modules: Vec<(String, String)>,
    /// Those that cannot be read, and why.
    unreadable: Vec<(String, Error)>,
}

/// The other scripts of the same language in a folder. Cases are none.
fn neighbours(folder: Option<&Path>, script: &ScriptText) -> Result<Neighbours, Error> {
    let folder = folder.unwrap_or(Path::new("."));
    if script.language == ScriptLanguage::Wasm {
        return Ok(Neighbours::default());
    }
    let failed = |source| Error::File { path: folder.display().to_string(), source };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    let mut found = Neighbours::default();
    for path in paths {
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        let is_other = stem != script.name && !stem.ends_with("_test");
        if is_other && path.is_file() && ScriptText::language_of(&path) == Some(script.language) {
            match file::text(&path) {
                Ok(text) => found.modules.push((stem.to_owned(), text)),
                Err(error) => found.unreadable.push((stem.to_owned(), error)),
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_may_require_those_beside_it_in_its_language() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in
            [("mask.lua", "mask"), ("mask_test.lua", "cases"), ("names.lua", "names"), ("other.js", "js")]
        {
            std::fs::write(folder.path().join(name), text).expect("written");
        }
        let script = ScriptText::load(&folder.path().join("mask.lua"), None, None).expect("read");
        std::fs::write(folder.path().join("torn.lua"), [0xff]).expect("written");
        let found = neighbours(Some(folder.path()), &script).expect("read");
        assert_eq!(found.modules, [("names".to_owned(), "names".to_owned())]);
        assert_eq!(found.unreadable.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["torn"]);
        assert_eq!(script.language, ScriptLanguage::Lua);
    }
}
