//! Checks of the house rules that no lint knows: sizes, crate directions, files that may use unsafe.
