//! How the values of a field are packed.

use std::sync::Arc;

/// How values are packed: `value = (reference + packed * 2^binary_scale) / 10^decimal_scale`, for all kinds that scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Packing {
    /// How the packed numbers are stored.
    pub kind: PackingKind,
    /// The reference value, the least one as a rule.
    pub reference: f64,
    /// The power of two.
    pub binary_scale: i32,
    /// The power of ten.
    pub decimal_scale: i32,
    /// Bits of a packed number (of a group's reference, where numbers are in groups); 0 where all values are the reference.
    pub bits: u8,
    /// How many values are stored: as many as the bitmap has, or as the grid has points. `None` where only the grid or
    /// the bitmap says it.
    pub values: Option<u64>,
}

/// How the packed numbers are stored.
#[derive(Clone, Debug, PartialEq)]
pub enum PackingKind {
    /// One behind the other (template 5.0, edition 1's simple packing).
    Simple,
    /// In groups of a reference and a width each (templates 5.2 and 5.3).
    Complex(Complex),
    /// As IEEE 754 numbers of so many octets, without a scale (template 5.4, edition 1's raw numbers).
    Ieee(u8),
    /// As runs of levels (template 5.200).
    RunLength(Levels),
    /// By the entropy coder of CCSDS 121.0-B (template 5.42).
    Ccsds(Entropy),
    /// As a JPEG 2000 code stream (template 5.40).
    Jpeg2000,
    /// As a PNG image (template 5.41).
    Png,
    /// Edition 1's second-order packing, in groups; what follows octet 11 of the data section says how.
    SecondOrder,
    /// Coefficients of spherical harmonics.
    Spectral,
    /// Several values at each point.
    Matrix,
    /// Another template of edition 2.
    Other(u16),
}

impl PackingKind {
    /// The packing's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            PackingKind::Simple => "simple",
            PackingKind::Complex(Complex { order: 0, .. }) => "complex",
            PackingKind::Complex(_) => "complex_spatial_differencing",
            PackingKind::Ieee(_) => "ieee",
            PackingKind::RunLength(_) => "run_length",
            PackingKind::Ccsds(_) => "ccsds",
            PackingKind::Jpeg2000 => "jpeg2000",
            PackingKind::Png => "png",
            PackingKind::SecondOrder => "second_order",
            PackingKind::Spectral => "spectral",
            PackingKind::Matrix => "matrix",
            PackingKind::Other(_) => "other",
        }
    }
}

/// Groups of packed numbers: octets 22 to 49 of templates 5.2 and 5.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Complex {
    /// Which packed numbers stand for missing values.
    pub missing: MissingValues,
    /// How many groups.
    pub groups: u32,
    /// What each stored width counts from.
    pub width_reference: u8,
    /// Bits of a stored width.
    pub width_bits: u8,
    /// What each stored length counts from.
    pub length_reference: u32,
    /// What a stored length is multiplied with.
    pub length_increment: u8,
    /// The last group's length.
    pub last_length: u32,
    /// Bits of a stored length.
    pub length_bits: u8,
    /// 0: numbers are stored; 1: their differences; 2: the differences of those.
    pub order: u8,
    /// Octets of each number that differences count from.
    pub extra_octets: u8,
}

/// Which packed numbers stand for missing values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingValues {
    /// None.
    None,
    /// The largest of a group's width.
    Primary,
    /// The two largest of it.
    PrimaryAndSecondary,
}

/// The levels that runs are of: octets 13 on of template 5.200.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// The largest level in use: packed numbers above it are digits of a run's length.
    pub largest: u16,
    /// The value of each level from 1 on, before the decimal scale; level 0 is a missing value.
    pub values: Arc<[u16]>,
}

/// How the entropy coder was set: octets 22 to 25 of template 5.42.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entropy {
    /// The bits of libaec's flags.
    pub flags: u8,
    /// Numbers in a block.
    pub block: u8,
    /// Blocks between two reference numbers.
    pub interval: u16,
}
