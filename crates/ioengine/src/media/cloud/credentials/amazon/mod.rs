//! Amazon's chain of credentials, in the order that its own tools have: what was given, environment, web identity,
//! profile, container, instance.

mod choice;
mod container;
mod instance;
mod profile;
mod profiles;
mod provider;
mod settings;
mod sso;
mod sso_token;
mod sts;
#[cfg(test)]
mod tests;

pub(crate) use profiles::Profiles;
pub(crate) use provider::Amazon;
pub(crate) use settings::{AmazonSettings, Search, settings};

use choice::Choice;
