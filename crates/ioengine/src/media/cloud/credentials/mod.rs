//! Who we are, to the services: credentials as users have them, fetched when they are needed, and kept until shortly
//! before they expire.

mod amazon;
#[cfg(test)]
pub(super) mod answering;
mod azure;
mod cached;
mod command;
mod connection_string;
mod environment;
mod google;
mod own;
mod renewal;
mod source;
mod timestamp;
mod token_requests;

pub(super) use amazon::{
    Amazon, AmazonSettings, Profiles, Search as AmazonSearch, settings as amazon_settings,
};
pub(super) use azure::{Login as AzureLogin, login as azure_login, provider as azure_provider};
pub(super) use connection_string::{ConnectionString, EMULATOR_ACCOUNT, EMULATOR_ENDPOINT, EMULATOR_KEY};
pub(super) use environment::Environment;
pub(super) use google::{Login as GoogleLogin, login as google_login, provider as google_provider};
pub(super) use own::{own_amazon, own_azure, own_google};
pub(super) use renewal::Renewal;
pub use source::{CloudCredentials, CloudKeys, CredentialSource};
pub(super) use timestamp::{COMPACT_DAY_LEN, COMPACT_LEN, compact, http_date};
pub(super) use token_requests::TokenRequests;
