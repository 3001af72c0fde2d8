//! Encryption on the way to the database.

use std::{fs, path::Path, sync::Arc};

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore,
    SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::target::{Target, Verify};
use crate::{
    error::{Error, Result, StorageCode, StorageError},
    trust,
};

/// Reads certificates from the disk, so it is made at the first connection.
pub(super) fn connector(target: &Target) -> Result<MakeRustlsConnect> {
    let provider = Arc::new(ring::default_provider());
    let trusted = match (target.verify, &target.root_certificates) {
        (Verify::Nothing, _) => None,
        (_, Some(path)) => Some(Arc::new(roots(path)?)),
        (_, None) => Some(trust::roots().clone()),
    };
    let trusted = trusted
        .map(|roots| WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build())
        .transpose()
        .map_err(|error| unusable(&error))?;
    let verifier = Verifier {
        provider: provider.clone(),
        trusted,
        host: target.verify == Verify::IssuerAndHost,
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// What `sslmode` asks for; rustls by itself knows `verify-full` only.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    trusted: Option<Arc<WebPkiServerVerifier>>,
    host: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let Some(trusted) = &self.trusted else {
            return Ok(ServerCertVerified::assertion());
        };
        match trusted.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
        {
            // The name is looked at last: everything else was right.
            Err(TlsError::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.host => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

fn roots(path: &Path) -> Result<RootCertStore> {
    let unreadable = |problem: &dyn std::fmt::Display| {
        let message = format!(
            "sslrootcert {}: not a file of PEM certificates",
            path.display()
        );
        Error::Storage(StorageError::new(StorageCode::Unavailable, message).because(problem))
    };
    let pem = fs::read(path).map_err(|error| unreadable(&error))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| unreadable(&error))?;
        roots.add(certificate).map_err(|error| unreadable(&error))?;
    }
    Ok(roots)
}

fn unusable(error: &dyn std::fmt::Display) -> Error {
    let message = "the certificates for TLS cannot be used";
    Error::Storage(StorageError::new(StorageCode::Unavailable, message).because(error))
}
