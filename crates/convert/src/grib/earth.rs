//! The shape of the Earth that a grid's distances are measured on.

use super::octets::Octets;
use crate::Error;

/// A sphere or a spheroid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Earth {
    /// Metres from the centre to the equator.
    pub major: f64,
    /// Metres from the centre to a pole.
    pub minor: f64,
}

impl Earth {
    /// Of one radius in metres.
    #[must_use]
    pub const fn sphere(radius: f64) -> Earth {
        Earth { major: radius, minor: radius }
    }

    /// The sphere and the spheroid that edition 1 knows.
    pub(crate) fn of_edition1(is_oblate: u8) -> Earth {
        match is_oblate {
            0 => Earth::sphere(6_367_470.0),
            _ => Earth { major: 6_378_160.0, minor: 6_356_775.0 },
        }
    }

    /// Code table 3.2 of edition 2: the code in octet 15, a radius behind it, then both axes.
    pub(crate) fn of_edition2(octets: Octets<'_>) -> Result<Earth, Error> {
        let code = octets.u8(15)?;
        let given = |octet: usize, what: &str| {
            let value = octets.scaled(octet)?.filter(|metres| 0.0 < *metres);
            value.ok_or_else(|| Error::corrupt(format!("a shape of the Earth {code} without its {what}")))
        };
        Ok(match code {
            1 => Earth::sphere(given(16, "radius")?),
            2 => Earth { major: 6_378_160.0, minor: 6_356_775.0 },
            3 => Earth { major: given(21, "major axis")? * 1e3, minor: given(26, "minor axis")? * 1e3 },
            4 => Earth { major: 6_378_137.0, minor: 6_356_752.314 },
            5 => Earth { major: 6_378_137.0, minor: 6_356_752.314_2 },
            6 => Earth::sphere(6_371_229.0),
            7 => Earth { major: given(21, "major axis")?, minor: given(26, "minor axis")? },
            8 => Earth::sphere(6_371_200.0),
            9 => Earth { major: 6_377_563.396, minor: 6_356_256.909 },
            _ => Earth::sphere(6_367_470.0),
        })
    }

    /// The eccentricity of a meridian; 0 of a sphere.
    pub(crate) fn eccentricity(&self) -> f64 {
        let ratio = self.minor / self.major;
        (1.0 - ratio * ratio).max(0.0).sqrt()
    }

    /// The radius of a parallel as a part of the major axis: Snyder's m.
    pub(crate) fn parallel(&self, latitude: f64) -> f64 {
        let part = self.eccentricity() * latitude.sin();
        latitude.cos() / (1.0 - part * part).sqrt()
    }

    /// What stands for the distance from the pole in conformal projections: Snyder's t.
    pub(crate) fn conformal(&self, latitude: f64) -> f64 {
        let e = self.eccentricity();
        let part = e * latitude.sin();
        (std::f64::consts::FRAC_PI_4 - latitude / 2.0).tan() / ((1.0 - part) / (1.0 + part)).powf(e / 2.0)
    }

    /// The latitude, in radians, whose [`conformal`](Earth::conformal) this is.
    pub(crate) fn latitude(&self, t: f64) -> f64 {
        let e = self.eccentricity();
        let mut latitude = std::f64::consts::FRAC_PI_2 - 2.0 * t.atan();
        if e == 0.0 {
            return latitude;
        }
        // Each step wins more than two digits.
        for _ in 0..STEPS_MAX {
            let part = e * latitude.sin();
            let next =
                std::f64::consts::FRAC_PI_2 - 2.0 * (t * ((1.0 - part) / (1.0 + part)).powf(e / 2.0)).atan();
            let is_near = (next - latitude).abs() < 1e-13;
            latitude = next;
            if is_near {
                break;
            }
        }
        latitude
    }
}

/// Steps towards a latitude.
const STEPS_MAX: usize = 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latitudes_are_found_again() {
        for earth in [Earth::sphere(6_371_229.0), Earth { major: 6_378_137.0, minor: 6_356_752.314 }] {
            for degrees in [-89.0f64, -30.0, 0.0, 12.5, 60.0, 89.9] {
                let found = earth.latitude(earth.conformal(degrees.to_radians())).to_degrees();
                assert!((found - degrees).abs() < 1e-9, "{degrees} is {found}");
            }
        }
    }
}
