//! Proxies, as options and `HTTPS_PROXY` say them.

use super::place::unsupported;
use crate::Error;
use crate::media::cloud::CloudOptions;
use crate::media::cloud::credentials::Environment;
use crate::media::cloud::transport::ProxySettings;
use url::{Host, Url};

/// Metadata services are a hop away, and would answer a proxy with the proxy's own credentials.
const NEVER_BY_PROXY: &str = "169.254.169.254,169.254.170.2,169.254.170.23,fd00:ec2::254,fd00:ec2::23,\
                              metadata.google.internal";

/// This machine, where agents give credentials.
const THIS_MACHINE: &str = "localhost,127.0.0.0/8,::1";

/// What says where credentials come from, if not from where they always do: options, and the variables for them.
const CREDENTIAL_SERVICES: [(&[&str], &[&str]); 4] = [
    (&["metadata_endpoint"], &["AWS_EC2_METADATA_SERVICE_ENDPOINT", "AWS_METADATA_ENDPOINT"]),
    (&["container_credentials_full_uri"], &["AWS_CONTAINER_CREDENTIALS_FULL_URI"]),
    (&["msi_endpoint"], &["IDENTITY_ENDPOINT", "AZURE_MSI_ENDPOINT"]),
    (&[], &["GCE_METADATA_HOST", "GCE_METADATA_ROOT"]),
];

/// The proxy of an endpoint; `None` for none. Of the environment `HTTPS_PROXY` (`HTTP_PROXY` for plain HTTP) and `ALL_PROXY`
/// count, in lower case first; `HTTP_PROXY` in upper case not in a web server's program (CGI), whose callers can set it.
///
/// # Errors
///
/// [`Unsupported`](crate::ErrorKind::Unsupported) for what is no URL. It is not told: it may hold a password.
pub(super) fn settings(
    options: &CloudOptions,
    environment: &Environment,
    endpoint: &str,
) -> Result<Option<ProxySettings>, Error> {
    let variables: &[&str] = if endpoint.starts_with("https:") {
        &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    } else if environment.get("REQUEST_METHOD").is_some() {
        &["http_proxy", "all_proxy", "ALL_PROXY"]
    } else {
        &["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
    };
    let Some(text) = options.get("proxy_url").or_else(|| environment.first(variables)) else {
        return Ok(None);
    };
    let url = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let parsed = Url::parse(&url).map_err(|error| unsupported(format!("the proxy is no URL: {error}")))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(unsupported("the proxy should be a URL with http or https"));
    }
    let excludes = options.get("proxy_excludes").or_else(|| environment.first(&["no_proxy", "NO_PROXY"]));
    let mut excludes = match excludes {
        Some(excludes) => format!("{excludes},{NEVER_BY_PROXY}"),
        None => NEVER_BY_PROXY.to_owned(),
    };
    for host in credential_services(options, environment, endpoint) {
        excludes.push(',');
        excludes.push_str(&host);
    }
    let ca_certificate = options.get("proxy_ca_certificate").map(|pem| pem.as_bytes().into());
    Ok(Some(ProxySettings { url, excludes, ca_certificate }))
}

/// Hosts that give credentials and that this endpoint's proxy must not see. Where the endpoint itself is on this machine,
/// and somebody set a proxy for it all the same, only the services that are named, by their ports.
fn credential_services(options: &CloudOptions, environment: &Environment, endpoint: &str) -> Vec<String> {
    let is_here = Url::parse(endpoint).is_ok_and(|url| match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    });
    let named = CREDENTIAL_SERVICES.iter().filter_map(|(names, variables)| {
        let option = names.iter().find_map(|name| options.get(name));
        let text = option.or_else(|| environment.first(variables))?;
        let url = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let url = Url::parse(&url).ok()?;
        Some(format!("{}:{}", url.host_str()?, url.port_or_known_default()?))
    });
    (!is_here).then(|| THIS_MACHINE.to_owned()).into_iter().chain(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_then_lower_case_then_upper_case() {
        let environment = Environment::of(&[
            ("HTTPS_PROXY", "http://upper:1"),
            ("https_proxy", "lower:2"),
            ("HTTP_PROXY", "http://plain:3"),
            ("NO_PROXY", "internal"),
        ]);
        let mut options = CloudOptions::new();
        let of =
            |options: &CloudOptions, endpoint| settings(options, &environment, endpoint).unwrap().unwrap();
        assert_eq!(of(&options, "https://h").url, "http://lower:2");
        assert_eq!(of(&options, "http://h").url, "http://plain:3");
        assert!(of(&options, "http://h").excludes.starts_with("internal,169.254.169.254"));
        options.set("proxy_url", "http://option:4").unwrap();
        assert_eq!(of(&options, "https://h").url, "http://option:4");
        assert!(settings(&CloudOptions::new(), &Environment::default(), "https://h").unwrap().is_none());
        let cgi = Environment::of(&[("HTTP_PROXY", "http://plain:3"), ("REQUEST_METHOD", "GET")]);
        assert!(settings(&CloudOptions::new(), &cgi, "http://h").unwrap().is_none());
        options.set("proxy_url", "http://u:S3CRET@[").unwrap();
        let error = settings(&options, &environment, "https://h").unwrap_err();
        assert!(!error.message().contains("S3CRET"), "{error}");
    }

    #[test]
    fn services_of_credentials_are_reached_without() {
        let environment = Environment::of(&[
            ("HTTPS_PROXY", "http://proxy:1"),
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://[::1]:51679/role"),
            ("GCE_METADATA_HOST", "metadata.internal:8080"),
            ("IDENTITY_ENDPOINT", "http://identity/token"),
        ]);
        let excludes = |endpoint| {
            let found = settings(&CloudOptions::new(), &environment, endpoint).unwrap().unwrap();
            found.excludes.strip_prefix(NEVER_BY_PROXY).unwrap().to_owned()
        };
        let named = ",[::1]:51679,identity:80,metadata.internal:8080";
        assert_eq!(excludes("https://s3.example.com"), format!(",localhost,127.0.0.0/8,::1{named}"));
        assert_eq!(excludes("https://localhost:9000"), named);
    }
}
