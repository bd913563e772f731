//! What is kept of a conversion beside its store, so that another run goes on with it and new files join.

use super::Finished;
use super::calibration::{CoefficientSet, Quantity};
use super::channel::Channel;
use super::conversion::{Conversion, ConversionOptions, Variable, by_time, told, variables};
use super::geometry::{Grid, Projection};
use super::header::Header;
use super::moment::Moment;
use super::pixel_layout::{Cut, PixelLayout};
use super::write::LineFailure;
use crate::journal::Journaled;
use crate::{Error, ErrorKind, Piece, PlannedFile, document};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use swath_ioengine::storage_len;

/// Which images a group holds, or will, and of what.
///
/// A plan is plain data: [`to_json`](Self::to_json) and [`from_json`](Self::from_json) carry it to another machine. It does not
/// hold the headers: [`Conversion::of_plan`] takes those of the new files, read again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversionPlan {
    /// The images, by time.
    pub files: Vec<PlannedImage>,
    /// Images before this one are in the store already.
    #[serde(default)]
    pub first_new_file: usize,
    /// In which quantity pixels are written.
    pub quantity: Quantity,
    /// By which of the headers' coefficients.
    #[serde(default, skip_serializing_if = "CoefficientSet::is_nominal")]
    pub coefficients: CoefficientSet,
    /// The channels that are written, in order.
    pub channels: Vec<Channel>,
    /// How pixels are stored.
    #[serde(default, skip_serializing_if = "PixelLayout::is_default")]
    pub layout: PixelLayout,
    /// What all images have in common.
    pub view: View,
}

/// A file, as it was when the plan was made, and its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedImage {
    /// The file.
    #[serde(flatten)]
    pub file: PlannedFile,
    /// The nominal start of its repeat cycle.
    pub time: Moment,
}

/// What all images of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Their projection.
    pub projection: Projection,
    /// Rows and columns of the channels but the broad one.
    pub grid: Grid,
    /// Those of the broad one, where an image has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hrv_grid: Option<Grid>,
}

/// What a plan as JSON says that it is.
const FORMAT: &str = "swath nat plan 1";

impl View {
    /// What the first one of some files sees, and the first one that has the broad channel.
    pub(super) fn of<'a>(mut headers: impl Iterator<Item = &'a Header> + Clone) -> Option<View> {
        let has_broad = |header: &&Header| header.channels().contains(&Channel::Hrv);
        let hrv_grid = headers.clone().find(has_broad).map(|header| *header.grid(Channel::Hrv));
        let first = headers.next()?;
        Some(View { projection: first.projection, grid: *first.grid(Channel::Vis006), hrv_grid })
    }

    /// The rows and columns of a channel.
    pub(super) fn grid(&self, channel: Channel) -> Option<&Grid> {
        if channel == Channel::Hrv { self.hrv_grid.as_ref() } else { Some(&self.grid) }
    }

    /// Elements of a variable along its dimensions, of so many images.
    pub(super) fn shape(&self, variable: &Variable, times: usize) -> Vec<u64> {
        let channel = variable.channels.first();
        let grid = channel.and_then(|channel| self.grid(*channel));
        let (rows, columns) = grid.map_or((0, 0), |grid| (grid.rows, grid.columns));
        let channels = (!variable.is_hrv()).then(|| storage_len(variable.channels.len()));
        let ends = [u64::from(rows), u64::from(columns)];
        [storage_len(times)].into_iter().chain(channels).chain(ends).collect()
    }

    /// What a file has another one of, where it does not belong to these.
    pub(super) fn difference(&self, header: &Header) -> Option<&'static str> {
        if header.projection != self.projection {
            return Some("another projection");
        }
        if *header.grid(Channel::Vis006) != self.grid {
            return Some("another part of the disc");
        }
        let has_broad = header.channels().contains(&Channel::Hrv);
        let is_other = |grid: &Grid| has_broad && header.grid(Channel::Hrv) != grid;
        self.hrv_grid.as_ref().is_some_and(is_other).then_some("another part of the disc in HRV")
    }
}

impl ConversionPlan {
    /// The plan of a conversion. `files` are those whose headers were given to it, in that order.
    ///
    /// # Errors
    ///
    /// `Invalid` where there are fewer files than headers, and for a conversion of files that join others.
    pub fn of(conversion: &Conversion, files: &[PlannedFile]) -> Result<ConversionPlan, Error> {
        if conversion.first_new_file != 0 {
            return Err(Error::new(
                ErrorKind::Invalid,
                "a plan of images behind others: wanted theirs, extended",
            ));
        }
        let mut channels: Vec<Channel> =
            conversion.variables.iter().flat_map(|variable| variable.channels.iter().copied()).collect();
        channels.sort();
        Ok(ConversionPlan {
            files: images(conversion, files)?,
            first_new_file: 0,
            quantity: conversion.quantity,
            coefficients: conversion.coefficients,
            channels,
            layout: conversion.layout.clone(),
            view: conversion.view,
        })
    }

