//! Variables of a hypercube.

use serde_json::{Map, Value};

/// A variable: its dimensions before rows and columns, and which field fills each cell of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name, which no other variable has.
    pub name: String,
    /// Its attributes.
    pub attributes: Map<String, Value>,
    /// Its dimensions before rows and columns, by their numbers in [`Plan::dimensions`](super::Plan::dimensions).
    pub dimensions: Vec<usize>,
    /// The source of each cell, the last dimension running fastest; `None` for a gap.
    pub cells: Vec<Option<usize>>,
}

/// A coordinate that all fields share, and that is therefore no dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its attributes.
    pub attributes: Map<String, Value>,
}
