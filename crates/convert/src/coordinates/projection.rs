//! Where a point of a plane is on the Earth, and the other way round: formulas of Snyder, Map projections, a working manual (1987).

use crate::grib::Earth;
use crate::grib::{Place, Rotation};
use serde_json::{Value, json};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

/// A projection of the Earth to a plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Projection {
    Lambert(Cone),
    Polar(Polar),
    Mercator(Cylinder),
    SpaceView(View),
    Rotated(Rotation),
}

/// Lambert's conformal conic projection. Angles are in radians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cone {
    earth: Earth,
    /// The longitude of the middle.
    middle: f64,
    parallels: [f64; 2],
    /// The angle of the cone, as a part of a circle.
    n: f64,
    /// Metres from the tip for a conformal distance of 1.
    scale: f64,
    /// Metres from the tip to y = 0, at the first parallel.
    origin: f64,
}

/// The stereographic projection from a pole. Angles are in radians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Polar {
    earth: Earth,
    middle: f64,
    true_latitude: f64,
    /// 1 for the north, -1 for the south pole.
    sign: f64,
    /// Metres from the pole for a conformal distance of 1.
    scale: f64,
}

/// Mercator's projection. Angles are in radians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cylinder {
    earth: Earth,
    middle: f64,
    true_latitude: f64,
    /// Metres for a radian of longitude.
    scale: f64,
}

/// The view from a satellite above the equator. Coordinates are angles of its scan, in radians.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct View {
    pub(super) earth: Earth,
    /// The longitude below it, in degrees.
    pub(super) longitude: f64,
    /// Its distance from the Earth's centre, in metres.
    pub(super) distance: f64,
}

impl Cone {
    pub(super) fn new(earth: Earth, middle: f64, parallels: [f64; 2]) -> Cone {
        let [first, second] = parallels.map(f64::to_radians);
        let (m1, t1) = (earth.parallel(first), earth.conformal(first));
        let n = match (first - second).abs() < 1e-10 {
            true => first.sin(),
            false => (m1 / earth.parallel(second)).ln() / (t1 / earth.conformal(second)).ln(),
        };
        let scale = earth.major * m1 / (n * t1.powf(n));
        let origin = scale * t1.powf(n);
        Cone { earth, middle: middle.to_radians(), parallels: [first, second], n, scale, origin }
    }
}

impl Polar {
    /// With lengths that are true at a latitude, which is south where the south pole is on the plane.
    pub(super) fn new(earth: Earth, middle: f64, true_latitude: f64) -> Polar {
        let sign = if true_latitude < 0.0 { -1.0 } else { 1.0 };
        let size = (sign * true_latitude).to_radians();
        let scale = if (size - FRAC_PI_2).abs() < 1e-10 {
            let e = earth.eccentricity();
            2.0 * earth.major / ((1.0 + e).powf(1.0 + e) * (1.0 - e).powf(1.0 - e)).sqrt()
        } else {
            earth.major * earth.parallel(size) / earth.conformal(size)
        };
        Polar { earth, middle: middle.to_radians(), true_latitude: sign * size, sign, scale }
    }
}

impl Cylinder {
    pub(super) fn new(earth: Earth, middle: f64, true_latitude: f64) -> Cylinder {
        let true_latitude = true_latitude.to_radians();
        let scale = earth.major * earth.parallel(true_latitude);
        Cylinder { earth, middle: middle.to_radians(), true_latitude, scale }
    }
}

impl Projection {
    /// The coordinates of a place on the plane, x first.
    pub(super) fn plane(&self, place: Place) -> (f64, f64) {
        let (latitude, longitude) = (place.latitude.to_radians(), place.longitude.to_radians());
        match self {
            Projection::Lambert(cone) => {
                let rho = cone.scale * cone.earth.conformal(latitude).powf(cone.n);
                let angle = cone.n * half_turn(longitude - cone.middle);
                (rho * angle.sin(), cone.origin - rho * angle.cos())
            }
            Projection::Polar(polar) => {
                let rho = polar.scale * polar.earth.conformal(polar.sign * latitude);
                let angle = longitude - polar.middle;
                (rho * angle.sin(), -polar.sign * rho * angle.cos())
            }
            Projection::Mercator(cylinder) => {
                let y = -cylinder.scale * cylinder.earth.conformal(latitude).ln();
                (cylinder.scale * half_turn(longitude - cylinder.middle), y)
            }
            // Their coordinates do not come from a place.
            Projection::SpaceView(_) | Projection::Rotated(_) => (place.longitude, place.latitude),
        }
    }

