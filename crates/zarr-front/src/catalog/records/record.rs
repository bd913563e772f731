//! The rows of one file.

use super::rows::{Rows, RowsMax, rows};
use super::table_bytes;
use crate::Error;
use crate::catalog::references::{Reference, add_inline};
use crate::metadata::base64;
use std::collections::HashMap;
use std::sync::Arc;
use swath_ioengine::{MemoryMedium, ObjectRef, storage_len};

/// What the rows of one file stand for.
pub(crate) struct Record {
    /// Targets are numbers of the file's own.
    references: Vec<Option<Reference>>,
    urls: Vec<Arc<str>>,
    /// What rows hold themselves, one behind the other.
    inline: ObjectRef,
    inline_len: u64,
}

impl Record {
    /// Takes a file of at most so many rows and bytes.
    ///
    /// # Errors
    ///
    /// `Corrupt` for what is no such file, `Unsupported` for a file of more or of another form.
    pub(super) fn parse(bytes: &[u8], max: RowsMax) -> Result<Record, Error> {
        let Rows { paths, offsets, lens, raws } = rows(bytes, max)?;
        let mut numbers: HashMap<Arc<str>, u32> = HashMap::new();
        let mut urls = Vec::new();
        let mut number_of = |url: &str| match numbers.get(url) {
            Some(number) => *number,
            None => {
                let number = u32::try_from(urls.len()).unwrap_or(u32::MAX - 1);
                let url: Arc<str> = url.into();
                urls.push(Arc::clone(&url));
                numbers.insert(url, number);
                number
            }
        };
        let mut inline = Vec::new();
        // Each value once, however many rows have it.
        let inlines = raws
            .values
            .iter()
            .map(|raw| add_raw(&mut inline, raw.as_ref()))
            .collect::<Result<Vec<_>, _>>()?;
        let mut targets = Vec::with_capacity(paths.values.len());
        for path in &paths.values {
            let path = std::str::from_utf8(path.as_ref())
                .map_err(|_| Error::invalid("wanted paths of references in UTF-8"))?;
            targets.push(number_of(path));
        }
        let count = [paths.rows.len(), offsets.len(), lens.len(), raws.rows.len()];
        let count = count.into_iter().max().unwrap_or(0);
        let mut references = Vec::with_capacity(count);
        for row in 0..count {
            let value = |rows: &[Option<u32>]| rows.get(row).copied().flatten().map(|value| value as usize);
            let raw = value(&raws.rows).and_then(|raw| inlines.get(raw));
            let target = value(&paths.rows).and_then(|path| targets.get(path));
            let place = (offsets.get(row).copied().flatten(), lens.get(row).copied().flatten());
            references.push(match (raw, target) {
                (Some(raw), _) => Some(*raw),
                (None, None) => None,
                (None, Some(target)) => Some(reference(*target, place)?),
            });
        }
        let inline_len = storage_len(inline.len());
        let memory = MemoryMedium::new();
        memory.put("inline", inline);
        Ok(Record { references, urls, inline: memory.object("inline"), inline_len })
    }

    /// What a row stands for; `None` where it stands for nothing.
    pub(super) fn reference(&self, row: usize) -> Option<Reference> {
        self.references.get(row).copied().flatten()
    }

    /// The URL of a target, by the file's own number.
    pub(super) fn url(&self, target: u32) -> Arc<str> {
        self.urls.get(target as usize).cloned().unwrap_or_default()
    }

    /// What rows hold themselves.
    pub(super) fn inline(&self) -> &ObjectRef {
        &self.inline
    }

    /// Bytes of memory that it takes, roughly.
    pub(super) fn memory_bytes(&self) -> u64 {
        let urls: u64 = self.urls.iter().map(|url| storage_len(url.len()) + URL_OVERHEAD_BYTES).sum();
        table_bytes::<Option<Reference>>(self.references.len()) + urls + self.inline_len
    }
}

/// What a URL takes beside its bytes.
const URL_OVERHEAD_BYTES: u64 = 32;

