//! References that follow a rule: `gen` of version 1.

use super::document::{Reading, wrong};
use super::expression::{Names, Value as Named};
use crate::Error;
use crate::metadata::json::brief;
use serde_json::Value;
use std::sync::Arc;

/// What one name takes on, one after the other.
struct Dimension {
    name: Arc<str>,
    values: Values,
}

enum Values {
    Listed(Vec<Named>),
    Range { start: i64, step: i64, count: usize },
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Values::Listed(values) => values.len(),
            Values::Range { count, .. } => *count,
        }
    }

    fn get(&self, at: usize) -> Option<Named> {
        match self {
            Values::Listed(values) => values.get(at).cloned(),
            Values::Range { start, step, count } if at < *count => {
                let number = i64::try_from(at).ok()?.checked_mul(*step)?.checked_add(*start)?;
                Some(Named::Number(number))
            }
            Values::Range { .. } => None,
        }
    }
}

/// References that one generator makes, at most.
const GENERATED_MAX: usize = 1 << 22;

/// Adds the keys of one generator: one for each combination of what its dimensions take on.
///
/// # Errors
///
/// `Invalid` for what is no generator, `Unsupported` for one of too many keys.
pub(super) fn generate(generator: &Value, reading: &mut Reading) -> Result<(), Error> {
    let text = |name: &str| match generator.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        // Numbers that were not made a text.
        Some(number @ Value::Number(_)) => Ok(Some(number.to_string())),
        Some(other) => Err(wrong(&format!("a text as `{name}` of a generator"), other)),
    };
    let needed = |name: &str| {
        text(name)?.ok_or_else(|| {
            Error::invalid(format!("wanted `{name}` in a generator of references, found none"))
        })
    };
    let (key, url) = (needed("key")?, needed("url")?);
    let range = match (text("offset")?, text("length")?) {
        (None, None) => None,
        (Some(offset), Some(len)) => Some((offset, len)),
        _ => {
            return Err(Error::invalid(
                "wanted both `offset` and `length` in a generator of references, or none",
            ));
        }
    };
    let dimensions = dimensions(generator)?;
    let names_len = dimensions.iter().map(|dimension| dimension.name.len()).sum();
    let mut at = vec![0; dimensions.len()];
    loop {
        reading.charge(names_len)?;
        let Some(names) = names(&dimensions, &at) else { return Ok(()) };
        let mut rendered = |text: &str| reading.rendered(text, &names);
        let (key, url) = (rendered(&key)?, rendered(&url)?);
        let range = match &range {
            None => None,
            Some((offset, len)) => Some((number(&rendered(offset)?)?, number(&rendered(len)?)?)),
        };
        let reference = match range {
            None => reading.whole(&url),
            Some((offset, len)) => reading.part(&url, offset, len)?,
        };
        reading.add(&key, reference)?;
        if !advance(&mut at, &dimensions) {
            return Ok(());
        }
    }
}

fn dimensions(generator: &Value) -> Result<Vec<Dimension>, Error> {
    let Some(Value::Object(fields)) = generator.get("dimensions") else {
        return Err(wrong("an object as `dimensions` of a generator", generator));
    };
    let mut keys = 1usize;
    let mut dimensions = Vec::with_capacity(fields.len());
    for (name, values) in fields {
        let values = values_of(values)?;
        keys = keys.saturating_mul(values.len());
        dimensions.push(Dimension { name: name.as_str().into(), values });
    }
    match keys <= GENERATED_MAX {
        true => Ok(dimensions),
        false => Err(Error::unsupported(format!("a generator of more than {GENERATED_MAX} references"))),
    }
}

fn values_of(values: &Value) -> Result<Values, Error> {
    match values {
        Value::Array(values) => values.iter().map(named).collect::<Result<_, _>>().map(Values::Listed),
        Value::Object(range) => {
            let field = |name: &str, default: Option<i64>| match range.get(name) {
                None => default.ok_or_else(|| wrong("`stop` in a range of a generator", values)),
                Some(number) => {
                    number.as_i64().ok_or_else(|| wrong("whole numbers in a range of a generator", values))
                }
            };
            let (start, stop, step) =
                (field("start", Some(0))?, field("stop", None)?, field("step", Some(1))?);
            let count = count_of(start, stop, step).ok_or_else(|| wrong("a step that is not 0", values))?;
            Ok(Values::Range { start, step, count })
        }
        other => Err(wrong("a list or a range as a dimension of a generator", other)),
    }
}

/// How many numbers Python's `range` has.
fn count_of(start: i64, stop: i64, step: i64) -> Option<usize> {
    let (distance, stride) = match 0 < step {
        true => (i128::from(stop) - i128::from(start), i128::from(step)),
        false => (i128::from(start) - i128::from(stop), -i128::from(step)),
    };
    if stride == 0 {
        return None;
    }
    let count = (distance.max(0) + stride - 1) / stride;
    Some(usize::try_from(count).unwrap_or(usize::MAX))
}

fn named(value: &Value) -> Result<Named, Error> {
    match (value, value.as_i64()) {
        (_, Some(number)) => Ok(Named::Number(number)),
        (Value::String(text), _) => Ok(Named::Text(text.as_str().into())),
        (other, _) => Err(wrong("whole numbers and texts in a dimension of a generator", other)),
    }
}

/// What names stand for at a place; `None` where a dimension has nothing.
fn names(dimensions: &[Dimension], at: &[usize]) -> Option<Names> {
    let name = |(dimension, at): (&Dimension, &usize)| {
        Some((Arc::clone(&dimension.name), dimension.values.get(*at)?))
    };
    dimensions.iter().zip(at).map(name).collect()
}

/// Goes to the next place, the last dimension first; false at the end.
fn advance(at: &mut [usize], dimensions: &[Dimension]) -> bool {
    for (at, dimension) in at.iter_mut().zip(dimensions).rev() {
        *at += 1;
        if *at < dimension.values.len() {
            return true;
        }
        *at = 0;
    }
    false
}

fn number(text: &str) -> Result<u64, Error> {
    text.trim().parse().map_err(|_| {
        let found = brief(&Value::String(text.to_owned()));
        Error::invalid(format!(
            "wanted an offset or a length in bytes in a generator of references, found {found}"
        ))
    })
}
