//! Data representation sections: how values are packed.

use crate::Error;
use crate::grib::octets::Octets;
use crate::grib::packing::{Complex, Entropy, Levels, MissingValues, Packing, PackingKind};
use std::sync::Arc;

pub(super) fn read(octets: Octets<'_>) -> Result<Packing, Error> {
    let values = Some(u64::from(octets.u32(6)?));
    let template = octets.u16(10)?;
    let kind = match template {
        0 => PackingKind::Simple,
        2 => PackingKind::Complex(complex(octets, 0)?),
        3 => PackingKind::Complex(complex(octets, octets.u8(48)?)?),
        4 => PackingKind::Ieee(ieee_octets(octets.u8(12)?)?),
        40 | 40_000 => PackingKind::Jpeg2000,
        41 | 40_010 => PackingKind::Png,
        42 => PackingKind::Ccsds(entropy(octets)?),
        50 | 51 | 53 => PackingKind::Spectral,
        200 => return run_length(octets, values),
        1 => PackingKind::Matrix,
        other => PackingKind::Other(other),
    };
    let is_scaled = !matches!(kind, PackingKind::Ieee(_) | PackingKind::Other(_));
    if !is_scaled {
        let bits = if let PackingKind::Ieee(octets) = kind { octets * 8 } else { 0 };
        return Ok(Packing { kind, reference: 0.0, binary_scale: 0, decimal_scale: 0, bits, values });
    }
    Ok(Packing {
        kind,
        reference: octets.ieee(12)?,
        binary_scale: octets.i16(16)?,
        decimal_scale: octets.i16(18)?,
        bits: octets.u8(20)?,
        values,
    })
}

fn ieee_octets(precision: u8) -> Result<u8, Error> {
    match precision {
        1 => Ok(4),
        2 => Ok(8),
        other => Err(Error::unsupported(format!("IEEE numbers of precision {other}: 1 and 2 are known"))),
    }
}

fn complex(octets: Octets<'_>, order: u8) -> Result<Complex, Error> {
    let missing = match octets.u8(23)? {
        0 => MissingValues::None,
        1 => MissingValues::Primary,
        2 => MissingValues::PrimaryAndSecondary,
        other => return Err(Error::corrupt(format!("missing value management {other}: it is 0, 1 or 2"))),
    };
    Ok(Complex {
        missing,
        groups: octets.u32(32)?,
        width_reference: octets.u8(36)?,
        width_bits: octets.u8(37)?,
        length_reference: octets.u32(38)?,
        length_increment: octets.u8(42)?,
        last_length: octets.u32(43)?,
        length_bits: octets.u8(47)?,
        order,
        extra_octets: if order == 0 { 0 } else { octets.u8(49)? },
    })
}

fn entropy(octets: Octets<'_>) -> Result<Entropy, Error> {
    Ok(Entropy { flags: octets.u8(22)?, block: octets.u8(23)?, interval: octets.u16(24)? })
}

fn run_length(octets: Octets<'_>, values: Option<u64>) -> Result<Packing, Error> {
    let count = usize::from(octets.u16(15)?);
    let levels =
        octets.from(18).chunks_exact(2).take(count).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    let levels: Arc<[u16]> = levels.collect();
    if levels.len() < count {
        return Err(Error::corrupt(format!(
            "{count} levels of runs are promised, and {} are there",
            levels.len()
        )));
    }
    let kind = PackingKind::RunLength(Levels { largest: octets.u16(13)?, values: levels });
    let decimal_scale = octets.i8(17)?;
    Ok(Packing { kind, reference: 0.0, binary_scale: 0, decimal_scale, bits: octets.u8(12)?, values })
}