    /// The place of a point of the plane. What a satellite sees beside the Earth is at 0, 0, as in ecCodes.
    pub(super) fn place(&self, x: f64, y: f64) -> Place {
        match self {
            Projection::Lambert(cone) => {
                let (sign, down) = (cone.n.signum(), cone.origin - y);
                let t = (sign * length(x, down) / cone.scale).powf(1.0 / cone.n);
                let angle = if x == 0.0 && down == 0.0 { 0.0 } else { (sign * x).atan2(sign * down) };
                place(cone.earth.latitude(t), angle / cone.n + cone.middle)
            }
            Projection::Polar(polar) => {
                let t = length(x, y) / polar.scale;
                let angle = if t == 0.0 { 0.0 } else { x.atan2(-polar.sign * y) };
                place(polar.sign * polar.earth.latitude(t), angle + polar.middle)
            }
            Projection::Mercator(cylinder) => {
                let latitude = cylinder.earth.latitude((-y / cylinder.scale).exp());
                place(latitude, x / cylinder.scale + cylinder.middle)
            }
            Projection::SpaceView(view) => view.place(x, y),
            Projection::Rotated(rotation) => turned_back(rotation, Place { latitude: y, longitude: x }),
        }
    }

    /// CF's grid mapping: the variable's name, and its attributes.
    pub(super) fn mapping(&self) -> Value {
        let axes = |earth: &Earth| json!({ "semi_major_axis": earth.major, "semi_minor_axis": earth.minor });
        let (mut mapping, own) = match self {
            Projection::Lambert(cone) => {
                let parallels = match cone.parallels.map(f64::to_degrees) {
                    [first, second] if first == second => json!(first),
                    both => json!(both),
                };
                let own = json!({
                    "grid_mapping_name": "lambert_conformal_conic",
                    "standard_parallel": parallels,
                    "longitude_of_central_meridian": cone.middle.to_degrees(),
                    "latitude_of_projection_origin": cone.parallels[0].to_degrees(),
                });
                (axes(&cone.earth), own)
            }
            Projection::Polar(polar) => {
                let own = json!({
                    "grid_mapping_name": "polar_stereographic",
                    "straight_vertical_longitude_from_pole": polar.middle.to_degrees(),
                    "latitude_of_projection_origin": 90.0 * polar.sign,
                    "standard_parallel": polar.true_latitude.to_degrees(),
                });
                (axes(&polar.earth), own)
            }
            Projection::Mercator(cylinder) => {
                let own = json!({
                    "grid_mapping_name": "mercator",
                    "longitude_of_projection_origin": cylinder.middle.to_degrees(),
                    "standard_parallel": cylinder.true_latitude.to_degrees(),
                });
                (axes(&cylinder.earth), own)
            }
            Projection::SpaceView(view) => {
                let own = json!({
                    "grid_mapping_name": "geostationary",
                    "longitude_of_projection_origin": view.longitude,
                    "latitude_of_projection_origin": 0.0,
                    "perspective_point_height": view.distance - view.earth.major,
                    "sweep_angle_axis": "y",
                });
                (axes(&view.earth), own)
            }
            Projection::Rotated(rotation) => {
                let own = json!({
                    "grid_mapping_name": "rotated_latitude_longitude",
                    "grid_north_pole_latitude": -rotation.south_pole.latitude,
                    "grid_north_pole_longitude": (rotation.south_pole.longitude + 180.0).rem_euclid(360.0),
                    "north_pole_grid_longitude": rotation.angle,
                });
                (json!({}), own)
            }
        };
        if let (Some(mapping), Some(own)) = (mapping.as_object_mut(), own.as_object()) {
            mapping.extend(own.clone());
        }
        mapping
    }
}

