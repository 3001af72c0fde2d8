//! Whom encrypted connections trust, to a model's provider and to a database alike.

use std::sync::{Arc, OnceLock};

use rustls::{RootCertStore, pki_types::CertificateDer, pki_types::pem::PemObject as _};

/// The system's roots, Mozilla's (a slim container has no `ca-certificates`), and the file that `NODE_EXTRA_CA_CERTS`
/// names, as Node.js itself does. Read once a process: some hundred certificates, tens of milliseconds on a slow disk.
pub(crate) fn roots() -> &'static Arc<RootCertStore> {
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
    use super::roots;

    #[test]
    fn the_public_roots_are_trusted_whatever_the_system_has() {
        assert!(roots().len() >= webpki_roots::TLS_SERVER_ROOTS.len());
    }
}
