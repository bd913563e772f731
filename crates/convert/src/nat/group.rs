//! The arrays of a group: pixels, what describes their lines, and coordinates.

use super::calibration::{CoefficientSet, Coefficients, Quantity};
use super::channel::Channel;
use super::conversion::{Conversion, Variable};
use super::geometry::{Grid, HEIGHT_METRES};
use super::header::Header;
use super::moment::Moment;
use super::pixel_layout::bits_apart;
use crate::nodes::{Expected, array, grown};
use crate::{Error, ErrorKind};
use serde_json::{Map, Value, json};
use swath_ioengine::storage_len;
use swath_zarr_front::{
    Array, ArrayBuilder, AxisSelection, DataType, FillValue, Selection, Store, VariableArrayData,
    WriteOptions, ZarrFormat,
};

/// Times of a chunk of what has one value, or one for each channel, at each time: new images join without an object of their own.
const TIMES: u64 = 1024;

/// What stands for a time that is not known.
pub(super) const NO_TIME: i64 = i64::MIN;

/// What stands for a line that is not there.
pub(super) const NO_LINE: u8 = u8::MAX;

/// The arrays that describe lines: of the same dimensions but columns.
pub(super) struct LineArrays {
    pub(super) validity: Array,
    pub(super) radiometric: Array,
    pub(super) geometric: Array,
    pub(super) acquired: Array,
}

/// The arrays of one variable.
pub(super) struct VariableArrays {
    pub(super) pixels: Array,
    pub(super) lines: LineArrays,
}

/// Where arrays are made, and by whom.
pub(super) struct Making<'a> {
    pub(super) store: &'a Store,
    pub(super) expected: Expected,
    /// Whether it is the first piece, which writes what is of no file alone.
    pub(super) is_first: bool,
}

impl Making<'_> {
    /// Makes an array, or opens and lengthens the one that is there.
    ///
    /// # Errors
    ///
    /// Those of the store; `Invalid` where another array is there.
    fn array(
        &self,
        builder: &ArrayBuilder,
        path: &str,
        shape: &[u64],
        of: &DataType,
    ) -> Result<Array, Error> {
        let array = grown(array(builder, self.store, path, self.expected)?, shape)?;
        if array.shape() != shape || array.data_type() != of {
            let found = (array.data_type(), array.shape());
            let message = format!("wanted an array of {of:?} and shape {shape:?}, found {found:?}");
            return Err(Error::new(ErrorKind::Invalid, message).with_object(path));
        }
        Ok(array)
    }
}

impl Conversion {
    /// Makes the arrays of a variable, and writes what is known of it before any pixel.
    pub(super) fn create(&self, variable: &Variable, making: &Making<'_>) -> Result<VariableArrays, Error> {
        if making.is_first {
            self.write_channels(variable, making)?;
            self.write_coefficients(variable, making)?;
        }
        Ok(VariableArrays {
            pixels: self.create_pixels(variable, making)?,
            lines: self.create_lines(variable, making)?,
        })
    }

    fn create_pixels(&self, variable: &Variable, making: &Making<'_>) -> Result<Array, Error> {
        let shape = self.shape(variable);
        let cut = self.cut(variable)?;
        let (data_type, fill) = match self.quantity {
            Quantity::Counts => (DataType::UInt16, json!(0)),
            _ => (DataType::Float32, json!("NaN")),
        };
        let fill = FillValue::from_json(&fill, &data_type, ZarrFormat::V3)?;
        let (serializer, compressors) = self.layout.codecs(self.quantity);
        let mut builder = ArrayBuilder::new(&shape, data_type.clone())
            .fill_value(fill)
            .compressors(compressors)
            .attributes(self.attributes(variable))
            .dimension_names(variable.dimensions().into_iter().map(Some))
            .chunk_shape(&cut.chunks);
        if let Some(serializer) = serializer {
            builder = builder.serializer(serializer);
        }
        if let Some(shards) = &cut.shards {
            builder = builder.shard_shape(shards);
        }
        making.array(&builder, &variable.name, &shape, &data_type)
    }

    /// Images that the store has with these.
    fn times(&self) -> u64 {
        storage_len(self.first_new_file + self.files.len())
    }