    /// This plan, which is carried out, with new files behind its own, and the conversion of those. `headers` are theirs, in the
    /// order of `files`. Channels that the store does not have are left out; it keeps gaps for those that the files do not have.
    ///
    /// # Errors
    ///
    /// `Invalid` for a file that is in the plan already; `Unsupported` for files that are not behind the last image, and as
    /// [`Conversion::new`].
    pub fn extended(
        &self,
        headers: Vec<Header>,
        files: &[PlannedFile],
    ) -> Result<(ConversionPlan, Conversion), Error> {
        let is_known = |file: &&PlannedFile| self.files.iter().any(|own| own.file.name == file.name);
        if let Some(file) = files.iter().find(is_known) {
            return Err(Error::new(ErrorKind::Invalid, format!("{} is in the store already", file.name)));
        }
        let mut plan = ConversionPlan { first_new_file: self.files.len(), ..self.clone() };
        let conversion = plan.conversion(headers)?;
        let new = images(&conversion, files)?;
        if let (Some(last), Some(first)) = (self.files.last(), new.first())
            && first.time <= last.time
        {
            let (first, name, last) = (told(first.time), &first.file.name, told(last.time));
            let what =
                format!("{name} is of {first}: wanted images behind the last one of the store, of {last}");
            return Err(Error::unsupported(what));
        }
        plan.files.extend(new);
        Ok((plan, conversion))
    }

    /// The conversion of files that have these headers, behind those of the store.
    fn conversion(&self, headers: Vec<Header>) -> Result<Conversion, Error> {
        let options = ConversionOptions {
            quantity: self.quantity,
            coefficients: self.coefficients,
            channels: self.channels.clone(),
            layout: self.layout.clone(),
        };
        Conversion::assembled(by_time(headers)?, self.view, options, self.first_new_file)
    }

    /// What is written: one variable of all channels that share a grid and a unit.
    #[must_use]
    pub fn variables(&self) -> Vec<Variable> {
        variables(self.quantity, &self.channels)
    }

    /// Elements of a variable along its dimensions, with all images.
    #[must_use]
    pub fn shape(&self, variable: &Variable) -> Vec<u64> {
        self.view.shape(variable, self.files.len())
    }

    /// What a variable's array is cut into.
    pub(super) fn cut(&self, variable: &Variable) -> Result<Cut, Error> {
        self.layout.cut(&variable.dimensions(), &self.view.shape(variable, 1))
    }

    /// How many images a piece writes.
    #[must_use]
    pub fn images(&self, piece: Piece) -> usize {
        let count = self.files.len().saturating_sub(self.first_new_file);
        (0..count).filter(|place| piece.takes(*place, count)).count()
    }

    /// Whether a journal says that all is written.
    #[must_use]
    pub fn is_finished(&self, finished: &Finished) -> bool {
        (self.first_new_file..self.files.len()).all(|image| finished.slabs.contains_key(&image))
    }

    /// The plan as JSON.
    ///
    /// # Errors
    ///
    /// `Internal` where it cannot be written so.
    pub fn to_json(&self) -> Result<Value, Error> {
        document::to_json(self, FORMAT)
    }

    /// Whether JSON says that it is such a plan.
    #[must_use]
    pub fn is_one(value: &Value) -> bool {
        document::is_of(value, FORMAT)
    }

    /// A plan from JSON, looked over.
    ///
    /// # Errors
    ///
    /// `Invalid` where it is no plan.
    pub fn from_json(value: Value) -> Result<ConversionPlan, Error> {
        let invalid = |what: String| Error::new(ErrorKind::Invalid, what);
        let plan: ConversionPlan = document::from_json(value, FORMAT)?;
        let is_after = |pair: &[PlannedImage]| matches!(pair, [one, next] if one.time < next.time);
        if !plan.files.windows(2).all(is_after) {
            return Err(invalid("no plan: its images are not one behind the other".to_owned()));
        }
        if plan.files.len() <= plan.first_new_file {
            let (first, count) = (plan.first_new_file, plan.files.len());
            return Err(invalid(format!("no plan: new from image {first} on, of {count}")));
        }
        let is_before = |pair: &[Channel]| matches!(pair, [one, next] if one < next);
        if plan.channels.is_empty() || !plan.channels.windows(2).all(is_before) {
            return Err(invalid(format!("no plan: channels {:?}", plan.channels)));
        }
        plan.layout.check_codecs(plan.quantity)?;
        plan.variables().iter().try_for_each(|variable| plan.cut(variable).map(|_| ()))?;
        Ok(plan)
    }
}

impl Conversion {
    /// The conversion that a plan says: of its new files, whose headers these are, in its order.
    ///
    /// # Errors
    ///
    /// `Invalid` where the files are not those of the plan; as [`Conversion::new`].
    pub fn of_plan(plan: &ConversionPlan, headers: Vec<Header>) -> Result<Conversion, Error> {
        let planned = plan.files.get(plan.first_new_file..).unwrap_or_default();
        let is_its = |(image, header): (&PlannedImage, &Header)| header.nominal_start() == Some(image.time);
        if headers.len() != planned.len() || !planned.iter().zip(&headers).all(is_its) {
            return Err(Error::new(ErrorKind::Invalid, "other images than those of the plan"));
        }
        plan.conversion(headers)
    }
}

/// The files of a conversion by time, of those whose headers were given to it.
fn images(conversion: &Conversion, files: &[PlannedFile]) -> Result<Vec<PlannedImage>, Error> {
    let image = |(number, header): &(usize, Header)| {
        let image = files.get(*number).cloned().zip(header.nominal_start());
        image.map(|(file, time)| PlannedImage { file, time })
    };
    let images: Option<Vec<PlannedImage>> = conversion.files.iter().map(image).collect();
    images.ok_or_else(|| Error::new(ErrorKind::Invalid, "fewer files than headers"))
}

impl Journaled for ConversionPlan {
    type Failure = LineFailure;

    fn to_document(&self) -> Result<Value, Error> {
        self.to_json()
    }

    fn from_document(document: Value) -> Result<ConversionPlan, Error> {
        ConversionPlan::from_json(document)
    }

    fn files(&self) -> usize {
        self.files.len()
    }
}
