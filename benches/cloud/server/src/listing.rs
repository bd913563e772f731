//! Listings as S3's `ListObjectsV2` answers them.

use crate::objects::Objects;
use crate::request::field;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Keys and prefixes of one answer.
const KEYS_MAX: usize = 1000;

/// The answer to `?list-type=2` on a bucket.
pub(crate) fn listing(objects: &Objects, bucket: &str, query: &str) -> String {
    let prefix = field(query, "prefix").unwrap_or_default();
    let delimiter = field(query, "delimiter").unwrap_or_default();
    let after =
        field(query, "continuation-token").or_else(|| field(query, "start-after")).unwrap_or_default();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
         <Name>{bucket}</Name><Prefix>{prefix}</Prefix><MaxKeys>{KEYS_MAX}</MaxKeys>"
    );
    let mut folders = BTreeSet::new();
    let (mut count, mut last, mut is_truncated) = (0, String::new(), false);
    for (key, len) in objects.keys(bucket, &prefix) {
        let rest = &key[prefix.len()..];
        let end = rest.find(&delimiter).filter(|_| !delimiter.is_empty());
        let folder = end.map(|end| &key[..prefix.len() + end + delimiter.len()]);
        let name = folder.unwrap_or(key);
        if name <= after.as_str() || folder.is_some_and(|folder| folders.contains(folder)) {
            continue;
        }
        if count == KEYS_MAX {
            is_truncated = true;
            break;
        }
        count += 1;
        name.clone_into(&mut last);
        match folder {
            Some(folder) => {
                folders.insert(folder.to_owned());
                let _infallible = write!(out, "<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>");
            }
            None => {
                let _infallible = write!(
                    out,
                    "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>\
                     <ETag>&quot;{len:x}&quot;</ETag><Size>{len}</Size><StorageClass>STANDARD</StorageClass></Contents>"
                );
            }
        }
    }
    let _infallible = write!(out, "<KeyCount>{count}</KeyCount><IsTruncated>{is_truncated}</IsTruncated>");
    if is_truncated {
        let _infallible = write!(out, "<NextContinuationToken>{last}</NextContinuationToken>");
    }
    out + "</ListBucketResult>"
}
