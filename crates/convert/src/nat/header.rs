//! The header of a file: what is in it, where, and how it is calibrated.

use super::calibration::{Calibration, CoefficientSet, Coefficients, Quantity};
use super::channel::Channel;
use super::geometry::{Grid, Projection};
use super::layout::{HRV_LINES, Layout};
use super::line::{LINE_HEAD_BYTES, pixel_octets};
use super::moment::Moment;
use super::product::{PRODUCT_BYTES, Selected};
use super::record::{ReadSpans, Record};
use super::satellites::Satellite;
use super::trailer::{Scan, TRAILER_BYTES};
use super::window::Window;
use crate::{Error, ErrorKind, Span};
use std::sync::{Mutex, PoisonError};
use swath_ioengine::{ByteRange, Engine, ObjectRef, RangeRead, RunOptions, storage_len};

/// Octets of a packet's two headers.
const PACKET_BYTES: u64 = 38;

/// Octets of the data header.
const DATA_HEADER_BYTES: u64 = 445_248;

/// Parts of the data header that are read: their offsets within it, and how long they are. The satellite, the planned times,
/// the image description with the radiometric processing as far as its calibration, and the earth model.
const PARTS: [(u64, u64); 4] = [(0, 8), (60_135, 30), (386_893, 1716), (408_145, 25)];

/// Octets from the image description to the slopes.
const SLOPES: usize = 173;

/// What a SEVIRI Level 1.5 file in EUMETSAT's native format holds.
///
/// ```
/// use swath_convert::nat::Header;
///
/// let error = Header::of_bytes(b"GRIB").unwrap_err();
/// assert_eq!(error.message(), "wanted 5114 bytes at 0, and the file ends at 4");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The satellite's number: 321 to 324 for Meteosat-8 to -11.
    pub satellite: u16,
    /// When the image was planned to begin.
    pub planned_start: Option<Moment>,
    /// When it was planned to end.
    pub planned_end: Option<Moment>,
    /// The projection of its pixels.
    pub projection: Projection,
    /// How it was scanned; `None` where the file ends before its trailer.
    pub scan: Option<Scan>,
    /// Why the trailer could not be read.
    pub trailer_error: Option<String>,
    /// By the places of channels.
    coefficients: Vec<Coefficients>,
    grid: Grid,
    hrv_grid: Grid,
    /// Where lines of the broad channel lie; empty where the file does not say it.
    windows: Vec<Window>,
    /// What the first line's number is.
    first_line: u32,
    pub(super) layout: Layout,
}

impl Header {
    /// Reads the header of a file: 8 KB of its 450 KB, in five reads that wait for one another.
    ///
    /// # Errors
    ///
    /// `Corrupt` for what is no such file, or ends before its first line; `Unsupported` for satellites and grids that swath does
    /// not know; those of the file. A trailer that is not there is no error.
    pub fn read(engine: &Engine, file: &ObjectRef) -> Result<Header, Error> {
        Header::from_spans(&mut |spans| read_spans(engine, file, spans))
            .map_err(|error| error.with_object(&file.key))
    }

