//! S3: Amazon's, and the many that speak like it.

use super::endpoint::{endpoint, origin, with_bucket_in_host};
use super::lasting_name::lasting_name;
use super::place::{Form, unsupported};
use super::region::{Pays, RegionFollower, Resigner};
use super::request_layer::{Additions, RequestLayer, Signing};
use super::signing::{Payload, Signer};
use super::{Abilities, Built, Context, client_options, no_retries};
use crate::Error;
use crate::media::cloud::CloudOptions;
use crate::media::cloud::credentials::{
    Amazon, AmazonSearch, AmazonSettings, Profiles, Renewal, TokenRequests, amazon_settings, own_amazon,
};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, AwsCredentialProvider};
use object_store::client::HttpConnector;
use object_store::{ClientOptions, ObjectStore};
use std::sync::Arc;

/// Options that object_store understands as they are.
const PASSED_ON: [(&str, &str); 10] = [
    ("unsigned_payload", "aws_unsigned_payload"),
    ("checksum_algorithm", "aws_checksum_algorithm"),
    ("copy_if_not_exists", "aws_copy_if_not_exists"),
    ("conditional_put", "aws_conditional_put"),
    ("disable_tagging", "aws_disable_tagging"),
    ("disable_bulk_delete", "aws_disable_bulk_delete"),
    ("server_side_encryption", "aws_server_side_encryption"),
    ("sse_kms_key_id", "aws_sse_kms_key_id"),
    ("sse_bucket_key_enabled", "aws_sse_bucket_key_enabled"),
    ("sse_customer_key_base64", "aws_sse_customer_key_base64"),
];

/// Where the bucket is.
struct Target {
    /// URL of the service, with the bucket in its host where that was asked for.
    endpoint: String,
    /// URL of the service, one for all regions whose buckets have names of their own.
    service: String,
    region: String,
    in_host: bool,
    /// True for Amazon's own hosts, which tell the region of a bucket.
    is_amazon: bool,
    /// A directory bucket, which has hosts and sessions of its own.
    is_express: bool,
}

/// Builds the store of a bucket.
///
/// # Errors
///
/// As [`connect`](super::connect).
pub(super) fn build<C: HttpConnector + Clone>(
    context: Context<'_>,
    connect: impl FnOnce(&str) -> Result<C, Error>,
) -> Result<Built<C>, Error> {
    let Context { place, options, environment } = context;
    let own = options.credentials();
    let search = if own.is_some() { AmazonSearch::Nowhere } else { AmazonSearch::Chain };
    let settings = amazon_settings(options, environment, &Profiles::load(environment)?, search)?;
    let target = target(context, &settings)?;
    // Who writes a web address expects public data to need no login.
    let is_public = place.form == Form::Web && settings.is_a_guess() && own.is_none();
    let unsigned = options.truth("skip_signature")? || is_public;
    let service: Arc<str> = origin(&target.endpoint);
    let connector = connect(&target.endpoint)?;
    let client =
        connector.connect(&ClientOptions::new()).map_err(|_| unsupported("connections cannot be made"))?;
    let renewal = Renewal::default();
    let credentials: AwsCredentialProvider = match own {
        Some(own) => own_amazon(Arc::clone(own), &renewal),
        None => Arc::new(Amazon::new(settings, TokenRequests::new(client), &renewal)),
    };
    let layers = Layers {
        connector: &connector,
        service: &service,
        additions: additions(options)?,
        follower: (target.is_amazon && !target.is_express).then(|| RegionFollower::new(&target.region)),
    };
    let pays = pays(options)?;
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(&place.bucket)
        .with_region(&target.region)
        .with_credentials(Arc::clone(&credentials))
        .with_skip_signature(unsigned)
        .with_request_payer(pays == Pays::Requester)
        .with_virtual_hosted_style_request(target.in_host)
        .with_s3_express(target.is_express)
        .with_client_options(client_options(options))
        .with_retry(no_retries());
    if !target.is_express {
        builder = builder.with_endpoint(&target.endpoint);
    }
    let builder = passed_on(builder, options)?;
    // Directory buckets sign with keys of sessions, which object_store makes and keeps to itself.
    let signs_reads = !unsigned && !target.is_express;
    let reads = match signs_reads {
        true => {
            let signer = Signer::new(Arc::clone(&credentials), &target.region, payload(options)?, pays);
            Some(layers.store(builder.clone().with_skip_signature(true), Signing::Here(signer))?)
        }
        false => None,
    };
    let signing = match unsigned {
        true => Signing::Above,
        false => Signing::AboveAndMoved(Resigner::new(credentials, pays)),
    };
    let store = layers.store(builder, signing)?;
    let abilities = Abilities {
        suffix_ranges: true,
        lists: true,
        conditional_puts: options.get("conditional_put") != Some("disabled"),
    };
    let lasting_name = lasting_name(context, &target.service, "");
    Ok(Built { store, reads, endpoint: service, lasting_name, abilities, web: None, connector, renewal })
}