/// A range of a target; of no bytes at its beginning it is all of it.
fn reference(target: u32, place: (Option<i64>, Option<i64>)) -> Result<Reference, Error> {
    let (offset, len) = (place.0.unwrap_or(0), place.1.unwrap_or(0));
    let (Ok(offset), Ok(len)) = (u64::try_from(offset), u64::try_from(len)) else {
        return Err(Error::invalid(format!("a reference of {len} bytes at {offset}")));
    };
    if offset.checked_add(len).is_none() {
        return Err(Error::invalid(format!("{len} bytes at {offset}, past the end of every file")));
    }
    Ok(match (offset, len) {
        (0, 0) => Reference::Whole { target },
        _ => Reference::Part { target, offset, len },
    })
}

fn add_raw(inline: &mut Vec<u8>, raw: &[u8]) -> Result<Reference, Error> {
    match raw.strip_prefix(b"base64:") {
        None => add_inline(inline, raw),
        Some(encoded) => {
            let decoded = std::str::from_utf8(encoded).ok().and_then(base64::decode);
            let decoded = decoded
                .ok_or_else(|| Error::invalid("wanted base64 after `base64:`, found something else"))?;
            add_inline(inline, &decoded)
        }
    }
}

#[cfg(test)]
#[cfg(feature = "parquet")]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use parquet::basic::{Compression, Encoding, ZstdLevel};
    use parquet::data_type::{ByteArray, ByteArrayType};
    use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    const MAX: RowsMax = RowsMax { rows: 5000, bytes: 20 << 20 };

    /// A file of these texts in the columns `raw`, as many as there are columns.
    fn file(
        columns: usize,
        texts: &[ByteArray],
        change: fn(WriterPropertiesBuilder) -> WriterPropertiesBuilder,
    ) -> Vec<u8> {
        let schema = format!("message a {{ {} }}", "required binary raw; ".repeat(columns));
        let schema = Arc::new(parse_message_type(&schema).unwrap());
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_statistics_enabled(EnabledStatistics::None)
            .set_dictionary_page_size_limit(16 << 20);
        let properties = Arc::new(change(properties).build());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        while let Some(mut column) = group.next_column().unwrap() {
            column.typed::<ByteArrayType>().write_batch(texts, None, None).unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
        writer.into_inner().unwrap()
    }

    fn refused(bytes: &[u8]) -> ErrorKind {
        Record::parse(bytes, MAX).err().unwrap().kind()
    }

    #[test]
    fn rows_share_what_the_file_holds_once() {
        let long = |byte: u8| ByteArray::from(vec![byte; 16 << 10]);
        let texts: Vec<ByteArray> = [long(b'a'), long(b'b')].into_iter().cycle().take(5000).collect();
        let bytes = file(1, &texts, |properties| properties);
        assert!(bytes.len() < 1 << 16, "{} bytes", bytes.len());
        let record = Record::parse(&bytes, MAX).unwrap();
        let len = 16 << 10;
        assert_eq!(record.inline_len, 2 * len);
        assert_eq!(record.reference(4998), Some(Reference::Inline { offset: 0, len }));
        assert_eq!(record.reference(4999), Some(Reference::Inline { offset: len, len }));
        assert!(record.memory_bytes() < 1 << 20);
    }

    #[test]
    fn what_a_file_holds_is_bounded() {
        let texts: Vec<ByteArray> = (0..200u8).map(|byte| vec![byte; 100 << 10].into()).collect();
        let plain = |properties: WriterPropertiesBuilder| properties.set_dictionary_enabled(false);
        assert_eq!(Record::parse(&file(1, &texts, plain), MAX).unwrap().inline_len, 200 * (100 << 10));
        let more = [&texts[..], &texts[..10]].concat();
        assert_eq!(refused(&file(1, &more, plain)), ErrorKind::Unsupported);
        assert_eq!(refused(&file(1, &vec![ByteArray::from("a"); 5001], plain)), ErrorKind::Unsupported);
        assert_eq!(refused(&file(2, &texts[..5], plain)), ErrorKind::Corrupt);
    }

    /// Texts that share beginnings are put together, each as long as it is.
    #[test]
    fn texts_that_are_put_together_are_refused() {
        let long = vec![ByteArray::from(vec![b'a'; 64 << 10]); 100];
        let bytes = file(1, &long, |properties| {
            properties.set_dictionary_enabled(false).set_encoding(Encoding::DELTA_BYTE_ARRAY)
        });
        assert_eq!(refused(&bytes), ErrorKind::Unsupported);
    }
}
