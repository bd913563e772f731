//! Versions of remote objects: entity tags, generations, dates.

use crate::identity::MODIFIED;
use crate::{Error, ErrorKind, Identity};
use object_store::{ObjectMeta, PutResult, UpdateVersion};
use std::sync::Arc;

/// The version of an object as an answer tells it: the entity tag, and behind a line feed the generation where the service
/// has one; or the date of the last change where there is no tag. `None` where the answer tells nothing.
pub(super) fn version_of(meta: &ObjectMeta) -> Option<Identity> {
    let dated = || {
        let modified = meta.last_modified.timestamp_nanos_opt().filter(|nanos| *nanos != 0)?;
        Some(Identity::Tag(Arc::from(format!("{MODIFIED}{modified}"))))
    };
    tagged(meta.e_tag.as_deref(), meta.version.as_deref()).or_else(dated)
}

/// The version that a write made.
pub(super) fn version_written(result: &PutResult) -> Option<Identity> {
    tagged(result.e_tag.as_deref(), result.version.as_deref())
}

/// The version that an entity tag alone stands for.
pub(super) fn tag_of(tag: &str) -> Identity {
    Identity::Tag(Arc::from(tag))
}

fn tagged(tag: Option<&str>, generation: Option<&str>) -> Option<Identity> {
    let text: Arc<str> = match (tag, generation) {
        (Some(tag), Some(generation)) => Arc::from(format!("{tag}\n{generation}")),
        (Some(tag), None) => Arc::from(tag),
        (None, Some(generation)) => Arc::from(format!("\n{generation}")),
        (None, None) => return None,
    };
    Some(Identity::Tag(text))
}

/// What `If-Match` takes of a version. Weak tags (RFC 9110 section 8.8.1) match nothing there, and dates are no tags: such
/// versions are compared with the answer's instead.
pub(super) fn if_match(version: &Identity) -> Option<String> {
    let Identity::Tag(text) = version else { return None };
    let (tag, _) = split(text);
    let strong = !tag.is_empty() && !tag.starts_with("W/") && !tag.starts_with(MODIFIED);
    strong.then(|| tag.to_owned())
}

/// What a conditional write takes of a version.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) for a version that no service can compare.
pub(super) fn update_of(version: &Identity) -> Result<UpdateVersion, Error> {
    let generation = match version {
        Identity::Tag(text) => split(text).1.map(str::to_owned),
        Identity::File(_) | Identity::Version(_) => None,
    };
    let e_tag = if_match(version);
    if e_tag.is_none() && generation.is_none() {
        let message = format!("wanted a version that a service can compare, found {version:?}");
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    Ok(UpdateVersion { e_tag, version: generation })
}

fn split(text: &str) -> (&str, Option<&str>) {
    text.split_once('\n').map_or((text, None), |(tag, generation)| (tag, Some(generation)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(text: &str) -> Identity {
        Identity::Tag(Arc::from(text))
    }

    #[test]
    fn only_strong_tags_are_sent() {
        assert_eq!(if_match(&tag("\"a\"")), Some("\"a\"".to_owned()));
        assert_eq!(if_match(&tag("\"a\"\n17")), Some("\"a\"".to_owned()));
        for none in ["W/\"a\"", "modified 17", "\n17"] {
            assert_eq!(if_match(&tag(none)), None);
        }
        assert_eq!(if_match(&Identity::Version(3)), None);
    }

    #[test]
    fn conditional_writes_name_tag_and_generation() {
        let both = update_of(&tag("\"a\"\n17")).unwrap();
        assert_eq!((both.e_tag.as_deref(), both.version.as_deref()), (Some("\"a\""), Some("17")));
        assert_eq!(update_of(&tag("modified 17")).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
