//! What scans find, as a table in a Parquet file.

use crate::grib::{Ensemble, Parameter, Surface};
use crate::{Bitmap, Error, ErrorKind, Field, Found};
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::io::Write;
use std::sync::Arc;

/// Rows that are in memory before they are written: some 300 bytes each.
const GROUP_ROWS: usize = 1 << 16;

/// The columns, with the unit or table of each where [`record`](crate::record) says it too.
const COLUMNS: [(&str, Kind); 31] = [
    ("file", Kind::Text),
    ("offset", Kind::Integer),
    ("length", Kind::Integer),
    ("field", Kind::Integer),
    ("edition", Kind::Integer),
    ("centre", Kind::Integer),
    ("subcentre", Kind::Integer),
    ("discipline", Kind::Integer),
    ("category", Kind::Integer),
    ("number", Kind::Integer),
    ("table", Kind::Integer),
    ("indicator", Kind::Integer),
    ("level_type", Kind::Integer),
    ("level", Kind::Float),
    ("level_to_type", Kind::Integer),
    ("level_to", Kind::Float),
    ("time", Kind::Text),
    ("step_seconds", Kind::Integer),
    ("step_from_seconds", Kind::Integer),
    ("statistic", Kind::Integer),
    ("member", Kind::Integer),
    ("grid", Kind::Text),
    ("points", Kind::Integer),
    ("columns", Kind::Integer),
    ("rows", Kind::Integer),
    ("packing", Kind::Text),
    ("bits", Kind::Integer),
    ("bitmap", Kind::Integer),
    ("data_offset", Kind::Integer),
    ("data_length", Kind::Integer),
    ("damage", Kind::Text),
];

#[derive(Clone, Copy)]
enum Kind {
    Integer,
    Float,
    Text,
}

/// One place of a row. What does not apply is null.
enum Cell {
    Null,
    Integer(i64),
    Float(f64),
    Text(String),
}

/// A Parquet file with a row for each field and each damage.
///
/// Columns are those of [`record`](crate::record), flat: numbers of edition 2 (`discipline`, `category`, `number`) or 1 (`table`,
/// `indicator`), levels as `level_type` and `level`, steps in seconds, `member` of ensembles; `bitmap` is 1 where the message has one,
/// and `damage` says what is wrong with bytes that are no sound message. At most some 20 MB of rows are in memory.
pub struct FieldTable<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Column>,
    rows: usize,
}

impl<W: Write + Send> FieldTable<W> {
    /// Begins a file.
    ///
    /// # Errors
    ///
    /// `Io` where `out` cannot be written.
    pub fn new(out: W) -> Result<FieldTable<W>, Error> {
        let declared = |(name, kind): &(&str, Kind)| match kind {
            Kind::Integer => format!("optional int64 {name};"),
            Kind::Float => format!("optional double {name};"),
            Kind::Text => format!("optional binary {name} (UTF8);"),
        };
        let text: Vec<String> = COLUMNS.iter().map(declared).collect();
        let schema =
            parse_message_type(&format!("message fields {{ {} }}", text.join(" "))).map_err(failed)?;
        let level = ZstdLevel::try_new(1).map_err(failed)?;
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
        let writer =
            SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(failed)?;
        Ok(FieldTable { writer, columns: columns(), rows: 0 })
    }

    /// Adds what was found in a file; `file` is what the caller calls it.
    ///
    /// # Errors
    ///
    /// `Io` where what is in memory cannot be written.
    pub fn push(&mut self, file: &str, found: &Found) -> Result<(), Error> {
        for (column, cell) in self.columns.iter_mut().zip(row(file, found)) {
            column.push(cell);
        }
        self.rows += 1;
        if GROUP_ROWS <= self.rows { self.flush() } else { Ok(()) }
    }

    /// Writes the rest, and returns what was written to.
    ///
    /// # Errors
    ///
    /// `Io` where it cannot be written.
    pub fn finish(mut self) -> Result<W, Error> {
        self.flush()?;
        self.writer.into_inner().map_err(failed)
    }

    fn flush(&mut self) -> Result<(), Error> {
        if self.rows == 0 {
            return Ok(());
        }
        self.rows = 0;
        let full = std::mem::replace(&mut self.columns, columns());
        let mut group = self.writer.next_row_group().map_err(failed)?;
        for column in &full {
            column.write(&mut group).map_err(failed)?;
        }
        group.close().map(|_| ()).map_err(failed)
    }
}

fn failed(error: ParquetError) -> Error {
    Error::new(ErrorKind::Io, format!("a table of fields cannot be written: {error}"))
}

/// Values of a column that are not null, and for each row whether it has one.
struct Column {
    values: Values,
    present: Vec<i16>,
}

