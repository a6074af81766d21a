//! Every name that scripts can use beside the language's own, by what it belongs to: read from the engine
//! itself and from the tables that the runtime answers from, so that documentation can be held against it.

use crate::js::{Answer, Value};
use crate::runtime::{ENTRY_POINTS, Runtime};
use crate::{json, message, record};

/// Objects of the global `tarn` whose names are listed.
const LIBRARIES: [&str; 2] = ["json", "msgpack"];
/// Its classes.
const CLASSES: [&str; 3] = ["Decimal", "Time", "Interval"];

impl Runtime {
    /// What there is, and the names in it, sorted. `options` are those of `json`, `message` are the fields of
    /// one, `Decimal` are what decimals have and `Decimal.` what the class has.
    pub fn vocabulary(&self) -> Vec<(String, Vec<String>)> {
        let mut all = vec![
            ("entry points".to_owned(), ENTRY_POINTS.map(str::to_owned).to_vec()),
            ("record".to_owned(), record::MEMBERS.iter().map(|(name, ..)| (*name).to_owned()).collect()),
            ("message".to_owned(), message::FIELDS.map(str::to_owned).to_vec()),
            ("options".to_owned(), json::SETTINGS.iter().map(|(name, ..)| (*name).to_owned()).collect()),
        ];
        all.extend(self.read().unwrap_or_default());
        for (_, names) in &mut all {
            names.sort();
        }
        all
    }

    fn read(&self) -> Answer<Vec<(String, Vec<String>)>> {
        let global = self.engine().global();
        let tarn = global.get("tarn")?;
        let mut all = vec![
            ("tarn".to_owned(), self.names(&tarn)?),
            ("console".to_owned(), self.names(&global.get("console")?)?),
        ];
        for library in LIBRARIES {
            all.push((library.to_owned(), self.names(&tarn.get(library)?)?));
        }
        for class in CLASSES {
            let constructor = tarn.get(class)?;
            let own = ["length", "name", "prototype"];
            let of_class = self.names(&constructor)?.into_iter().filter(|name| !own.contains(&&**name));
            all.push((format!("{class}."), of_class.collect()));
            let inherited = self.names(&constructor.get("prototype")?)?;
            all.push((
                class.to_owned(),
                inherited.into_iter().filter(|name| name != "constructor").collect(),
            ));
        }
        Ok(all)
    }

    /// The names of an object's own properties.
    fn names(&self, object: &Value) -> Answer<Vec<String>> {
        let js = self.engine();
        let names = js.own_names(**object)?;
        names
            .iter()
            .map(|name| {
                let name = js.value_of_atom(name.number())?;
                Ok(js.text(*name)?.to_text())
            })
            .collect()
    }
}
