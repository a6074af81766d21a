//! Building scripts with the runtimes that the binary carries, for the command line: no server is needed.

use std::future::Future;
use std::pin::Pin;

use ring::digest::{SHA256, digest};
use serde::Deserialize;
use tarn_client::{BuiltScript, ScriptBuilder};
use tarn_control::{CompileError, ComponentCompiler, ScriptCompiler as _, ScriptRuntimes, ScriptSource};
use tarn_model::ScriptLanguage;
use tarn_wasm::{Capabilities, Limits, Manifest, Runtime, RuntimeConfig};

/// Instances that the sandbox has room for: one is made, and the pool deals out its memories in stripes.
const INSTANCES: u32 = 4;

/// The language runtimes of this binary.
pub struct BundledRuntimes;

impl ScriptBuilder for BundledRuntimes {
    fn build<'a>(
        &'a self,
        name: &'a str,
        language: ScriptLanguage,
        source: &'a str,
        modules: &'a [(String, String)],
    ) -> Pin<Box<dyn Future<Output = Result<BuiltScript, String>> + Send + 'a>> {
        Box::pin(build(ScriptSource { name, language, source, modules }))
    }
}

async fn build(script: ScriptSource<'_>) -> Result<BuiltScript, String> {
    let runtimes =
        ScriptRuntimes { lua: tarn_bundle::SCRIPT_LUA, javascript: tarn_bundle::SCRIPT_JAVASCRIPT };
    let compiler = ComponentCompiler::of_runtimes(runtimes);
    let component = compiler.compile(script).await.map_err(|error| place(&error) + &error.to_string())?;
    let entry_points = entry_points(script.name, &component).await?;
    let digest = digest(&SHA256, &component).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(BuiltScript { component, digest, entry_points })
}

/// Where a script is wrong, before what is wrong.
fn place(error: &CompileError) -> String {
    match error {
        CompileError::Rejected { line, column, .. } if *column > 0 => {
            format!("line {line}, column {column}: ")
        }
        CompileError::Rejected { line, .. } if *line > 0 => format!("line {line}: "),
        _ => String::new(),
    }
}

/// What the component says of itself, in the sandbox that would run it.
async fn entry_points(name: &str, component: &[u8]) -> Result<Vec<String>, String> {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Description {
        entry_points: Vec<String>,
    }
    let config = RuntimeConfig { cache_dir: None, spool_dir: None, instances_max: INSTANCES };
    let runtime = Runtime::new(config).map_err(|error| error.to_string())?;
    let loaded =
        runtime.load(&Manifest::script(name), component.to_vec()).await.map_err(|error| error.to_string())?;
    let instance = runtime.script(&loaded, Capabilities::none(), Limits::script()).await;
    let mut instance = instance.map_err(|failure| failure.to_string())?;
    let description = instance.describe().await.map_err(|failure| failure.to_string())?;
    let Description { entry_points } = serde_json::from_str(&description).unwrap_or_default();
    Ok(entry_points)
}
