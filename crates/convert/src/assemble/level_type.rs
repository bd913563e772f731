//! What types of levels are called, and the values of levels as ecCodes gives them.

use crate::{Field, Level};

/// A level's type and value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LevelType {
    /// Its name, as ecCodes has it, where it has one.
    pub(super) name: String,
    /// The level: of a layer the first surface; 0 where there is none.
    pub(super) value: f64,
}

/// The first surface, the second one where there is one, and the name: edition 2's code table 4.5.
const EDITION2: &[(u8, Option<u8>, &str)] = &[
    (1, None, "surface"),
    (1, Some(7), "troposphere"),
    (1, Some(8), "entireAtmosphere"),
    (1, Some(9), "entireOcean"),
    (1, Some(100), "lowCloudLayer"),
    (1, Some(151), "totalSoilLayer"),
    (1, Some(162), "entireLake"),
    (1, Some(167), "rootZone"),
    (2, None, "cloudBase"),
    (3, None, "cloudTop"),
    (4, None, "isothermZero"),
    (5, None, "adiabaticCondensation"),
    (6, None, "maxWind"),
    (7, None, "tropopause"),
    (7, Some(36), "stratosphere"),
    (8, None, "nominalTop"),
    (9, None, "seaBottom"),
    (10, None, "atmosphere"),
    (11, None, "cumulonimbusBase"),
    (12, None, "cumulonimbusTop"),
    (14, None, "freeConvection"),
    (15, None, "convectiveCondensation"),
    (16, None, "neutralBuoyancy"),
    (17, None, "mostUnstableParcel"),
    (18, None, "mixedLayerParcel"),
    (19, None, "lowestLevelOfCloudCoverExceedance"),
    (20, None, "isothermal"),
    (100, Some(8), "highCloudLayer"),
    (100, Some(100), "isobaricLayer"),
    (101, None, "meanSea"),
    (102, None, "heightAboveSea"),
    (102, Some(102), "heightAboveSeaLayer"),
    (103, None, "heightAboveGround"),
    (103, Some(103), "heightAboveGroundLayer"),
    (104, None, "sigma"),
    (104, Some(104), "sigmaLayer"),
    (105, None, "hybrid"),
    (105, Some(105), "hybridLayer"),
    (106, None, "depthBelowLand"),
    (106, Some(106), "depthBelowLandLayer"),
    (107, None, "theta"),
    (107, Some(107), "thetaLayer"),
    (108, None, "pressureFromGround"),
    (108, Some(108), "pressureFromGroundLayer"),
    (109, None, "potentialVorticity"),
    (111, None, "eta"),
    (114, None, "snow"),
    (114, Some(114), "snowLayer"),
    (117, None, "mixedLayerDepthGeneric"),
    (118, None, "hybridHeight"),
    (119, None, "hybridPressure"),
    (151, None, "soil"),
    (151, Some(151), "soilLayer"),
    (152, None, "seaIce"),
    (152, Some(152), "seaIceLayer"),
    (160, None, "depthBelowSea"),
    (160, Some(9), "oceanSurfaceToBottom"),
    (160, Some(160), "depthBelowSeaLayer"),
    (162, None, "lakeBottom"),
    (166, None, "mixingLayer"),
    (168, None, "oceanModel"),
    (168, Some(168), "oceanModelLayer"),
    (169, None, "mixedLayerDepthByDensity"),
    (170, None, "mixedLayerDepthByTemperature"),
    (173, None, "snowTopOverIceOnWater"),
    (174, None, "iceTopOnWater"),
    (174, Some(176), "iceLayerOnWater"),
];

/// What NCEP calls the types that each centre may define, whatever the second surface.
const NCEP: &[(u8, &str)] = &[
    (200, "atmosphereSingleLayer"),
    (201, "oceanSingleLayer"),
    (204, "highestTroposphericFreezing"),
    (206, "gridScaleCloudBottom"),
    (207, "gridScaleCloudTop"),
    (209, "boundaryLayerCloudBottom"),
    (210, "boundaryLayerCloudTop"),
    (211, "boundaryLayerCloudLayer"),
    (212, "lowCloudBottom"),
    (213, "lowCloudTop"),
    (214, "lowCloudLayer"),
    (215, "cloudCeiling"),
    (220, "planetaryBoundaryLayer"),
    (221, "layerBetween2Hybrids"),
    (222, "middleCloudBottom"),
    (223, "middleCloudTop"),
    (224, "middleCloudLayer"),
    (232, "highCloudBottom"),
    (233, "highCloudTop"),
    (234, "highCloudLayer"),
    (235, "oceanIsotherm"),
    (240, "oceanMixedLayer"),
    (241, "orderedSequenceData"),
    (242, "convectiveCloudBottom"),
    (243, "convectiveCloudTop"),
    (244, "convectiveCloudLayer"),
    (245, "lowestLevelWetBulb0"),
    (247, "equilibrium"),
];

