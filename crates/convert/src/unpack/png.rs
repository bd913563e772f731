//! PNG images: the few kinds that GRIB has, grey or colours of whole octets, without interlacing.

use super::sample::Sample;
use super::scale::Scale;
use super::{vectors, widths};
use crate::Error;

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Octets of a chunk's length and name, and of its checksum.
const CHUNK_HEAD: usize = 8;
const CHUNK_TAIL: usize = 4;

pub(super) fn unpack<T: Sample>(data: &[u8], scale: &Scale, target: &mut [T]) -> Result<(), Error> {
    let image = Image::of(data)?;
    if image.width.saturating_mul(image.height) != target.len() {
        let (Image { width, height, .. }, points) = (image, target.len());
        return Err(Error::corrupt(format!("a PNG image of {width} x {height} for {points} values")));
    }
    let mut rows = image.inflated()?;
    image.unfilter(&mut rows)?;
    let mut packed = vec![0; image.width];
    let row_bytes = image.row_bytes();
    for (row, values) in rows.chunks_exact(row_bytes + 1).zip(target.chunks_mut(image.width)) {
        widths::unpack(&row[1..], image.pixel_bits, &mut packed);
        vectors::run(
            #[inline(always)]
            || scale.fill(&packed, values),
        );
    }
    Ok(())
}

/// An image's header and its compressed rows.
struct Image {
    width: usize,
    height: usize,
    /// All bits of a pixel, of all its colours.
    pixel_bits: u32,
    compressed: Vec<u8>,
}

impl Image {
    fn of(data: &[u8]) -> Result<Image, Error> {
        let mut rest = data.strip_prefix(SIGNATURE).ok_or_else(|| Error::corrupt("no PNG image"))?;
        let mut image = None;
        let mut compressed = Vec::new();
        while let Some(chunk) = Chunk::of(rest)? {
            match &chunk.name {
                b"IHDR" => image = Some(header(chunk.content)?),
                b"IDAT" => compressed.extend_from_slice(chunk.content),
                b"IEND" => break,
                _ => {}
            }
            rest = chunk.rest;
        }
        let (width, height, pixel_bits) =
            image.ok_or_else(|| Error::corrupt("a PNG image without a header"))?;
        Ok(Image { width, height, pixel_bits, compressed })
    }

    fn row_bytes(&self) -> usize {
        (self.width * self.pixel_bits as usize).div_ceil(8)
    }

    /// The rows, each behind the octet that names its filter.
    fn inflated(&self) -> Result<Vec<u8>, Error> {
        let mut rows = vec![0; (self.row_bytes() + 1) * self.height];
        let found = libdeflater::Decompressor::new()
            .zlib_decompress(&self.compressed, &mut rows)
            .map_err(|error| Error::corrupt(format!("the rows of a PNG image: {error}")))?;
        if found != rows.len() {
            let wanted = rows.len();
            return Err(Error::corrupt(format!(
                "the rows of a PNG image are {found} octets, and not {wanted}"
            )));
        }
        Ok(rows)
    }

    /// Undoes the filter of each row, which predicts an octet from the pixel to its left, the one above, or both.
    fn unfilter(&self, rows: &mut [u8]) -> Result<(), Error> {
        let pixel = (self.pixel_bits as usize).div_ceil(8);
        let row_bytes = self.row_bytes();
        let mut above = vec![0; row_bytes];
        for row in rows.chunks_exact_mut(row_bytes + 1) {
            let Some((filter, row)) = row.split_first_mut() else { continue };
            for place in 0..row_bytes {
                let (left, corner) = match place.checked_sub(pixel) {
                    Some(before) => (row[before], above[before]),
                    None => (0, 0),
                };
                let predicted = match *filter {
                    0 => break,
                    1 => left,
                    2 => above[place],
                    3 => mean(left, above[place]),
                    4 => paeth(left, above[place], corner),
                    other => {
                        return Err(Error::corrupt(format!("a PNG image with a filter of number {other}")));
                    }
                };
                row[place] = row[place].wrapping_add(predicted);
            }
            above.copy_from_slice(row);
        }
        Ok(())
    }
}

fn mean(left: u8, above: u8) -> u8 {
    left.midpoint(above)
}

/// Whichever is nearest to left + above - corner; the first of those equally near.
fn paeth(left: u8, above: u8, corner: u8) -> u8 {
    let [a, b, c] = [left, above, corner].map(i16::from);
    let estimate = a + b - c;
    let [to_left, to_above, to_corner] = [a, b, c].map(|value| (estimate - value).abs());
    if to_left <= to_above && to_left <= to_corner {
        left
    } else if to_above <= to_corner {
        above
    } else {
        corner
    }
}

/// Width, height and bits of a pixel.
fn header(content: &[u8]) -> Result<(usize, usize, u32), Error> {
    let octets = crate::grib::Octets::new(content, "PNG header");
    let (width, height) = (octets.u32(1)?, octets.u32(5)?);
    let (depth, colour, interlacing) = (u32::from(octets.u8(9)?), octets.u8(10)?, octets.u8(13)?);
    let channels = match colour {
        0 => 1,
        2 => 3,
        4 => 2,
        6 => 4,
        other => return Err(Error::unsupported(format!("a PNG image of colour type {other}"))),
    };
    let pixel_bits = channels * depth;
    if interlacing != 0 || !matches!(depth, 1 | 2 | 4 | 8 | 16) || 32 < pixel_bits || width == 0 {
        let text = format!(
            "a PNG image of {width} columns, {depth} bits, colour type {colour}, interlacing {interlacing}"
        );
        return Err(Error::unsupported(text));
    }
    let len = |count: u32| swath_ioengine::memory_len(u64::from(count));
    Ok((len(width)?, len(height)?, pixel_bits))
}

/// A chunk, and what is behind it.
struct Chunk<'a> {
    name: [u8; 4],
    content: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Chunk<'a> {
    fn of(bytes: &'a [u8]) -> Result<Option<Chunk<'a>>, Error> {
        let Some(head) = bytes.first_chunk::<CHUNK_HEAD>() else { return Ok(None) };
        let [a, b, c, d, name @ ..] = *head;
        let len = swath_ioengine::memory_len(u64::from(u32::from_be_bytes([a, b, c, d])))?;
        let short = || Error::corrupt("a PNG image that ends within a chunk");
        let (content, rest) = bytes[CHUNK_HEAD..].split_at_checked(len).ok_or_else(short)?;
        let (stored, rest) = rest.split_first_chunk::<CHUNK_TAIL>().ok_or_else(short)?;
        // The name is part of what is summed.
        let sum = libdeflater::crc32(&bytes[4..CHUNK_HEAD + len]);
        if sum != u32::from_be_bytes(*stored) {
            return Err(Error::corrupt("a PNG image with a chunk of another checksum"));
        }
        Ok(Some(Chunk { name, content, rest }))
    }
}
