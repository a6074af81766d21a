//! What the types of columns are to a batch.
//!
//! A column's type is a chain: a domain stands for its base type, an array for its element type, and so
//! on to a type that stands for itself. The walk keeps the modifier that applies (the length or the
//! precision), which a domain may set (B016, B040).

use std::collections::HashMap;

use tarn_batch::Type;
use tarn_sdk::Failure;
use tarn_sdk::postgres::Row;
use tarn_sdk::sql::postgres::literal;

use crate::peer::{Peer, flag, number, text};
use crate::sent_value::SentDecoder;
use crate::side::Side;
use crate::value::Decoder;

/// A type with its modifier, -1 for none: what the server says of a column.
pub(crate) type TypeKey = (u32, i32);

/// A type as a batch has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnType {
    pub(crate) data_type: Type,
    pub(crate) decoder: Decoder,
    /// The same for the binary form; nothing where only the text is sure.
    pub(crate) sent: Option<SentDecoder>,
    /// As the server writes it, such as `numeric(10,2)`; of a domain, its base type.
    pub(crate) name: String,
}

/// The types that were looked up.
#[derive(Debug, Default)]
pub(crate) struct Types {
    known: HashMap<TypeKey, ColumnType>,
}

impl Types {
    /// Looks up those that are not known.
    pub(crate) fn look_up<P: Peer>(
        &mut self,
        side: &mut Side<P>,
        keys: impl IntoIterator<Item = TypeKey>,
    ) -> Result<(), Failure> {
        let mut missing: Vec<TypeKey> =
            keys.into_iter().filter(|key| !self.known.contains_key(key)).collect();
        missing.sort_unstable();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }
        let mut chains: HashMap<usize, Vec<Link>> = HashMap::new();
        for row in side.read(&chain_sql(&missing))? {
            chains.entry(number(&row, 0)?).or_default().push(Link::read(&row)?);
        }
        for (index, key) in missing.into_iter().enumerate() {
            // A type that is gone from the catalog: its values come as text.
            let known = chains.get(&index).and_then(|chain| fold(chain)).unwrap_or_else(|| ColumnType {
                data_type: Type::Other,
                decoder: Decoder::Text,
                sent: None,
                name: "unknown".to_owned(),
            });
            self.known.insert(key, known);
        }
        Ok(())
    }

    /// A type that was looked up.
    pub(crate) fn get(&self, key: TypeKey) -> &ColumnType {
        self.known.get(&key).expect("every type is looked up before it is used")
    }

    /// Forgets what depends on a type: the server says that it will be used, perhaps anew (B019, B022).
    pub(crate) fn forget(&mut self, oid: u32) {
        self.known
            .retain(|(known, _), known_type| *known != oid && !depends_on_others(&known_type.data_type));
    }
}

/// Whether a type's meaning can change with another type: built-in ones stand for themselves.
fn depends_on_others(data_type: &Type) -> bool {
    matches!(data_type, Type::Array(_) | Type::Enum | Type::Other)
}

/// One type of a chain.
struct Link {
    oid: u32,
    modifier: i32,
    kind: String,
    is_array: bool,
    delimiter: u8,
    name: String,
    formatted: String,
}

impl Link {
    fn read(row: &Row) -> Result<Self, Failure> {
        Ok(Self {
            oid: number(row, 1)?,
            modifier: number(row, 2)?,
            kind: text(row, 3)?.to_owned(),
            is_array: flag(row, 4),
            delimiter: text(row, 5)?.bytes().next().unwrap_or(b','),
            name: text(row, 6)?.to_owned(),
            formatted: text(row, 7)?.to_owned(),
        })
    }
}

fn chain_sql(keys: &[TypeKey]) -> String {
    let seeds: Vec<String> = keys
        .iter()
        .enumerate()
        .map(|(index, (oid, modifier))| format!("({index}, {}::oid, {modifier})", literal(&oid.to_string())))
        .collect();
    format!(
        "WITH RECURSIVE chain (seed, level, oid, modifier) AS (
           SELECT seed, 0, oid, modifier FROM (VALUES {}) AS seeds (seed, oid, modifier)
           UNION ALL
           SELECT c.seed, c.level + 1,
                  CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.typelem END,
                  CASE WHEN t.typtype = 'd' AND t.typtypmod >= 0 THEN t.typtypmod ELSE c.modifier END
           FROM chain c JOIN pg_catalog.pg_type t ON t.oid = c.oid
           WHERE t.typtype = 'd' OR t.typinput = 'pg_catalog.array_in'::regproc)
         SELECT c.seed, t.oid, c.modifier, t.typtype, t.typinput = 'pg_catalog.array_in'::regproc,
                t.typdelim, t.typname, pg_catalog.format_type(t.oid, c.modifier)
         FROM chain c JOIN pg_catalog.pg_type t ON t.oid = c.oid
         ORDER BY c.seed, c.level",
        seeds.join(", ")
    )
}

