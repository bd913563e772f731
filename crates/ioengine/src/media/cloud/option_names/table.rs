//! The options that are known: one row each, with every spelling that users know it under.

use super::Shows::{self, Open, Secret};

/// An option.
pub(super) struct Row {
    /// The name it is stored under.
    pub(super) name: &'static str,
    /// Whether its value may be shown.
    pub(super) shows: Shows,
    /// Other spellings, in lower case, without the prefixes that [`canonical`](super::canonical) takes off.
    pub(super) spellings: &'static [&'static str],
}

const fn row(name: &'static str, shows: Shows, spellings: &'static [&'static str]) -> Row {
    Row { name, shows, spellings }
}

/// Options that mean something, by service. A name means the same at every service that has it, but for `token`.
pub(super) const ROWS: &[&[Row]] = &[EVERYWHERE, AMAZON, GOOGLE, AZURE, WEB, CONNECTIONS, READING];

const EVERYWHERE: &[Row] = &[
    row("skip_signature", Open, &["anon", "anonymous", "no_sign_request"]),
    row("endpoint", Open, &["endpoint_url", "endpoint_url_s3", "base_url", "client_kwargs.endpoint_url"]),
    // Amazon's session token; Google's and Azure's bearer token; gcsfs's way to log in; a web server's bearer token.
    row("token", Secret, &["session_token", "bearer_token", "client_kwargs.aws_session_token"]),
    row(
        "requester_pays",
        Open,
        &["request_payer", "s3_additional_kwargs.requestpayer", "user_project", "quota_project_id"],
    ),
];

const AMAZON: &[Row] = &[
    row("access_key_id", Secret, &["key", "client_kwargs.aws_access_key_id"]),
    row("secret_access_key", Secret, &["secret", "client_kwargs.aws_secret_access_key"]),
    row("region", Open, &["default_region", "region_name", "client_kwargs.region_name"]),
    row("profile", Open, &["profile_name"]),
    row("role_arn", Open, &[]),
    row("role_session_name", Open, &[]),
    row("external_id", Secret, &[]),
    row("web_identity_token_file", Open, &[]),
    row("sts_endpoint", Open, &["endpoint_url_sts"]),
    row("virtual_hosted_style_request", Open, &[]),
    row("addressing_style", Open, &["config_kwargs.s3.addressing_style"]),
    row("use_ssl", Open, &["client_kwargs.use_ssl"]),
    row("unsigned_payload", Open, &[]),
    row("checksum_algorithm", Open, &[]),
    row("copy_if_not_exists", Open, &[]),
    row("conditional_put", Open, &[]),
    row("disable_tagging", Open, &[]),
    row("disable_bulk_delete", Open, &[]),
    row("s3_express", Open, &[]),
    row("imdsv1_fallback", Open, &[]),
    row("metadata_endpoint", Open, &["ec2_metadata_service_endpoint"]),
    row("container_credentials_relative_uri", Open, &[]),
    row("container_credentials_full_uri", Open, &[]),
    row("container_authorization_token_file", Open, &[]),
    row("server_side_encryption", Open, &["s3_additional_kwargs.serversideencryption"]),
    row("sse_kms_key_id", Open, &["s3_additional_kwargs.ssekmskeyid"]),
    row("sse_bucket_key_enabled", Open, &[]),
    row("sse_customer_key_base64", Secret, &[]),
];

const GOOGLE: &[Row] = &[
    row("service_account", Open, &["service_account_path"]),
    row("service_account_key", Secret, &[]),
    row("application_credentials", Open, &[]),
    row("project", Open, &["project_id"]),
    // What of gcsfs's `token` is a word and no secret: see `CloudOptions::set`.
    row("token_source", Open, &[]),
];

const AZURE: &[Row] = &[
    row("account_name", Open, &[]),
    row("account_key", Secret, &["access_key", "master_key", "storage_access_key"]),
    row("account_host", Open, &[]),
    row("sas_token", Secret, &["sas_key"]),
    row("connection_string", Secret, &[]),
    row("credential", Secret, &[]),
    row("credential_type", Open, &[]),
    row("tenant_id", Open, &["authority_id"]),
    row("client_id", Open, &[]),
    row("client_secret", Secret, &[]),
    row("authority_host", Open, &[]),
    row("use_emulator", Open, &[]),
    row("msi_endpoint", Open, &["identity_endpoint"]),
    row("msi_resource_id", Open, &[]),
    row("object_id", Open, &[]),
    row("federated_token_file", Open, &[]),
    row("use_azure_cli", Open, &[]),
    row("encryption_key", Secret, &[]),
];

const WEB: &[Row] = &[
    row("username", Secret, &["client_kwargs.auth.login"]),
    row("password", Secret, &["client_kwargs.auth.password"]),
];

const CONNECTIONS: &[Row] = &[
    row("allow_http", Open, &[]),
    row("allow_invalid_certificates", Open, &[]),
    row("verify", Open, &["client_kwargs.verify", "client_kwargs.ssl"]),
    row("root_certificate", Open, &["ca_bundle", "ca_certificate"]),
    row("connect_timeout", Open, &["config_kwargs.connect_timeout"]),
    row("default_content_type", Open, &[]),
    row("http1_only", Open, &[]),
    row("http2_only", Open, &[]),
    row("http_version", Open, &[]),
    row("pool_idle_timeout", Open, &["idle_timeout"]),
    row("connections_max", Open, &["max_pool_connections", "config_kwargs.max_pool_connections"]),
    // May have user and password.
    row("proxy_url", Secret, &["proxy", "config_kwargs.proxies.https", "config_kwargs.proxies.http"]),
    row("proxy_ca_certificate", Open, &[]),
    row("proxy_excludes", Open, &["no_proxy"]),
    row("user_agent", Open, &["config_kwargs.user_agent"]),
];

/// Settings of swath's own reading, and what others call them.
const READING: &[Row] = &[
    row("concurrency", Open, &[]),
    row("concurrency_min", Open, &[]),
    row("concurrency_max", Open, &["max_concurrency"]),
    row("max_retries", Open, &["retry_config.max_retries", "retries", "config_kwargs.retries.max_attempts"]),
    row("retry_timeout", Open, &["retry_config.retry_timeout", "deadline"]),
    row("backoff_initial", Open, &["retry_config.backoff.init_backoff"]),
    row("backoff_max", Open, &["retry_config.backoff.max_backoff"]),
    row("timeout", Open, &["client_kwargs.timeout", "client_kwargs.timeout.total"]),
    row("read_timeout", Open, &["config_kwargs.read_timeout"]),
    row("stall_timeout", Open, &[]),
    row("hedge", Open, &[]),
];

/// Options of other libraries that change how those buffer, cache and pool, and nothing here: taken, so that one
/// `storage_options` serves all of them.
pub(super) const WITHOUT_EFFECT: &[&str] = &[
    "access",
    "assume_container_exists",
    "asynchronous",
    "block_size",
    "blocksize",
    // The URL says it.
    "bucket",
    "bucket_name",
    "cache_regions",
    "cache_timeout",
    "cache_type",
    "check_connection",
    "consistency",
    "container",
    "container_name",
    "default_block_size",
    "default_cache_type",
    "default_fill_cache",
    "default_location",
    "encoded",
    "fixed_upload_size",
    "http2_keep_alive_interval",
    "http2_keep_alive_timeout",
    "http2_keep_alive_while_idle",
    "http2_max_frame_size",
    "listings_expiry_time",
    "location_mode",
    "max_paths",
    "pool_max_idle_per_host",
    "randomize_addresses",
    // Pauses double.
    "retry_config.backoff.base",
    "same_scheme",
    "simple_links",
    "size_policy",
    "skip_instance_cache",
    "use_listings_cache",
];
