//! Gaussian latitudes: where a Legendre polynomial is zero.

use crate::Error;
use crate::grib::{Area, ScanningMode};
use std::f64::consts::PI;

/// Parallels between a pole and the equator, of which the roots are found one by one. The finest models have some thousands.
const PARALLELS_MAX: u32 = 1 << 13;

/// Newton's method doubles the right digits with each step: a few are enough from the first guess.
const STEPS_MAX: usize = 20;

/// The latitudes of so many rows, from the parallel that is nearest to the first point on.
pub(super) fn rows(
    parallels: u32,
    area: &Area,
    scanning: ScanningMode,
    rows: u32,
) -> Result<Vec<f64>, Error> {
    if parallels == 0 || PARALLELS_MAX < parallels {
        return Err(Error::unsupported(format!(
            "a Gaussian grid of {parallels} parallels: {PARALLELS_MAX} are the most"
        )));
    }
    let mut latitudes = from_north(parallels);
    if scanning.is_j_positive() {
        latitudes.reverse();
    }
    let distance = |latitude: &f64| (latitude - area.first.latitude).abs();
    let nearest =
        latitudes.iter().enumerate().min_by(|(_, one), (_, other)| distance(one).total_cmp(&distance(other)));
    let first = nearest.map_or(0, |(number, _)| number);
    let count = usize::try_from(rows).unwrap_or(usize::MAX);
    let end = first.saturating_add(count);
    latitudes.get(first..end).map(<[f64]>::to_vec).ok_or_else(|| {
        Error::corrupt(format!("{rows} rows from parallel {first} on, of {} parallels", latitudes.len()))
    })
}

/// All latitudes of a Gaussian grid, from north to south.
fn from_north(parallels: u32) -> Vec<f64> {
    let degree = 2 * parallels;
    let north: Vec<f64> = (0..parallels).map(|number| root(degree, number).asin().to_degrees()).collect();
    let south = north.iter().rev().map(|latitude| -latitude);
    north.iter().copied().chain(south).collect()
}

/// The root of a Legendre polynomial, by its number from the largest one on.
fn root(degree: u32, number: u32) -> f64 {
    let (n, place) = (f64::from(degree), f64::from(number));
    let mut x = (PI * (place + 0.75) / (n + 0.5)).cos();
    for _ in 0..STEPS_MAX {
        let (value, slope) = legendre(degree, x);
        let step = value / slope;
        x -= step;
        if step.abs() < 1e-15 {
            break;
        }
    }
    x
}

/// A Legendre polynomial and its slope.
fn legendre(degree: u32, x: f64) -> (f64, f64) {
    let (mut before, mut last) = (1.0, x);
    for k in 2..=degree {
        let k = f64::from(k);
        (before, last) = (last, ((2.0 * k - 1.0) * x * last - (k - 1.0) * before) / k);
    }
    (last, f64::from(degree) * (x * last - before) / (x * x - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_latitudes_are_those_of_tables() {
        // As ECMWF prints them of N32 and N80.
        assert!((from_north(32)[0] - 87.863_799).abs() < 1e-6);
        assert!((from_north(80)[0] - 89.141_519).abs() < 1e-6);
        let all = from_north(48);
        assert!(all.windows(2).all(|pair| pair[1] < pair[0]) && all.len() == 96);
        assert!((root(2, 0) - (1.0f64 / 3.0).sqrt()).abs() < 1e-15);
    }
}
