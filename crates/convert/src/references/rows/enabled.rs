//! Parquet, by the crate `parquet`.

use super::Rows;
use crate::{Error, ErrorKind};
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::sync::Arc;

/// The columns, as fsspec calls them and in its order.
const SCHEMA: &str = "message references {
    optional binary path (UTF8);
    required int64 offset;
    required int64 size;
    optional binary raw;
}";

/// Says that there is Parquet.
///
/// # Errors
///
/// None: without the feature there is one.
pub(in crate::references) fn is_there() -> Result<(), Error> {
    Ok(())
}

/// Writes the rows of a file.
///
/// # Errors
///
/// `Io` where it cannot be written.
pub(in crate::references) fn write(out: File, rows: &Rows<'_>) -> Result<(), Error> {
    write_file(out, rows).map_err(|error| {
        Error::new(ErrorKind::Io, format!("a file of references cannot be written: {error}"))
    })
}

fn write_file(out: File, rows: &Rows<'_>) -> Result<(), ParquetError> {
    let schema = parse_message_type(SCHEMA)?;
    // Least and greatest paths would be another copy of each.
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_statistics_enabled(EnabledStatistics::None)
        .build();
    let mut writer = SerializedFileWriter::new(BufWriter::new(out), Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    let (paths, raws) = (Column::of(rows.paths.iter().copied()), Column::of(rows.raws.iter().copied()));
    let mut numbers = [&rows.offsets, &rows.lens].into_iter();
    let mut bytes = [&paths, &raws].into_iter();
    while let Some(mut column) = group.next_column()? {
        match column.untyped() {
            ColumnWriter::Int64ColumnWriter(writer) => {
                let Some(numbers) = numbers.next() else { break };
                writer.write_batch(numbers, None, None)?;
            }
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                let Some(Column { values, present }) = bytes.next() else { break };
                writer.write_batch(values, Some(present), None)?;
            }
            _ => break,
        }
        column.close()?;
    }
    group.close()?;
    Ok(writer.into_inner()?.flush()?)
}

/// Bytes that may be missing, and for each row whether they are there.
struct Column {
    values: Vec<ByteArray>,
    present: Vec<i16>,
}

impl Column {
    fn of<'a, B: AsRef<[u8]> + ?Sized + 'a>(rows: impl Iterator<Item = Option<&'a B>>) -> Column {
        let (mut values, mut present) = (Vec::new(), Vec::new());
        for row in rows {
            present.push(i16::from(row.is_some()));
            values.extend(row.map(|row| ByteArray::from(row.as_ref().to_vec())));
        }
        Column { values, present }
    }
}