    /// Takes the header of a file that is in memory apart.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn of_bytes(file: &[u8]) -> Result<Header, Error> {
        Header::from_spans(&mut |spans| Ok(spans.iter().map(|span| part(file, *span)).collect()))
    }

    fn from_spans(read: &mut ReadSpans<'_>) -> Result<Header, Error> {
        let mut one = |span: Span| only(read(&[span])?);
        let start = one(Span { offset: 0, len: storage_len(PRODUCT_BYTES) })?;
        let (selected, product_bytes) = Selected::read(&start)?;
        let data_header = storage_len(product_bytes) + PACKET_BYTES;
        let spans = PARTS.map(|(offset, len)| Span { offset: data_header + offset, len });
        let parts = read(&spans)?.into_iter().collect::<Result<Vec<_>, _>>()?;
        let record = |number: usize| {
            let bytes = parts.get(number).map_or(&[][..], Vec::as_slice);
            Record::new(bytes, spans.get(number).map_or(0, |span| span.offset), "data header")
        };
        let mut header = Header::of_parts([0, 1, 2, 3].map(record), selected.clone(), data_header)?;
        header.look_at_lines(read, &selected)?;
        header.look_at_trailer(read, &record(2), &selected)?;
        Ok(header)
    }

    fn of_parts(records: [Record<'_>; 4], selected: Selected, data_header: u64) -> Result<Header, Error> {
        let [status, times, description, earth] = records;
        let satellite = status.u16(1)?;
        if Satellite::of(satellite).is_none() {
            let what = format!("wanted a satellite from 321 to 324 (Meteosat-8 to -11), found {satellite}");
            return Err(status.unsupported(1, &what));
        }
        let projection = Projection::read(&description, &earth)?;
        let cut = |grid: Grid, times: u32, columns: u32| {
            let (south, east) = ((selected.south - 1) * times + 1, (selected.east - 1) * times + 1);
            Grid { rows: selected.lines * times, columns, south, east, ..grid }
        };
        let grid = Grid::read(&description, &projection, Channel::Vis006)?;
        let hrv_grid = Grid::read(&description, &projection, Channel::Hrv)?;
        let (slopes, production) = (description.from(SLOPES), description.from(89));
        let coefficients = Channel::ALL.map(|channel| Coefficients::read(channel, &slopes, &production));
        Ok(Header {
            satellite,
            planned_start: Moment::read(&times, 0)?,
            planned_end: Moment::read(&times, 20)?,
            projection,
            scan: None,
            trailer_error: None,
            coefficients: coefficients.into_iter().collect::<Result<_, _>>()?,
            grid: cut(grid, 1, selected.columns),
            hrv_grid: cut(hrv_grid, HRV_LINES, hrv_grid.columns),
            windows: Vec::new(),
            first_line: selected.south,
            layout: Layout {
                start: data_header + DATA_HEADER_BYTES,
                lines: selected.lines,
                channels: selected.channels.into_iter().filter(|channel| *channel != Channel::Hrv).collect(),
                octets: selected.columns / 4 * 5,
                hrv_octets: None,
            },
        })
    }

    /// Finds how wide lines are: the headers say of the broad channel's another width than they have.
    fn look_at_lines(&mut self, read: &mut ReadSpans<'_>, selected: &Selected) -> Result<(), Error> {
        let mut head = |offset: u64| {
            let span = Span { offset, len: u64::from(LINE_HEAD_BYTES) };
            Ok::<_, Error>((only(read(&[span])?)?, offset))
        };
        if let Some(channel) = self.layout.channels.first() {
            let (bytes, offset) = head(self.layout.start)?;
            let record = Record::new(&bytes, offset, "first line");
            let (found, wanted) = (pixel_octets(&record)?, self.layout.octets);
            if found != wanted {
                let what = format!("wanted {wanted} octets of {}'s pixels, found {found}", channel.name());
                return Err(record.corrupt(18, &what));
            }
            self.first_line = record.u32(51)?;
        }
        if selected.channels.contains(&Channel::Hrv) {
            let (bytes, offset) = head(self.layout.start + self.layout.hrv_start())?;
            let record = Record::new(&bytes, offset, "first line of HRV");
            let octets = pixel_octets(&record)?;
            if !octets.is_multiple_of(5) {
                return Err(record.corrupt(18, &format!("{octets} octets are no lines of whole groups")));
            }
            self.layout.hrv_octets = Some(octets);
            if !selected.is_whole_width() {
                self.hrv_grid.columns = octets / 5 * 4;
            }
        }
        Ok(())
    }

    /// Reads the trailer, and finds where the broad channel's lines lie: as they were scanned, or else as they were planned.
    fn look_at_trailer(
        &mut self,
        read: &mut ReadSpans<'_>,
        description: &Record<'_>,
        selected: &Selected,
    ) -> Result<(), Error> {
        let span = self.trailer_span();
        let bytes = only(read(&[span])?);
        let scan = bytes.and_then(|bytes| Scan::read(&Record::new(&bytes, span.offset, "trailer")));
        match scan {
            Ok(scan) => self.scan = Some(scan),
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                self.trailer_error = Some(error.message().to_owned())
            }
            Err(error) => return Err(error),
        }
        let Some(octets) = self.layout.hrv_octets else { return Ok(()) };
        let width = octets / 5 * 4;
        if !selected.is_whole_width() {
            let Grid { rows, south, east, columns, .. } = self.hrv_grid;
            let window = Window { south, north: south + rows - 1, east, west: east + columns - 1 };
            self.windows = vec![window];
            return Ok(());
        }
        let is_as_wide = |windows: &Vec<Window>| {
            !windows.is_empty() && windows.iter().all(|window| window.width() == width)
        };
        let scanned = self.scan.as_ref().map(|scan| scan.windows.clone()).filter(is_as_wide);
        let planned = Window::read_pair(description, 55)?;
        self.windows = scanned.or_else(|| Some(planned).filter(is_as_wide)).unwrap_or_default();
        Ok(())
    }

    /// What is read of the trailer, where it is, or would be in a file that ends before it.
    #[must_use]
    pub fn trailer_span(&self) -> Span {
        Span { offset: self.layout.end(), len: TRAILER_BYTES }
    }

    /// The channels that the file has, in order.
    #[must_use]
    pub fn channels(&self) -> Vec<Channel> {
        let broad = self.layout.hrv_octets.map(|_| Channel::Hrv);
        self.layout.channels.iter().copied().chain(broad).collect()
    }

    /// The rows and columns of a channel's image. The broad channel's has the columns of the whole disc where lines of the
    /// others do, although it sees half of them.
    #[must_use]
    pub fn grid(&self, channel: Channel) -> &Grid {
        if channel == Channel::Hrv { &self.hrv_grid } else { &self.grid }
    }

    /// What the broad channel sees.
    #[must_use]
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// What makes radiances of a channel's counts.
    #[must_use]
    pub fn coefficients(&self, channel: Channel) -> Option<&Coefficients> {
        self.coefficients.get(channel.index())
    }

    /// The name of the satellite, such as `Meteosat-11`.
    #[must_use]
    pub fn satellite_name(&self) -> &'static str {
        Satellite::of(self.satellite).map_or("", Satellite::name)
    }

    /// The repeat cycle that the image is one of, by when it was planned to begin: a quarter of an hour, or five minutes of a
    /// rapid scan. Of a file that does not say it, when its scan began.
    #[must_use]
    pub fn nominal_start(&self) -> Option<Moment> {
        let scanned = self.scan.as_ref().and_then(|scan| scan.start);
        Some(self.planned_start.or(scanned)?.nearest(self.cycle_minutes()))
    }

    /// When that repeat cycle ends.
    #[must_use]
    pub fn nominal_end(&self) -> Option<Moment> {
        let scanned = self.scan.as_ref().and_then(|scan| scan.end);
        Some(self.planned_end.or(scanned)?.nearest(self.cycle_minutes()))
    }

    fn cycle_minutes(&self) -> i64 {
        if self.scan.as_ref().is_some_and(|scan| scan.is_rapid) { 5 } else { 15 }
    }

    /// What each count of a channel is by one of the header's sets of coefficients: 1024 values, NaN for 0, which stands for no
    /// data. The sun's distance is that of the scan's beginning, or else of the planned one.
    ///
    /// # Errors
    ///
    /// `Unsupported` where the file does not say of which kind a channel's radiances are, or when it was made; `Invalid` for
    /// [`Quantity::Counts`].
    pub fn calibrated(
        &self,
        channel: Channel,
        quantity: Quantity,
        set: CoefficientSet,
    ) -> Result<Vec<f32>, Error> {
        let moment = self.scan.as_ref().and_then(|scan| scan.start).or(self.planned_start);
        let moment = moment.ok_or_else(|| Error::unsupported("a file that does not say when it was made"))?;
        let satellite = Satellite::of(self.satellite);
        let lacks = || Error::new(ErrorKind::Internal, "a header of no satellite");
        let coefficients = *self.coefficients(channel).ok_or_else(lacks)?;
        let calibration =
            Calibration { satellite: satellite.ok_or_else(lacks)?, channel, coefficients, set, moment };
        Ok(calibration.table(quantity)?.to_vec())
    }

    /// The number that a line should have: lines count from 0 in the south of the channel's grid here.
    pub(super) fn line_number(&self, channel: Channel, line: u32) -> Option<u32> {
        // Of the broad channel's numbers, selected rectangles are not known to have the grid's.
        (channel != Channel::Hrv).then(|| self.first_line.saturating_add(line))
    }
}