enum Values {
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Texts(Vec<ByteArray>),
}

fn columns() -> Vec<Column> {
    let values = |kind: &Kind| match kind {
        Kind::Integer => Values::Integers(Vec::new()),
        Kind::Float => Values::Floats(Vec::new()),
        Kind::Text => Values::Texts(Vec::new()),
    };
    COLUMNS.iter().map(|(_, kind)| Column { values: values(kind), present: Vec::new() }).collect()
}

impl Column {
    fn push(&mut self, cell: Cell) {
        let is_present = match (&mut self.values, cell) {
            (Values::Integers(values), Cell::Integer(value)) => {
                values.push(value);
                true
            }
            (Values::Floats(values), Cell::Float(value)) => {
                values.push(value);
                true
            }
            (Values::Texts(values), Cell::Text(value)) => {
                values.push(value.into_bytes().into());
                true
            }
            _ => false,
        };
        self.present.push(i16::from(is_present));
    }

    fn write<W: Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let Some(mut column) = group.next_column()? else { return Ok(()) };
        let present = Some(self.present.as_slice());
        match (column.untyped(), &self.values) {
            (ColumnWriter::Int64ColumnWriter(writer), Values::Integers(values)) => {
                writer.write_batch(values, present, None)?;
            }
            (ColumnWriter::DoubleColumnWriter(writer), Values::Floats(values)) => {
                writer.write_batch(values, present, None)?;
            }
            (ColumnWriter::ByteArrayColumnWriter(writer), Values::Texts(values)) => {
                writer.write_batch(values, present, None)?;
            }
            _ => {}
        }
        column.close()
    }
}

/// A number that may be missing.
fn integer(value: Option<impl TryInto<i64>>) -> Cell {
    value.and_then(|value| value.try_into().ok()).map_or(Cell::Null, Cell::Integer)
}

fn text(value: impl Into<String>) -> Cell {
    Cell::Text(value.into())
}

/// The cells of a row, as many as [`COLUMNS`] and in their order.
fn row(file: &str, found: &Found) -> Vec<Cell> {
    match found {
        Found::Field(field) => {
            let mut cells = vec![text(file)];
            cells.extend(product(field));
            cells.extend(place(field));
            cells
        }
        Found::Damage(damage) => {
            let mut cells =
                vec![text(file), integer(Some(damage.span.offset)), integer(Some(damage.span.len))];
            cells.resize_with(COLUMNS.len() - 1, || Cell::Null);
            cells.push(text(format!("{}: {}", damage.kind.word(), damage.message)));
            cells
        }
    }
}

/// From `offset` to `member`.
fn product(field: &Field) -> [Cell; 20] {
    let (discipline, category, number, table, indicator) = match field.parameter {
        Parameter::Triple { discipline, category, number } => {
            (Some(discipline), Some(category), Some(number), None, None)
        }
        Parameter::Indicator { table, indicator } => (None, None, None, Some(table), Some(indicator)),
    };
    let [first, second] = [field.level.map(|level| level.first), field.level.and_then(|level| level.second)];
    let value =
        |surface: Option<Surface>| surface.and_then(|surface| surface.value).map_or(Cell::Null, Cell::Float);
    let kind = |surface: Option<Surface>| integer(surface.map(|surface| surface.kind));
    let step = field.step.as_ref();
    let from = step.filter(|step| step.interval.is_some()).and_then(|step| step.start.seconds());
    let member = match field.ensemble {
        Ensemble::Member { number, .. } => Some(number),
        _ => None,
    };
    [
        integer(Some(field.message.offset)),
        integer(Some(field.message.len)),
        integer(Some(field.number)),
        integer(Some(field.edition)),
        integer(Some(field.centre)),
        integer(Some(field.subcentre)),
        integer(discipline),
        integer(category),
        integer(number),
        integer(table),
        integer(indicator),
        kind(first),
        value(first),
        kind(second),
        value(second),
        text(field.time.to_string()),
        integer(step.and_then(|step| step.end_seconds())),
        integer(from),
        integer(step.and_then(|step| step.statistic)),
        integer(member),
    ]
}

/// From `grid` to `damage`.
fn place(field: &Field) -> [Cell; 10] {
    let grid = &field.grid;
    [
        text(grid.kind.name()),
        integer(Some(grid.points)),
        integer(grid.columns),
        integer(grid.rows),
        text(field.packing.kind.name()),
        integer(Some(field.packing.bits)),
        integer(Some(i64::from(field.bitmap != Bitmap::None))),
        integer(Some(field.place.data.offset)),
        integer(Some(field.place.data.len)),
        Cell::Null,
    ]
}