    /// What these images take of an array along time.
    fn new_times(&self) -> Result<Selection, Error> {
        let (start, end) = (self.first_new_file, self.first_new_file + self.files.len());
        let slice =
            i64::try_from(start).and_then(|start| Ok(AxisSelection::from(start..i64::try_from(end)?)));
        let slice = slice.map_err(|_| Error::new(ErrorKind::Invalid, "more images than 2^63"))?;
        Ok(Selection::new(vec![slice, AxisSelection::Ellipsis]))
    }

    fn shape(&self, variable: &Variable) -> Vec<u64> {
        self.view.shape(variable, self.first_new_file + self.files.len())
    }

    fn attributes(&self, variable: &Variable) -> Map<String, Value> {
        let is_solar = variable.channels.iter().all(|channel| channel.is_solar());
        let (name, units) = match self.quantity {
            Quantity::Counts => ("counts", "1"),
            Quantity::Radiance => ("toa_outgoing_radiance_per_unit_wavenumber", "mW m-2 sr-1 (cm-1)-1"),
            Quantity::ReflectanceOrTemperature if is_solar => ("toa_bidirectional_reflectance", "%"),
            Quantity::ReflectanceOrTemperature => ("toa_brightness_temperature", "K"),
        };
        let kind = if name == "counts" { "long_name" } else { "standard_name" };
        let suffix = variable.suffix;
        let mut coordinates =
            vec!["scan_start".to_owned(), "scan_end".to_owned(), format!("acquisition_time{suffix}")];
        coordinates.push("satellite".to_owned());
        let mut attributes = object(json!({
            kind: name,
            "units": units,
            "grid_mapping": "geostationary",
            "coordinates": coordinates.join(" "),
        }));
        if self.quantity == Quantity::Counts {
            attributes.insert("_FillValue".to_owned(), json!(0));
        }
        if self.coefficients == CoefficientSet::Gsics {
            attributes
                .insert("calibration_coefficients".to_owned(), json!("GSICS where there are, or nominal"));
        }
        attributes
    }

    fn create_lines(&self, variable: &Variable, making: &Making<'_>) -> Result<LineArrays, Error> {
        let suffix = variable.suffix;
        let create = |name: &str, data_type: DataType, fill: Value, mut attributes: Map<String, Value>| {
            let mut shape = self.shape(variable);
            shape.pop();
            let mut chunks = shape.clone();
            if let Some(first) = chunks.first_mut() {
                *first = 1;
            }
            let mut names: Vec<Option<String>> = variable.dimensions().into_iter().map(Some).collect();
            names.pop();
            let stored = FillValue::from_json(&fill, &data_type, ZarrFormat::V3)?;
            attributes.insert("_FillValue".to_owned(), fill);
            let size = data_type.size_bytes();
            let builder =
                ArrayBuilder::new(&shape, data_type.clone()).chunk_shape(&chunks).fill_value(stored);
            let builder =
                builder.compressors([bits_apart(size)]).attributes(attributes).dimension_names(names);
            making.array(&builder, &format!("{name}{suffix}"), &shape, &data_type)
        };
        let flags = |name: &str, meanings: &str| {
            object(json!({ "long_name": name, "flag_values": [0, 1, 2, 3, 4], "flag_meanings": meanings }))
        };
        let quality = "not_derived nominal usable suspect do_not_use";
        let validity = "not_derived nominal missing_data corrupted_data replaced_or_interpolated_data";
        let time = time_attributes("mean time at which the line was seen", "milliseconds");
        let no_line = || json!(NO_LINE);
        Ok(LineArrays {
            validity: create(
                "line_validity",
                DataType::UInt8,
                no_line(),
                flags("what the line is based on", validity),
            )?,
            radiometric: create(
                "line_radiometric_quality",
                DataType::UInt8,
                no_line(),
                flags("quality of the line's radiances", quality),
            )?,
            geometric: create(
                "line_geometric_quality",
                DataType::UInt8,
                no_line(),
                flags("quality of the line's places", quality),
            )?,
            acquired: create("acquisition_time", DataType::Int64, json!(NO_TIME), time)?,
        })
    }