fn only(mut found: Vec<Result<Vec<u8>, Error>>) -> Result<Vec<u8>, Error> {
    found.pop().unwrap_or_else(|| Err(Error::new(ErrorKind::Internal, "a read was never delivered")))
}

/// The bytes of a span of a file in memory.
fn part(file: &[u8], span: Span) -> Result<Vec<u8>, Error> {
    let start = usize::try_from(span.offset).unwrap_or(usize::MAX);
    let len = usize::try_from(span.len).unwrap_or(usize::MAX);
    let found = file.get(start..).and_then(|rest| rest.get(..len)).map(<[u8]>::to_vec);
    found.ok_or_else(|| {
        let Span { offset, len } = span;
        Error::corrupt(format!("wanted {len} bytes at {offset}, and the file ends at {}", file.len()))
    })
}

/// Reads spans of a file, as one batch.
fn read_spans(
    engine: &Engine,
    file: &ObjectRef,
    spans: &[Span],
) -> Result<Vec<Result<Vec<u8>, Error>>, Error> {
    let range = |span: &Span| ByteRange::Bounded { offset: span.offset, len: span.len };
    let reads: Vec<RangeRead> =
        spans.iter().map(|span| RangeRead { object: 0, range: range(span) }).collect();
    let lost = || Err(Error::new(ErrorKind::Internal, "a read was never delivered"));
    let found: Mutex<Vec<Result<Vec<u8>, Error>>> = Mutex::new(spans.iter().map(|_| lost()).collect());
    let keep = |number: usize, result: Result<&[u8], swath_ioengine::Error>| {
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = found.get_mut(number) {
            *slot = result.map(<[u8]>::to_vec).map_err(Error::from);
        }
    };
    engine.read_ranges(std::slice::from_ref(file), &reads, keep, &RunOptions::default())?;
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}
