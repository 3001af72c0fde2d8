//! Whom an HTTPS connection trusts.

use std::sync::{Arc, OnceLock};

use rustls::{
    ClientConfig, RootCertStore, pki_types::CertificateDer, pki_types::pem::PemObject as _,
};

/// A client configuration of its own, so that no process-wide provider is set or needed.
///
/// Trusted are the system's roots, Mozilla's (a slim container has no `ca-certificates`), and the file that
/// `NODE_EXTRA_CA_CERTS` names, as Node.js itself does.
pub(super) fn client_config() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots().clone())
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Read once a process: some hundred certificates, tens of milliseconds on a slow disk.
fn roots() -> &'static Arc<RootCertStore> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    ROOTS.get_or_init(|| Arc::new(load()))
}

fn load() -> RootCertStore {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    // A certificate that cannot be read is not trusted; the others still are.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = std::env::var_os("NODE_EXTRA_CA_CERTS")
        && let Ok(extra) = CertificateDer::pem_file_iter(path)
    {
        roots.add_parsable_certificates(extra.flatten());
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_public_roots_are_trusted_whatever_the_system_has() {
        assert!(roots().len() >= webpki_roots::TLS_SERVER_ROOTS.len());
        let config = client_config().unwrap();
        assert_eq!(config.alpn_protocols, [&b"h2"[..], b"http/1.1"]);
    }
}