/// The centre of NCEP.
const NCEP_CENTRE: u16 = 7;

/// Edition 1's code table 3, where a layer's type says that it is one.
const EDITION1: &[(u8, &str)] = &[
    (1, "surface"),
    (2, "cloudBase"),
    (3, "cloudTop"),
    (4, "isothermZero"),
    (5, "adiabaticCondensation"),
    (6, "maxWind"),
    (7, "tropopause"),
    (8, "nominalTop"),
    (9, "seaBottom"),
    (100, "isobaricInhPa"),
    (101, "isobaricLayer"),
    (102, "meanSea"),
    (103, "heightAboveSea"),
    (104, "heightAboveSeaLayer"),
    (105, "heightAboveGround"),
    (106, "heightAboveGroundLayer"),
    (107, "sigma"),
    (108, "sigmaLayer"),
    (109, "hybrid"),
    (110, "hybridLayer"),
    (111, "depthBelowLand"),
    (112, "depthBelowLandLayer"),
    (113, "theta"),
    (114, "thetaLayer"),
    (115, "pressureFromGround"),
    (116, "pressureFromGroundLayer"),
    (117, "potentialVorticity"),
    (121, "isobaricLayerHighPrecision"),
    (125, "heightAboveGroundHighPrecision"),
    (128, "sigmaLayerHighPrecision"),
    (141, "isobaricLayerMixedPrecision"),
    (160, "depthBelowSea"),
    (200, "entireAtmosphere"),
    (201, "entireOcean"),
    (210, "isobaricInPa"),
];

/// Surfaces at a pressure, in pascals.
const ISOBARIC: u8 = 100;

/// Pressures below this, in pascals, are told in pascals, and others in hectopascals, as ecCodes does.
const HECTOPASCAL: f64 = 100.0;

impl LevelType {
    /// Of a field; `None` where its product template is not known.
    pub(super) fn of(field: &Field) -> Option<LevelType> {
        let level = field.level?;
        let value = level.first.value.unwrap_or(0.0);
        if (field.edition, level.first.kind, level.second) == (2, ISOBARIC, None) {
            let (name, value) = match 0.0 < value && value < HECTOPASCAL {
                true => ("isobaricInPa", value),
                false => ("isobaricInhPa", value / HECTOPASCAL),
            };
            return Some(LevelType { name: name.to_owned(), value });
        }
        Some(LevelType { name: name(field.edition, field.centre, &level), value })
    }
}

fn name(edition: u8, centre: u16, level: &Level) -> String {
    let (first, second) = (level.first.kind, level.second.map(|second| second.kind));
    let row = |table: &[(u8, &'static str)]| table.iter().find(|row| row.0 == first).map(|row| row.1);
    let known = match edition {
        1 => row(EDITION1),
        _ if centre == NCEP_CENTRE && 200 <= first => row(NCEP),
        _ => EDITION2.iter().find(|row| (row.0, row.1) == (first, second)).map(|row| row.2),
    };
    match (known, second) {
        (Some(name), _) => name.to_owned(),
        (None, None) => format!("level_{first}"),
        (None, Some(second)) => format!("layer_{first}_{second}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Surface;

    #[test]
    fn levels_are_called_as_by_ec_codes() {
        let surface = |kind| Surface { kind, value: None };
        let named = |edition, first, second: Option<u8>| {
            name(edition, 98, &Level { first: surface(first), second: second.map(surface) })
        };
        assert_eq!(named(2, 106, Some(106)), "depthBelowLandLayer");
        assert_eq!(named(1, 112, Some(112)), "depthBelowLandLayer");
        assert_eq!(named(2, 1, Some(8)), "entireAtmosphere");
        assert_eq!(
            (named(2, 99, None), named(2, 99, Some(3))),
            ("level_99".to_owned(), "layer_99_3".to_owned())
        );
    }
}
