//! Parquet, read by the `parquet` crate.

use super::pages::Pages;
use super::{Rows, RowsMax, Texts};
use crate::{Error, ErrorKind};
use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// The value of a text, a part of the page that it was found in.
pub(in crate::catalog::records) type Text = ByteArray;

/// The columns of a file of at most so many rows and bytes.
///
/// # Errors
///
/// `Corrupt` for what is no such file, `Unsupported` for a file of more or of other types.
pub(in crate::catalog::records) fn rows(bytes: &[u8], max: RowsMax) -> Result<Rows, Error> {
    let bytes = bytes::Bytes::copy_from_slice(bytes);
    // The reader is not made for bytes that nobody trusts: what makes it panic is no more than a broken file.
    let read = catch_unwind(AssertUnwindSafe(|| read(bytes, max)));
    read.unwrap_or_else(|_| Err(corrupt("its reader could not go on")))
}

fn read(bytes: bytes::Bytes, max: RowsMax) -> Result<Rows, Error> {
    let (rows_max, bytes_left) = (max.rows, Arc::new(AtomicUsize::new(max.bytes)));
    let reader = SerializedFileReader::new(bytes).map_err(broken)?;
    let metadata = reader.metadata();
    let count = u64::try_from(metadata.file_metadata().num_rows()).unwrap_or(u64::MAX);
    if rows_max < count {
        return Err(Error::unsupported(format!("{count} rows in a file of at most {rows_max} references")));
    }
    let mut rows = Rows::default();
    for number in 0..metadata.num_row_groups() {
        let group = reader.get_row_group(number).map_err(broken)?;
        let count = usize::try_from(group.metadata().num_rows()).unwrap_or(usize::MAX);
        let left = usize::try_from(rows_max).unwrap_or(usize::MAX).saturating_sub(rows.len());
        if left < count {
            return Err(Error::unsupported(format!("more rows than {rows_max} in a file of references")));
        }
        rows.take(group.as_ref(), count, &bytes_left)?;
    }
    Ok(rows)
}

impl Rows {
    fn len(&self) -> usize {
        [self.paths.rows.len(), self.offsets.len(), self.lens.len(), self.raws.rows.len()]
            .into_iter()
            .max()
            .unwrap_or(0)
    }

    /// Adds the rows of one group.
    fn take(
        &mut self,
        group: &dyn RowGroupReader,
        count: usize,
        bytes_left: &Arc<AtomicUsize>,
    ) -> Result<(), Error> {
        let schema = group.metadata().schema_descr();
        let rows = self.len() + count;
        for (number, column) in schema.columns().iter().enumerate() {
            if column.max_rep_level() != 0 || 1 < column.max_def_level() {
                return Err(Error::unsupported("nested columns in a file of references"));
            }
            let optional = column.max_def_level() == 1;
            let open = || -> Result<ColumnReader, Error> {
                let pages = group.get_column_page_reader(number).map_err(broken)?;
                let len = group.metadata().column(number).uncompressed_size();
                let pages = Pages::new(pages, column.physical_type(), len, Arc::clone(bytes_left))?;
                Ok(get_column_reader(Arc::clone(column), Box::new(pages)))
            };
            let levels = Levels { optional };
            match column.name() {
                "path" => texts(open()?, count, levels, &mut self.paths)?,
                "raw" => texts(open()?, count, levels, &mut self.raws)?,
                "offset" => numbers(open()?, count, levels, &mut self.offsets)?,
                "size" => numbers(open()?, count, levels, &mut self.lens)?,
                _ => {}
            }
            if rows < self.len() {
                return Err(corrupt("a column is there twice, or has more values than rows"));
            }
        }
        Ok(())
    }
}

/// Whether values may be missing.
#[derive(Clone, Copy)]
struct Levels {
    optional: bool,
}

fn texts(reader: ColumnReader, count: usize, levels: Levels, texts: &mut Texts) -> Result<(), Error> {
    let reader = match reader {
        ColumnReader::ByteArrayColumnReader(reader) => reader,
        other => return Err(of_type(&other, "bytes")),
    };
    let Texts { values, rows } = texts;
    // Rows of one text have it at one place. Values hold their pages, so that no place has two texts.
    let mut numbers: HashMap<(usize, usize), u32> = HashMap::new();
    values_of(reader, count, levels, |text: Option<&ByteArray>| {
        rows.push(text.map(|text| {
            let place = (text.data().as_ptr().addr(), text.data().len());
            *numbers.entry(place).or_insert_with(|| {
                values.push(text.clone());
                // There are no more values than rows.
                u32::try_from(values.len() - 1).unwrap_or(u32::MAX)
            })
        }));
    })
}

fn numbers(
    reader: ColumnReader,
    count: usize,
    levels: Levels,
    numbers: &mut Vec<Option<i64>>,
) -> Result<(), Error> {
    match reader {
        ColumnReader::Int64ColumnReader(reader) => {
            values_of(reader, count, levels, |number| numbers.push(number.copied()))
        }
        ColumnReader::Int32ColumnReader(reader) => {
            values_of(reader, count, levels, |number| numbers.push(number.copied().map(i64::from)))
        }
        other => Err(of_type(&other, "whole numbers")),
    }
}

/// Rows that the reader decodes at once.
const ROWS_AT_ONCE: usize = 8 << 10;

/// Gives all values of a column of so many rows.
fn values_of<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    count: usize,
    levels: Levels,
    mut take: impl FnMut(Option<&T::T>),
) -> Result<(), Error> {
    let (mut definitions, mut found) = (Vec::new(), Vec::new());
    let mut rows = 0;
    while rows < count {
        definitions.clear();
        found.clear();
        let wanted = levels.optional.then_some(&mut definitions);
        let rows_max = (count - rows).min(ROWS_AT_ONCE);
        let (read, ..) = reader.read_records(rows_max, wanted, None, &mut found).map_err(broken)?;
        if read == 0 {
            return Err(corrupt("a column has fewer values than rows"));
        }
        rows += read;
        let mut values = found.iter();
        if !levels.optional {
            values.for_each(|value| take(Some(value)));
            continue;
        }
        for level in &definitions {
            match level {
                0 => take(None),
                _ => take(Some(values.next().ok_or_else(|| corrupt("a column lacks values"))?)),
            }
        }
    }
    Ok(())
}

#[cold]
fn of_type(reader: &ColumnReader, wanted: &str) -> Error {
    let found = match reader {
        ColumnReader::BoolColumnReader(_) => Type::BOOLEAN,
        ColumnReader::Int32ColumnReader(_) => Type::INT32,
        ColumnReader::Int64ColumnReader(_) => Type::INT64,
        ColumnReader::Int96ColumnReader(_) => Type::INT96,
        ColumnReader::FloatColumnReader(_) => Type::FLOAT,
        ColumnReader::DoubleColumnReader(_) => Type::DOUBLE,
        ColumnReader::ByteArrayColumnReader(_) => Type::BYTE_ARRAY,
        ColumnReader::FixedLenByteArrayColumnReader(_) => Type::FIXED_LEN_BYTE_ARRAY,
    };
    Error::unsupported(format!("wanted {wanted} in a column of references, found {found}"))
}

#[cold]
fn broken(error: ParquetError) -> Error {
    match error {
        // What pages say of themselves.
        ParquetError::External(source) => match source.downcast::<Error>() {
            Ok(error) => *error,
            Err(source) => corrupt(&source.to_string()),
        },
        error => corrupt(&error.to_string()).with_source(error),
    }
}

#[cold]
pub(super) fn corrupt(why: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("wanted references in Parquet: {why}"))
}
