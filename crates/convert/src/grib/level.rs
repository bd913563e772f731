//! At which height, pressure or depth a field is.

use super::octets::Octets;
use crate::Error;

/// One surface, or the layer between two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The surface, or the layer's first.
    pub first: Surface,
    /// The layer's second.
    pub second: Option<Surface>,
}

/// A surface by its type and value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surface {
    /// Code table 4.5 of edition 2, code table 3 of edition 1.
    pub kind: u8,
    /// Its value in the unit that the table gives to its type: Pa for pressures in edition 2, hPa in edition 1.
    pub value: Option<f64>,
}

/// A type of surface that is none.
const MISSING: u8 = 255;

impl Level {
    /// Two surfaces of edition 2, each six octets, from `first` on.
    pub(crate) fn of_edition2(octets: Octets<'_>, first: usize) -> Result<Level, Error> {
        let second = Surface::of_edition2(octets, first + 6)?;
        let second = Some(second).filter(|surface| surface.kind != MISSING);
        Ok(Level { first: Surface::of_edition2(octets, first)?, second })
    }

    /// A type and two octets of edition 1: one value of 16 bits, or two of 8, as the type wants it.
    pub(crate) fn of_edition1(octets: Octets<'_>, first: usize) -> Result<Level, Error> {
        let kind = octets.u8(first)?;
        let surface = |value: f64| Surface { kind, value: Some(value) };
        let [top, bottom] = octets.array(first + 1)?;
        Ok(match kind {
            // Layers.
            101 | 104 | 106 | 108 | 110 | 112 | 114 | 116 | 120 | 121 | 128 | 141 => {
                Level { first: surface(f64::from(top)), second: Some(surface(f64::from(bottom))) }
            }
            // Levels of their own, without a value.
            0..=19 | 102 | 200..=210 => Level { first: Surface { kind, value: None }, second: None },
            _ => Level { first: surface(f64::from(octets.u16(first + 1)?)), second: None },
        })
    }
}

impl Surface {
    fn of_edition2(octets: Octets<'_>, first: usize) -> Result<Surface, Error> {
        let kind = octets.u8(first)?;
        Ok(Surface { kind, value: octets.scaled(first + 1)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_scaled_and_may_be_missing() -> Result<(), Error> {
        let bytes = [103, 1, 0, 0, 0, 15, 255, 255, 255, 255, 255, 255];
        let level = Level::of_edition2(Octets::new(&bytes, "test"), 1)?;
        assert_eq!(level, Level { first: Surface { kind: 103, value: Some(1.5) }, second: None });
        let bytes = [100, 0x82, 0, 0, 0, 5, 1, 0, 0xff, 0xff, 0xff, 0xff];
        let level = Level::of_edition2(Octets::new(&bytes, "test"), 1)?;
        assert_eq!(level.first.value, Some(500.0));
        assert_eq!(level.second, Some(Surface { kind: 1, value: None }));
        Ok(())
    }

    #[test]
    fn edition_1_has_layers_of_two_octets() -> Result<(), Error> {
        let level = |bytes: [u8; 3]| Level::of_edition1(Octets::new(&bytes, "test"), 1);
        let layer = level([112, 7, 28])?;
        assert_eq!(
            (layer.first.value, layer.second.and_then(|surface| surface.value)),
            (Some(7.0), Some(28.0))
        );
        assert_eq!(level([100, 1, 244])?.first.value, Some(500.0));
        assert_eq!(level([1, 0, 0])?.first.value, None);
        Ok(())
    }
}
