//! Parquet, read by the `parquet` crate.

use super::Rows;
use crate::{Error, ErrorKind};
use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The columns of a file of at most so many rows.
///
/// # Errors
///
/// `Corrupt` for what is no such file, `Unsupported` for a file of more rows or of other types.
pub(in crate::catalog::records) fn rows(bytes: &[u8], rows_max: u64) -> Result<Rows, Error> {
    let bytes = bytes::Bytes::copy_from_slice(bytes);
    // The reader is not made for bytes that nobody trusts: what makes it panic is no more than a broken file.
    let read = catch_unwind(AssertUnwindSafe(|| read(bytes, rows_max)));
    read.unwrap_or_else(|_| Err(corrupt("its reader could not go on")))
}

fn read(bytes: bytes::Bytes, rows_max: u64) -> Result<Rows, Error> {
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
        rows.take(group.as_ref(), count)?;
    }
    Ok(rows)
}

impl Rows {
    fn len(&self) -> usize {
        [self.paths.len(), self.offsets.len(), self.lens.len(), self.raws.len()]
            .into_iter()
            .max()
            .unwrap_or(0)
    }

    /// Adds the rows of one group.
    fn take(&mut self, group: &dyn RowGroupReader, count: usize) -> Result<(), Error> {
        let schema = group.metadata().schema_descr();
        for (number, column) in schema.columns().iter().enumerate() {
            if column.max_rep_level() != 0 || 1 < column.max_def_level() {
                return Err(Error::unsupported("nested columns in a file of references"));
            }
            let optional = column.max_def_level() == 1;
            let open = || group.get_column_reader(number).map_err(broken);
            match column.name() {
                "path" => self.paths.extend(texts(open()?, count, Levels { optional })?),
                "raw" => self.raws.extend(texts(open()?, count, Levels { optional })?),
                "offset" => self.offsets.extend(numbers(open()?, count, Levels { optional })?),
                "size" => self.lens.extend(numbers(open()?, count, Levels { optional })?),
                _ => {}
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

fn texts(reader: ColumnReader, count: usize, levels: Levels) -> Result<Vec<Option<Box<[u8]>>>, Error> {
    match reader {
        ColumnReader::ByteArrayColumnReader(reader) => {
            values(reader, count, levels, |text: &ByteArray| text.data().into())
        }
        other => Err(of_type(&other, "bytes")),
    }
}

fn numbers(reader: ColumnReader, count: usize, levels: Levels) -> Result<Vec<Option<i64>>, Error> {
    match reader {
        ColumnReader::Int64ColumnReader(reader) => values(reader, count, levels, |number| *number),
        ColumnReader::Int32ColumnReader(reader) => values(reader, count, levels, |number| i64::from(*number)),
        other => Err(of_type(&other, "whole numbers")),
    }
}

/// All values of a column of so many rows.
fn values<T: DataType, V>(
    mut reader: ColumnReaderImpl<T>,
    count: usize,
    levels: Levels,
    convert: impl Fn(&T::T) -> V,
) -> Result<Vec<Option<V>>, Error> {
    let (mut definitions, mut found) = (Vec::new(), Vec::new());
    let mut rows = 0;
    while rows < count {
        let wanted = levels.optional.then_some(&mut definitions);
        let (read, ..) = reader.read_records(count - rows, wanted, None, &mut found).map_err(broken)?;
        if read == 0 {
            return Err(corrupt("a column has fewer values than rows"));
        }
        rows += read;
    }
    if !levels.optional {
        return Ok(found.iter().map(|value| Some(convert(value))).collect());
    }
    let mut found = found.iter();
    let of_row = |level: i16| match level {
        0 => Ok(None),
        _ => found.next().map(|value| Some(convert(value))).ok_or_else(|| corrupt("a column lacks values")),
    };
    definitions.into_iter().map(of_row).collect()
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
    corrupt(&error.to_string()).with_source(error)
}

#[cold]
fn corrupt(why: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("wanted references in Parquet: {why}"))
}
