//! Connection strings of Azure storage: `AccountName=..;AccountKey=..;EndpointSuffix=..`.

use crate::{Error, ErrorKind};

/// The account that Azure's emulators have.
pub(crate) const EMULATOR_ACCOUNT: &str = "devstoreaccount1";

/// Its key, which Microsoft publishes: no secret.
pub(crate) const EMULATOR_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// Where the emulator listens.
pub(crate) const EMULATOR_ENDPOINT: &str = "http://127.0.0.1:10000/devstoreaccount1";

/// What a connection string says.
#[derive(Default, PartialEq, Eq)]
pub(crate) struct ConnectionString {
    pub(crate) account: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) sas: Option<String>,
    /// URL of the blob service.
    pub(crate) endpoint: Option<String>,
}

impl ConnectionString {
    /// Takes a connection string apart. Names are compared without case; those of other services than blobs are passed
    /// over.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) where it is not `name=value;..`, or names no account. The string itself is
    /// not told.
    pub(crate) fn parse(text: &str) -> Result<ConnectionString, Error> {
        let mut found = ConnectionString::default();
        let (mut protocol, mut suffix, mut emulator) = ("https", "core.windows.net", false);
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| wrong("has a part without '='"))?;
            let owned = || Some(value.to_owned());
            match name.trim().to_ascii_lowercase().as_str() {
                "accountname" => found.account = owned(),
                "accountkey" => found.key = owned(),
                "sharedaccesssignature" => found.sas = owned(),
                "blobendpoint" => found.endpoint = Some(value.trim_end_matches('/').to_owned()),
                "defaultendpointsprotocol" if value.eq_ignore_ascii_case("http") => protocol = "http",
                "endpointsuffix" => suffix = value,
                "usedevelopmentstorage" => emulator = value.eq_ignore_ascii_case("true"),
                _ => {}
            }
        }
        if emulator {
            found.account.get_or_insert_with(|| EMULATOR_ACCOUNT.to_owned());
            found.key.get_or_insert_with(|| EMULATOR_KEY.to_owned());
            found.endpoint.get_or_insert_with(|| EMULATOR_ENDPOINT.to_owned());
        }
        if let (None, Some(endpoint)) = (&found.account, &found.endpoint) {
            found.account = account_of(endpoint);
        }
        let account = found.account.as_deref().ok_or_else(|| wrong("names no account"))?;
        found.endpoint.get_or_insert_with(|| format!("{protocol}://{account}.blob.{suffix}"));
        Ok(found)
    }
}

/// The account of `https://account.blob.core.windows.net`.
fn account_of(endpoint: &str) -> Option<String> {
    let host = endpoint.split_once("://")?.1.split(['/', ':']).next()?;
    let (account, rest) = host.split_once('.')?;
    rest.starts_with("blob.").then(|| account.to_owned())
}

fn wrong(how: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("the connection string of Azure {how}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_portal_gives_it() {
        let text = "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=a2V5==;EndpointSuffix=core.windows.net";
        let found = ConnectionString::parse(text).unwrap();
        assert_eq!(found.account.as_deref(), Some("acc"));
        assert_eq!(found.key.as_deref(), Some("a2V5=="));
        assert_eq!(found.endpoint.as_deref(), Some("https://acc.blob.core.windows.net"));
    }

    #[test]
    fn with_endpoint_and_signature() {
        let text = "BlobEndpoint=https://acc.blob.core.windows.net/;SharedAccessSignature=sv=1&sig=a%3D";
        let found = ConnectionString::parse(text).unwrap();
        assert_eq!(found.account.as_deref(), Some("acc"));
        assert_eq!(found.sas.as_deref(), Some("sv=1&sig=a%3D"));
        assert_eq!(found.endpoint.as_deref(), Some("https://acc.blob.core.windows.net"));
    }

    #[test]
    fn of_the_emulator() {
        let found = ConnectionString::parse("UseDevelopmentStorage=true").unwrap();
        assert_eq!(found.endpoint.as_deref(), Some(EMULATOR_ENDPOINT));
        assert_eq!(found.account.as_deref(), Some(EMULATOR_ACCOUNT));
    }

    #[test]
    fn wrong_ones_are_not_told() {
        for text in ["S3CRET", "AccountKey=S3CRET", ""] {
            let Err(error) = ConnectionString::parse(text) else { panic!("{text}") };
            assert!(!error.message().contains("S3CRET"));
        }
    }
}
