//! The query of a URL.

use percent_encoding::percent_decode_str;

/// Names and values, decoded.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(text: &str) -> Query {
        let decode =
            |part: &str| percent_decode_str(&part.replace('+', " ")).decode_utf8_lossy().into_owned();
        let parts = text.split('&').filter(|part| !part.is_empty());
        Query(
            parts
                .map(|part| part.split_once('=').unwrap_or((part, "")))
                .map(|(name, value)| (decode(name), decode(value)))
                .collect(),
        )
    }

    /// A name's first value; empty for a name without one.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}
