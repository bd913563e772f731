//! Listings, page by page.

use super::query::Query;
use super::xml::escape;
use crate::objects::Objects;
use std::fmt::Write;

/// One page of a listing (`list-type=2`). A page goes on after its token, which is the last name of the page before.
pub(crate) fn list(objects: &Objects, query: &Query, page_max: usize) -> String {
    let prefix = query.get("prefix").unwrap_or("");
    let delimiter = query.get("delimiter").filter(|delimiter| !delimiter.is_empty());
    let asked = query.get("max-keys").and_then(|max| max.parse().ok()).unwrap_or(usize::MAX);
    let page_max = page_max.min(asked).max(1);
    let after = query.get("continuation-token").or(query.get("start-after")).unwrap_or("");
    let mut names = names(objects, prefix, delimiter);
    names.retain(|name| after < name.as_str());
    let truncated = page_max < names.len();
    names.truncate(page_max);
    let mut text = String::from("<ListBucketResult>");
    let _ = write!(text, "<Prefix>{}</Prefix><KeyCount>{}</KeyCount>", escape(prefix), names.len());
    let _ = write!(text, "<IsTruncated>{truncated}</IsTruncated>");
    if let (true, Some(last)) = (truncated, names.last()) {
        let _ = write!(text, "<NextContinuationToken>{}</NextContinuationToken>", escape(last));
    }
    for name in &names {
        let is_prefix = delimiter.is_some_and(|delimiter| name.ends_with(delimiter));
        match objects.get(name).filter(|_| !is_prefix) {
            Some(object) => {
                let _ = write!(
                    text,
                    "<Contents><Key>{}</Key><LastModified>{}</LastModified><ETag>{}</ETag><Size>{}</Size></Contents>",
                    escape(name),
                    TIME,
                    escape(&object.etag),
                    object.content.len()
                );
            }
            None if is_prefix => {
                let _ = write!(text, "<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>", escape(name));
            }
            None => {}
        }
    }
    text.push_str("</ListBucketResult>");
    text
}

/// The time of change that listings give, for all objects: nothing reads it.
const TIME: &str = "2026-01-01T00:00:00.000Z";

/// Keys and common prefixes, in order.
fn names(objects: &Objects, prefix: &str, delimiter: Option<&str>) -> Vec<String> {
    let mut names = objects.list(prefix);
    if let Some(delimiter) = delimiter {
        for name in &mut names {
            if let Some(at) = name[prefix.len()..].find(delimiter) {
                name.truncate(prefix.len() + at + delimiter.len());
            }
        }
        names.sort_unstable();
        names.dedup();
    }
    names
}
