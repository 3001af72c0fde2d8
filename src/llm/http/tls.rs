//! How an HTTPS connection is made.

use std::sync::Arc;

use rustls::ClientConfig;

use crate::trust;

/// A client configuration of its own, so that no process-wide provider is set or needed.
pub(super) fn client_config() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(trust::roots().clone())
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
