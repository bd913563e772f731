//! Locations as benches/cloud/readers/location.py writes them.

use protocol::Failure;
use serde_json::Value;
use std::sync::Arc;
use swath::CloudOptions;
use swath::ioengine::{CloudMedium, Medium, ObjectRef};

/// A bucket, opened, and what the runner says besides.
pub struct Location {
    /// The bucket's medium.
    pub medium: Medium,
    prefix: String,
    more: Value,
}

impl Location {
    /// Opens what `text` names.
    ///
    /// # Errors
    ///
    /// Where it is no location, or swath cannot open it.
    pub fn open(text: &str) -> Result<Location, Failure> {
        let described: Value = serde_json::from_str(text)?;
        let word = |name: &str| described[name].as_str().unwrap_or_default();
        let (endpoint, bucket) = (word("endpoint"), word("bucket"));
        let mut options = CloudOptions::new();
        options.set("allow_http", "true")?;
        let url = if word("scheme") == "s3" {
            options.set("endpoint", endpoint)?;
            options.set("region", "us-east-1")?;
            // The server checks no signature; requests are signed all the same, as they would be elsewhere.
            options.set("access_key_id", "cloud-bench")?;
            options.set("secret_access_key", "cloud-bench-secret")?;
            format!("s3://{bucket}")
        } else {
            format!("{endpoint}/{bucket}")
        };
        match described["connections"].as_u64() {
            Some(0) | None => {}
            Some(connections) => {
                options.set("concurrency", connections.to_string())?;
                options.set("connections_max", connections.to_string())?;
            }
        }
        let opened = CloudMedium::open(&url, &options)?;
        Ok(Location { medium: opened.medium, prefix: opened.prefix, more: described["more"].clone() })
    }

    /// The object of a key.
    pub fn object(&self, key: &str) -> ObjectRef {
        ObjectRef { medium: self.medium.clone(), key: self.key(key) }
    }

    /// The key on the medium.
    pub fn key(&self, key: &str) -> Arc<str> {
        if self.prefix.is_empty() { key.into() } else { format!("{}/{key}", self.prefix).into() }
    }

    /// A number that only one program knows.
    ///
    /// # Errors
    ///
    /// Where the runner did not say it.
    pub fn number(&self, name: &str) -> Result<u64, Failure> {
        Ok(self.more[name].as_u64().ok_or_else(|| format!("the location says no number {name}"))?)
    }
}
