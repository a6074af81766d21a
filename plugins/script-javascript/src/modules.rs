//! `import`: stored scripts.
//!
//! A stored script is a module when another one imports it while that is loaded. The host finds it by the name
//! that loading asked for, and loads again.

use crate::js::{Answer, Js, Module, Throw};
use crate::session::{Phase, Session};

/// What modules of the script itself are called.
pub const SCRIPT: &str = "script";

/// Sets how modules are found.
pub fn register(js: Js) {
    js.set_module_loader(normalize, load);
}

/// The stored script that a specifier means: `words`, `./words` and `./words.js` are the same.
fn stored(specifier: &str) -> &str {
    let name = specifier.strip_prefix("./").unwrap_or(specifier);
    name.strip_suffix(".js").or_else(|| name.strip_suffix(".mjs")).unwrap_or(name)
}

fn normalize(js: Js, from: &str, specifier: &str) -> Answer<String> {
    let Session { sources, imports, phase, missing_module, .. } = js.session();
    let name = if sources.contains_key(specifier) { specifier } else { stored(specifier) };
    if *phase == Phase::Running {
        return Err(Throw::of_type(format_args!(
            "there is no module \"{name}\": stored scripts are imported where a script begins, not in a function"
        )));
    }
    if !sources.contains_key(name) {
        name.clone_into(missing_module);
        return Err(Throw::of_type(format_args!(
            "there is no module \"{name}\": stored scripts are imported by their names"
        )));
    }
    if from == name {
        return Err(Throw::of_type(format_args!("the module \"{name}\" imports itself")));
    }
    if reaches(imports, name, from) {
        return Err(Throw::of_type(format_args!("the modules \"{from}\" and \"{name}\" import each other")));
    }
    imports.push((from.to_owned(), name.to_owned()));
    Ok(name.to_owned())
}

/// Whether a module imports another, also by way of others. There are few, and none reaches itself.
fn reaches(imports: &[(String, String)], from: &str, to: &str) -> bool {
    from == to
        || imports.iter().filter(|(importer, _)| importer == from).any(|(_, name)| reaches(imports, name, to))
}

fn load(js: Js, name: &str) -> Answer<Module> {
    let source = js.session().sources.get(name).cloned();
    let source = source.ok_or_else(|| Throw::of_type(format_args!("there is no module \"{name}\"")))?;
    js.compile(name, &source)
}

#[cfg(test)]
mod tests {
    use crate::runtime::tests::Recorder;
    use crate::{Fault, Runtime};

    /// Loads a script beside stored ones; its error, or the runtime.
    fn load(source: &str, stored: &[(&str, &str)]) -> Result<Runtime, Fault> {
        let mut runtime = Runtime::new(Box::new(Recorder::default())).expect("there is memory");
        for (name, source) in stored {
            runtime.add_module(name, source);
        }
        runtime.load(source).map(|()| runtime)
    }

    #[test]
    fn stored_scripts_are_modules() {
        let runtime = load(
            "import { all } from 'masks';
             import * as again from './masks.js';
             import fallback, { deep } from 'other_words';
             if (all !== again.all || all('abc') !== '***' || fallback !== 7 || deep() !== '**') throw 1;
             export function onRecord(r) { return r }",
            &[
                ("masks", "export const all = text => '*'.repeat(text.length);"),
                (
                    "other_words",
                    "import { all } from 'masks'; export default 7; export const deep = () => all('ab');",
                ),
                ("unused", "throw new Error('it runs')"),
            ],
        );
        assert_eq!(runtime.expect("it loads").entry_points(), ["onRecord"]);
    }

    #[test]
    fn a_script_that_exports_something_may_have_no_entry_point() {
        assert_eq!(load("export const x = 1", &[]).expect("it loads").entry_points(), [""; 0]);
        let fault = load("const x = 1", &[]).err().expect("it is refused");
        assert!(fault.message.contains("defines no entry point"), "{fault:?}");
    }

    #[test]
    fn what_is_wrong_with_a_module_is_said_with_its_name() {
        for (stored, line, message) in [
            (&[("a", "\nlet x = = 1")][..], 0, "a:2:9: SyntaxError: unexpected token in expression: '='"),
            (&[("a", "export const y = 1;\nthrow new Error('no')")], 0, "a:2:11: no"),
            (&[("a", "import 'a'")], 0, "TypeError: the module \"a\" imports itself"),
            (
                &[("a", "import 'b'"), ("b", "import 'a'")],
                0,
                "TypeError: the modules \"b\" and \"a\" import each other",
            ),
            (&[("a", "const x = 1")], 0, "SyntaxError: Could not find export 'y' in module 'a'"),
        ] {
            let fault = load("import { y } from 'a'; export function onRecord() {}", stored)
                .err()
                .expect("it is refused");
            assert_eq!((fault.line, &*fault.message), (line, message), "{stored:?}");
        }
    }

    #[test]
    fn an_error_in_a_module_is_at_the_line_that_called_it() {
        let source = "import { y } from 'a';\n\nexport function onRecord(r) {\n  return y(r);\n}";
        let stored = "\n\n\n\n\n\n\n\nexport function y(r) { throw new Error('no') }";
        let mut runtime = load(source, &[("a", stored)]).expect("it loads");
        runtime.start(vec![], crate::Output::Rows);
        let applied = runtime.apply(&crate::runtime::tests::one_user()).expect("sound");
        let rejected = &applied.rejected[0];
        assert_eq!(rejected.line, 4, "{rejected:?}");
        assert!(
            rejected.message.starts_with("a:9:") && rejected.message.contains("no (in onRecord"),
            "{rejected:?}"
        );
    }

    #[test]
    fn a_missing_module_is_told_so_that_it_can_be_found() {
        let mut runtime = Runtime::new(Box::new(Recorder::default())).expect("there is memory");
        let fault = runtime.load("import './masks.js'").expect_err("it is missing");
        assert!(fault.message.contains("there is no module \"masks\""), "{fault:?}");
        assert_eq!(runtime.missing_module(), Some("masks"));
    }

    #[test]
    fn a_module_is_not_imported_in_a_function() {
        let source = "export async function onRecord(r) { await import('late'); return r }";
        let applied = crate::runtime::tests::apply(source, &crate::runtime::tests::one_user());
        assert!(applied.rejected[0].message.contains("where a script begins"), "{:?}", applied.rejected);
    }
}
