//! As much of XML as the interface needs.

/// A text as it stands in XML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The text that stands in XML.
pub(crate) fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&")
}

/// What elements of a name contain, where they contain text alone and have no attributes.
pub(crate) fn contents_of<'t>(text: &'t str, name: &str) -> impl Iterator<Item = &'t str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        let after = rest.split_once(open.as_str())?.1;
        let (content, after) = after.split_once(close.as_str())?;
        rest = after;
        Some(content)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        let text = "a<b>&\"'&amp;";
        assert_eq!(unescape(&escape(text)), text);
        let found: Vec<&str> = contents_of("<D><Key>a</Key><O/><Key>b</Key><Key>c", "Key").collect();
        assert_eq!(found, ["a", "b"]);
    }
}