impl View {
    fn place(&self, x: f64, y: f64) -> Place {
        let (height, major) = (self.distance, self.earth.major);
        let flattening = (major / self.earth.minor).powi(2);
        let (sin_x, cos_x, sin_y, cos_y) = (x.sin(), x.cos(), y.sin(), y.cos());
        let stretch = 1.0 + (flattening - 1.0) * sin_y * sin_y;
        let ahead = height * cos_x * cos_y;
        let root = ahead * ahead - stretch * (height * height - major * major);
        if root <= 0.0 {
            return Place { latitude: 0.0, longitude: 0.0 };
        }
        let range = (ahead - root.sqrt()) / stretch;
        let (s1, s2, s3) = (height - range * cos_x * cos_y, range * sin_x * cos_y, range * sin_y);
        let latitude = (flattening * s3 / length(s1, s2)).atan();
        place(latitude, (s2 / s1).atan() + self.longitude.to_radians())
    }
}

/// The place of a point of a rotated grid on the Earth, east of -180 degrees.
pub(super) fn turned_back(rotation: &Rotation, point: Place) -> Place {
    let (latitude, longitude) = (point.latitude.to_radians(), point.longitude.to_radians());
    let tilt = (90.0 + rotation.south_pole.latitude).to_radians();
    let (x, y, z) = (longitude.cos() * latitude.cos(), longitude.sin() * latitude.cos(), latitude.sin());
    let (ahead, up) = (tilt.cos() * x - tilt.sin() * z, tilt.sin() * x + tilt.cos() * z);
    let east = y.atan2(ahead).to_degrees() + rotation.south_pole.longitude - rotation.angle;
    let longitude = (east + 180.0).rem_euclid(360.0) - 180.0;
    Place { latitude: up.clamp(-1.0, 1.0).asin().to_degrees(), longitude }
}

/// Radians as degrees, with a longitude from 0 up to 360.
fn place(latitude: f64, longitude: f64) -> Place {
    let turn = longitude.to_degrees().rem_euclid(360.0);
    // What is less than zero by the last bit is a whole turn when rounded.
    let longitude = if turn < 360.0 { turn } else { 0.0 };
    Place { latitude: latitude.to_degrees(), longitude }
}

/// The same angle within half a turn.
fn half_turn(angle: f64) -> f64 {
    (angle + 4.0 * FRAC_PI_4).rem_euclid(8.0 * FRAC_PI_4) - 4.0 * FRAC_PI_4
}

/// The length of a vector whose squares are far from the bounds of numbers. `f64::hypot` asks for glibc 2.35.
fn length(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_again() {
        let earth = Earth { major: 6_378_137.0, minor: 6_356_752.314 };
        let all = [
            Projection::Lambert(Cone::new(earth, 262.5, [38.5, 38.5])),
            Projection::Lambert(Cone::new(Earth::sphere(6_371_229.0), 262.5, [25.0, 60.0])),
            Projection::Lambert(Cone::new(earth, 140.0, [-30.0, -60.0])),
            Projection::Polar(Polar::new(earth, 210.0, 60.0)),
            Projection::Polar(Polar::new(earth, 210.0, -90.0)),
            Projection::Mercator(Cylinder::new(earth, 200.0, 20.0)),
        ];
        for projection in all {
            for (latitude, longitude) in [(21.0, 203.5), (-21.0, 264.25), (47.5, 181.0)] {
                let (x, y) = projection.plane(Place { latitude, longitude });
                let found = projection.place(x, y);
                assert!((found.latitude - latitude).abs() < 1e-9, "{projection:?}: {found:?}");
                assert!((found.longitude - longitude).abs() < 1e-9, "{projection:?}: {found:?}");
            }
        }
    }

    #[test]
    fn the_rotated_south_pole_is_where_it_is_said_to_be() {
        let south_pole = Place { latitude: -30.0, longitude: 15.0 };
        let found =
            turned_back(&Rotation { south_pole, angle: 0.0 }, Place { latitude: -90.0, longitude: 0.0 });
        assert!((found.latitude + 30.0).abs() < 1e-9 && (found.longitude - 15.0).abs() < 1e-9, "{found:?}");
    }
}