/// The type at the start of a chain, from its end.
fn fold(chain: &[Link]) -> Option<ColumnType> {
    let (last, before) = chain.split_last()?;
    let data_type = scalar(last);
    let (decoder, sent) = (Decoder::scalar(&data_type), SentDecoder::scalar(&data_type, last.oid));
    let mut folded = ColumnType { data_type, decoder, sent, name: last.formatted.clone() };
    let mut delimiter = last.delimiter;
    for link in before.iter().rev() {
        if link.is_array {
            folded = ColumnType {
                data_type: folded.data_type.array(),
                decoder: Decoder::Array { element: Box::new(folded.decoder), delimiter },
                sent: folded.sent.map(|element| SentDecoder::Array(Box::new(element))),
                name: link.formatted.clone(),
            };
        }
        delimiter = link.delimiter;
    }
    Some(folded)
}

/// A type that is neither a domain nor an array.
fn scalar(link: &Link) -> Type {
    match (link.kind.as_str(), link.oid) {
        ("e", _) => Type::Enum,
        ("b", 16) => Type::Bool,
        ("b", 17) => Type::Bytes,
        // "char", name, text, bpchar, varchar
        ("b", 18 | 19 | 25 | 1042 | 1043) => Type::Text,
        ("b", 20) => Type::Int8,
        ("b", 21) => Type::Int2,
        ("b", 23) => Type::Int4,
        // An oid is an unsigned number of 32 bits.
        ("b", 26) => Type::Int8,
        ("b", 114 | 3802) => Type::Json,
        ("b", 700) => Type::Float4,
        ("b", 701) => Type::Float8,
        ("b", 1082) => Type::Date,
        ("b", 1083) => Type::Time,
        ("b", 1114) => Type::Timestamp,
        ("b", 1184) => Type::TimestampTz,
        ("b", 1186) => Type::Interval,
        ("b", 1266) => Type::TimeTz,
        ("b", 1700) => numeric(link.modifier),
        ("b", 2950) => Type::Uuid,
        // An extension's type: its number differs between databases (B065).
        ("b", _) if link.name == "citext" => Type::Text,
        _ => Type::Other,
    }
}

/// The modifier of a numeric is 4 more than its precision, 16 bits up, and its scale, a signed number
/// of 11 bits.
fn numeric(modifier: i32) -> Type {
    if modifier < 4 {
        return Type::Numeric { precision: 0, scale: 0 };
    }
    let packed = modifier - 4;
    let precision = ((packed >> 16) & 0xFFFF) as u16;
    let scale = (((packed & 0x7FF) ^ 0x400) - 0x400) as i16;
    Type::Numeric { precision, scale }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(oid: u32, modifier: i32, kind: &str, name: &str) -> Link {
        Link {
            oid,
            modifier,
            kind: kind.to_owned(),
            is_array: name.starts_with('_'),
            delimiter: if name.contains("box") { b';' } else { b',' },
            name: name.to_owned(),
            formatted: format!("formatted {name}"),
        }
    }

    #[test]
    fn numerics_keep_precision_and_scale() {
        // B016: numeric(8,2), numeric(60,0), numeric(2,-3), numeric(5,1000).
        let modifier = |precision: i32, scale: i32| (precision << 16 | (scale & 0x7FF)) + 4;
        for (precision, scale) in [(8, 2), (60, 0), (2, -3), (5, 1000), (1000, 0)] {
            let expected = Type::Numeric { precision: precision as u16, scale: scale as i16 };
            assert_eq!(numeric(modifier(precision, scale)), expected);
        }
        assert_eq!(numeric(-1), Type::Numeric { precision: 0, scale: 0 });
    }

    #[test]
    fn domains_and_arrays_fold_to_what_they_stand_for() {
        // B016, B023, B040: a domain over an array of a domain over an enum.
        let chain = [
            link(90_001, -1, "d", "moods"),
            link(90_002, -1, "b", "_mood"),
            link(90_003, -1, "d", "m"),
            link(90_004, -1, "e", "mood"),
        ];
        let folded = fold(&chain).expect("a type");
        assert_eq!(folded.data_type, Type::Enum.array());
        assert_eq!(folded.name, "formatted _mood");
        assert_eq!(folded.decoder, Decoder::Array { element: Box::new(Decoder::Text), delimiter: b',' });
    }

    #[test]
    fn an_array_of_boxes_has_its_own_delimiter() {
        // B053.
        let folded = fold(&[link(1020, -1, "b", "_box"), link(603, -1, "b", "box")]).expect("a type");
        assert_eq!(folded.data_type, Type::Other.array());
        assert_eq!(folded.decoder, Decoder::Array { element: Box::new(Decoder::Text), delimiter: b';' });
    }

    #[test]
    fn what_has_no_form_of_its_own_stays_text() {
        // B014, B025, B050, B067: money, ranges, tsvector, hstore; composites and int2vector too.
        for (oid, kind, name) in [
            (790, "b", "money"),
            (3908, "r", "tsrange"),
            (3614, "b", "tsvector"),
            (90_000, "b", "hstore"),
            (90_001, "c", "point3"),
            (22, "b", "int2vector"),
        ] {
            assert_eq!(scalar(&link(oid, -1, kind, name)), Type::Other, "{name}");
        }
        assert_eq!(scalar(&link(90_000, -1, "b", "citext")), Type::Text);
    }
}