    /// The channels' names and wavelengths: new images have the same.
    fn write_channels(&self, variable: &Variable, making: &Making<'_>) -> Result<(), Error> {
        if variable.is_hrv() || self.first_new_file != 0 {
            return Ok(());
        }
        let dimension = format!("channel{}", variable.suffix);
        let len = storage_len(variable.channels.len());
        let named = |data_type| {
            ArrayBuilder::new(&[len], data_type)
                .chunk_shape(&[len])
                .dimension_names([Some(dimension.clone())])
        };
        let builder =
            named(DataType::String).attributes(object(json!({ "long_name": "name of the channel" })));
        let names = variable.channels.iter().map(|channel| channel.name());
        let names = VariableArrayData::of_strings(&[len], names)?;
        let array = making.array(&builder, &dimension, &[len], &DataType::String)?;
        array.write_variable(&Selection::all(), &names, &WriteOptions::default())?;
        let waves: Vec<f64> =
            variable.channels.iter().map(|channel| channel.wavelength_micrometres()).collect();
        let attributes = object(json!({ "standard_name": "radiation_wavelength", "units": "um" }));
        let builder = named(DataType::Float64).attributes(attributes);
        let path = format!("wavelength{}", variable.suffix);
        let array = making.array(&builder, &path, &[len], &DataType::Float64)?;
        Ok(array.write(&Selection::all(), bytemuck::cast_slice(&waves))?)
    }

    /// What makes radiances of counts, of each time and channel.
    fn write_coefficients(&self, variable: &Variable, making: &Making<'_>) -> Result<(), Error> {
        let mut shape = self.shape(variable);
        shape.truncate(shape.len().saturating_sub(2));
        let mut chunks = shape.clone();
        if let Some(first) = chunks.first_mut() {
            *first = (*first).max(TIMES);
        }
        let names: Vec<Option<String>> =
            variable.dimensions().into_iter().take(shape.len()).map(Some).collect();
        let new = self.new_times()?;
        let write = |name: &str, long: &str, value: &dyn Fn(&Coefficients) -> Option<f64>| {
            let of = |header: &Header, channel: Channel| {
                let has = header.channels().contains(&channel);
                header.coefficients(channel).filter(|_| has).and_then(value).unwrap_or(f64::NAN)
            };
            let values: Vec<f64> = self
                .files
                .iter()
                .flat_map(|(_, header)| variable.channels.iter().map(move |channel| of(header, *channel)))
                .collect();
            let attributes = object(json!({ "long_name": long, "units": "mW m-2 sr-1 (cm-1)-1" }));
            let missing = FillValue::from_json(&json!("NaN"), &DataType::Float64, ZarrFormat::V3)?;
            let builder = ArrayBuilder::new(&shape, DataType::Float64)
                .chunk_shape(&chunks)
                .fill_value(missing)
                .attributes(attributes)
                .dimension_names(names.clone());
            let path = format!("{name}{}", variable.suffix);
            let array = making.array(&builder, &path, &shape, &DataType::Float64)?;
            Ok::<_, Error>(array.write(&new, bytemuck::cast_slice(&values))?)
        };
        write("calibration_slope", "radiance of one count", &|one| Some(one.slope))?;
        write("calibration_offset", "radiance of count 0", &|one| Some(one.offset))?;
        write("gsics_slope", "radiance of one count after GSICS", &|one| one.gsics_slope)?;
        write("gsics_offset", "radiance of count 0 after GSICS", &|one| one.gsics_offset)
    }

