//! What turns radiances of the four satellites into reflectances and temperatures.
//!
//! Solar irradiances: EUMETSAT, "Conversion from radiances to reflectances for SEVIRI warm channels", EUM/MET/TEN/12/0332.
//! Wavenumbers, alpha and beta: EUMETSAT, "The Conversion from Effective Radiances to Equivalent Brightness Temperatures",
//! EUM/MET/TEN/11/0569. Fits for spectral radiances: EUMETSAT, "Radiometric Calibration of MSG SEVIRI Level 1.5 Image Data in
//! Equivalent Spectral Blackbody Radiance", EUM/OPS-MSG/TEN/03/0064.

use super::channel::Channel;

/// Planck's constants for radiances in mW m-2 sr-1 (cm-1)-1 and wavenumbers in cm-1: `2 h c^2`, and `h c / k` in K cm.
pub(super) const RADIATION: [f64; 2] = [1.191_042_73e-5, 1.438_775_23];

/// A satellite of the second generation.
pub(super) struct Satellite {
    /// Its number in files.
    number: u16,
    /// Its name in orbit.
    name: &'static str,
    /// The sun's irradiance in VIS006, VIS008, IR_016 and HRV, in mW m-2 (cm-1)-1, at a distance of an astronomical unit.
    irradiance: [f64; 4],
    /// Of the eight infrared channels.
    bands: [Band; 8],
}

/// What fits a channel's band to one wavenumber.
#[derive(Clone, Copy)]
pub(super) struct Band {
    /// The central wavenumber, in cm-1.
    pub(super) wavenumber: f64,
    /// The slope from temperatures to those of the wavenumber.
    pub(super) alpha: f64,
    /// Their offset, in K.
    pub(super) beta: f64,
}

const fn band(wavenumber: f64, alpha: f64, beta: f64) -> Band {
    Band { wavenumber, alpha, beta }
}

const SATELLITES: [Satellite; 4] = [
    Satellite {
        number: 321,
        name: "Meteosat-8",
        irradiance: [65.2296, 73.0127, 62.3715, 78.7599],
        bands: [
            band(2567.33, 0.9956, 3.41),
            band(1598.103, 0.9962, 2.218),
            band(1362.081, 0.9991, 0.478),
            band(1149.069, 0.9996, 0.179),
            band(1034.343, 0.9999, 0.06),
            band(930.647, 0.9983, 0.625),
            band(839.66, 0.9988, 0.397),
            band(752.387, 0.9981, 0.578),
        ],
    },
    Satellite {
        number: 322,
        name: "Meteosat-9",
        irradiance: [65.2065, 73.1869, 61.9923, 79.0113],
        bands: [
            band(2568.832, 0.9954, 3.438),
            band(1600.548, 0.9963, 2.185),
            band(1360.330, 0.9991, 0.47),
            band(1148.620, 0.9996, 0.179),
            band(1035.289, 0.9999, 0.056),
            band(931.7, 0.9983, 0.64),
            band(836.445, 0.9988, 0.408),
            band(751.792, 0.9981, 0.561),
        ],
    },
    Satellite {
        number: 323,
        name: "Meteosat-10",
        irradiance: [65.5148, 73.1807, 62.0208, 78.9416],
        bands: [
            band(2547.771, 0.9915, 2.9002),
            band(1595.621, 0.9960, 2.0337),
            band(1360.337, 0.9991, 0.4340),
            band(1148.130, 0.9996, 0.1714),
            band(1034.715, 0.9999, 0.0527),
            band(929.842, 0.9983, 0.6084),
            band(838.659, 0.9988, 0.3882),
            band(750.653, 0.9982, 0.5390),
        ],
    },
    Satellite {
        number: 324,
        name: "Meteosat-11",
        irradiance: [65.2656, 73.1692, 61.9416, 79.0035],
        bands: [
            band(2555.280, 0.9916, 2.9438),
            band(1596.080, 0.9959, 2.0780),
            band(1361.748, 0.9990, 0.4929),
            band(1147.433, 0.9996, 0.1731),
            band(1034.851, 0.9998, 0.0597),
            band(931.122, 0.9983, 0.6256),
            band(839.113, 0.9988, 0.4002),
            band(748.585, 0.9981, 0.5635),
        ],
    },
];

/// What makes a temperature of that of a wavenumber, for spectral radiances: factors of its square, of itself, and a constant.
const FITS: [[f64; 3]; 8] = [
    [0.0, 1.011_751_9, -3.5504],
    [0.000_018_057, 1.000_255_533, -1.790_93],
    [0.000_002_318_18, 1.000_668_281, -0.456_166],
    [-0.000_023_32, 1.011_803_4, -1.507_39],
    [-0.000_020_553_3, 1.009_370_67, -1.0306],
    [-0.000_073_927_7, 1.032_889_8, -3.296_74],
    [-0.000_070_098_4, 1.031_314_6, -3.181_09],
    [-0.000_072_934_5, 1.030_424_8, -2.645_95],
];

impl Satellite {
    /// The satellite of a number.
    pub(super) fn of(number: u16) -> Option<&'static Satellite> {
        SATELLITES.iter().find(|satellite| satellite.number == number)
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// The sun's irradiance in a solar channel.
    pub(super) fn irradiance(&self, channel: Channel) -> Option<f64> {
        let place = [Channel::Vis006, Channel::Vis008, Channel::Ir016, Channel::Hrv];
        place.iter().position(|solar| *solar == channel).and_then(|place| self.irradiance.get(place)).copied()
    }

    /// The band of an infrared channel.
    pub(super) fn band(&self, channel: Channel) -> Option<Band> {
        self.bands.get(infrared(channel)?).copied()
    }
}

/// The fit of an infrared channel.
pub(super) fn fit(channel: Channel) -> Option<[f64; 3]> {
    FITS.get(infrared(channel)?).copied()
}

/// Its place among the infrared channels, which begin with the fourth.
fn infrared(channel: Channel) -> Option<usize> {
    channel.index().checked_sub(Channel::Ir039.index()).filter(|place| *place < FITS.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_channel_has_what_it_is_calibrated_with() {
        for satellite in &SATELLITES {
            for channel in Channel::ALL {
                assert_eq!(satellite.irradiance(channel).is_some(), channel.is_solar(), "{channel:?}");
                assert_eq!(satellite.band(channel).is_some(), !channel.is_solar(), "{channel:?}");
                assert_eq!(fit(channel).is_some(), !channel.is_solar(), "{channel:?}");
            }
        }
        assert!(Satellite::of(320).is_none());
    }
}