/// What is below the stores of one bucket.
struct Layers<'a, C> {
    connector: &'a C,
    service: &'a str,
    additions: Additions,
    follower: Option<RegionFollower>,
}

impl<C: HttpConnector + Clone> Layers<'_, C> {
    /// A store whose requests are signed so.
    fn store(&self, builder: AmazonS3Builder, signing: Signing) -> Result<Arc<dyn ObjectStore>, Error> {
        let (additions, follower) = (self.additions.clone(), self.follower.clone());
        let layer = RequestLayer::signed(self.connector.clone(), self.service, additions, follower, signing);
        let store = builder.with_http_connector(layer).build();
        let store = store.map_err(|_| unsupported("the options of S3 cannot be used together"))?;
        Ok(Arc::new(store))
    }
}

fn payload(options: &CloudOptions) -> Result<Payload, Error> {
    Ok(if options.truth("unsigned_payload")? { Payload::Unsigned } else { Payload::Signed })
}

fn target(context: Context<'_>, settings: &AmazonSettings) -> Result<Target, Error> {
    let Context { place, options, .. } = context;
    let scheme = match options.get("use_ssl") {
        Some(_) if !options.truth("use_ssl")? => "http",
        _ => "https",
    };
    // What the URL says is said of this bucket; what is configured, of all.
    let region = place.region.as_deref().or(settings.region.as_deref()).unwrap_or("us-east-1").to_owned();
    let is_name = !region.is_empty()
        && region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if !is_name {
        return Err(unsupported("the region is not a name of letters, digits and '-'"));
    }
    let given = place.endpoint.as_deref().or(settings.endpoint.as_deref());
    let is_express = options.truth("s3_express")? || (given.is_none() && place.bucket.ends_with("--x-s3"));
    let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    let service = match given {
        Some(given) => endpoint(given, scheme)?,
        None => format!("{scheme}://s3.{region}.{suffix}"),
    };
    let host = origin(&service);
    let is_amazon = host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
    let in_host = match options.get("virtual_hosted_style_request") {
        Some(_) => options.truth("virtual_hosted_style_request")?,
        None => options.get("addressing_style").or(settings.addressing_style.as_deref()) == Some("virtual"),
    };
    let endpoint = if in_host { with_bucket_in_host(&service, &place.bucket)? } else { service.clone() };
    // The region is often left out, and Amazon finds the bucket by its name all the same.
    let service = if given.is_none() && !is_express { format!("https://s3.{suffix}") } else { service };
    Ok(Target { endpoint, service, region, in_host, is_amazon, is_express })
}

/// Headers that options give. Amazon refuses headers of its own that are not signed, and these are put on after that.
fn additions(options: &CloudOptions) -> Result<Additions, Error> {
    if let Some((name, _)) = options.headers().find(|(name, _)| name.starts_with("x-amz-")) {
        let message =
            format!("the header {name:?} would have to be signed; give the option for what it does");
        return Err(unsupported(message));
    }
    Additions::new(options, None)
}

fn pays(options: &CloudOptions) -> Result<Pays, Error> {
    match options.get("requester_pays") {
        Some("requester") => Ok(Pays::Requester),
        _ if options.truth("requester_pays")? => Ok(Pays::Requester),
        _ => Ok(Pays::Owner),
    }
}

fn passed_on(start: AmazonS3Builder, options: &CloudOptions) -> Result<AmazonS3Builder, Error> {
    PASSED_ON.iter().try_fold(start, |builder, (name, key)| {
        let Some(value) = options.get(name) else { return Ok(builder) };
        let key: AmazonS3ConfigKey =
            key.parse().map_err(|_| unsupported(format!("the option {name:?} is not supported any more")))?;
        Ok(builder.with_config(key, value))
    })
}