    /// Coordinates that all variables share, and the projection, where it is the first piece that is written.
    pub(super) fn write_coordinates(&self, making: &Making<'_>) -> Result<(), Error> {
        if !making.is_first {
            return Ok(());
        }
        // Where new images join, these are there.
        if self.first_new_file == 0 {
            for variable in &self.variables {
                let suffix = if variable.is_hrv() { "_hrv" } else { "" };
                let is_first = self.variables.iter().find(|other| other.is_hrv() == variable.is_hrv());
                if let (Some(grid), true) = (self.grid(variable), is_first == Some(variable)) {
                    write_axes(making, grid, suffix)?;
                }
            }
            self.write_projection(making)?;
        }
        let headers = || self.files.iter().map(|(_, header)| header);
        let milliseconds = |moment: Option<Moment>| moment.map_or(NO_TIME, |moment| moment.milliseconds);
        let seconds = |header: &Header| header.nominal_start().map_or(NO_TIME, Moment::seconds);
        let nominal = time_attributes("nominal start of the repeat cycle", "seconds");
        let times: Vec<i64> = headers().map(seconds).collect();
        self.write_times(making, "time", (DataType::Int64, bytemuck::cast_slice(&times)), nominal)?;
        let scan = |header: &Header, pick: fn(&super::trailer::Scan) -> Option<Moment>| {
            milliseconds(header.scan.as_ref().and_then(pick))
        };
        for (name, long, pick) in [
            ("scan_start", "start of the scan", (|scan| scan.start) as fn(&super::trailer::Scan) -> _),
            ("scan_end", "end of the scan", |scan| scan.end),
        ] {
            let mut attributes = time_attributes(long, "milliseconds");
            attributes.insert("_FillValue".to_owned(), json!(NO_TIME));
            let times: Vec<i64> = headers().map(|header| scan(header, pick)).collect();
            self.write_times(making, name, (DataType::Int64, bytemuck::cast_slice(&times)), attributes)?;
        }
        let satellites: Vec<u16> = headers().map(|header| header.satellite).collect();
        let attributes = object(json!({
            "long_name": "number of the satellite",
            "flag_values": [321, 322, 323, 324],
            "flag_meanings": "Meteosat-8 Meteosat-9 Meteosat-10 Meteosat-11",
        }));
        let satellites = (DataType::UInt16, bytemuck::cast_slice(&satellites));
        self.write_times(making, "satellite", satellites, attributes)
    }

    /// Writes one value for each of these images.
    fn write_times(
        &self,
        making: &Making<'_>,
        name: &str,
        (data_type, values): (DataType, &[u8]),
        attributes: Map<String, Value>,
    ) -> Result<(), Error> {
        let len = self.times();
        let builder = along(data_type.clone(), len, len.max(TIMES), "time").attributes(attributes);
        let array = making.array(&builder, name, &[len], &data_type)?;
        Ok(array.write(&self.new_times()?, values)?)
    }

    fn write_projection(&self, making: &Making<'_>) -> Result<(), Error> {
        let projection = self.view.projection;
        let attributes = object(json!({
            "grid_mapping_name": "geostationary",
            "perspective_point_height": HEIGHT_METRES,
            "longitude_of_projection_origin": projection.longitude_degrees,
            "latitude_of_projection_origin": 0.0,
            "semi_major_axis": projection.semi_major_axis_metres,
            "semi_minor_axis": projection.semi_minor_axis_metres,
            "sweep_angle_axis": "y",
            "fixed_angle_axis": "x",
        }));
        let builder = ArrayBuilder::new(&[], DataType::Int32).attributes(attributes).dimension_names([]);
        let array = making.array(&builder, "geostationary", &[], &DataType::Int32)?;
        Ok(array.write(&Selection::all(), &1i32.to_ne_bytes())?)
    }
}

fn write_axes(making: &Making<'_>, grid: &Grid, suffix: &str) -> Result<(), Error> {
    for (axis, values) in [("x", grid.x_radians()), ("y", grid.y_radians())] {
        let attributes = object(json!({
            "standard_name": format!("projection_{axis}_angular_coordinate"),
            "units": "radian",
            "axis": axis.to_ascii_uppercase(),
        }));
        let (name, len) = (format!("{axis}{suffix}"), storage_len(values.len()));
        let builder = along(DataType::Float64, len, len, &name).attributes(attributes);
        let array = making.array(&builder, &name, &[len], &DataType::Float64)?;
        array.write(&Selection::all(), bytemuck::cast_slice(&values))?;
    }
    Ok(())
}

/// An array along a dimension.
fn along(data_type: DataType, len: u64, chunk: u64, dimension: &str) -> ArrayBuilder {
    ArrayBuilder::new(&[len], data_type)
        .chunk_shape(&[chunk.max(1)])
        .dimension_names([Some(dimension.to_owned())])
}

fn time_attributes(long: &str, unit: &str) -> Map<String, Value> {
    object(json!({
        "long_name": long,
        "standard_name": "time",
        "units": format!("{unit} since 1970-01-01T00:00:00"),
        "calendar": "proleptic_gregorian",
    }))
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}
