//! What the transport takes from the environment, in processes that have it: TLS roots and proxies.

use std::{path::Path, sync::Arc};

use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    process::Command,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::*;

const INSIDE: &str = "STELLO_TEST_INSIDE";

/// Runs the calling test once more in a process with `variables`; what `argument` says is told to it.
async fn outside(test: &str, argument: &str, variables: &[(&str, &str)]) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            &format!("llm::tests::environment::{test}"),
            "--nocapture",
        ])
        .env(INSIDE, argument)
        .envs(variables.iter().copied())
        .output()
        .await
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && shown.contains("1 passed"),
        "{shown}"
    );
}

fn inside() -> Option<String> {
    std::env::var(INSIDE).ok()
}

/// A certificate for `localhost` and its key as files in `folder`.
fn certificate(folder: &Path) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(folder.join("cert.pem"), made.cert.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
}

async fn accept(listener: &TcpListener, folder: &Path, protocol: &str) -> TlsStream<TcpStream> {
    let cert = CertificateDer::from_pem_file(folder.join("cert.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert], key)
        .unwrap();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let (socket, _) = listener.accept().await.unwrap();
    TlsAcceptor::from(Arc::new(config))
        .accept(socket)
        .await
        .unwrap()
}

#[tokio::test]
async fn https_over_http_1_and_2_trusts_the_extra_certificates() {
    let Some(folder) = inside() else {
        let folder = tempfile::tempdir().unwrap();
        certificate(folder.path());
        let file = folder.path().join("cert.pem");
        let variables = [
            ("NODE_EXTRA_CA_CERTS", file.to_str().unwrap()),
            ("NO_PROXY", "localhost"),
        ];
        let test = "https_over_http_1_and_2_trusts_the_extra_certificates";
        return outside(test, folder.path().to_str().unwrap(), &variables).await;
    };
    let folder = Path::new(&folder);
    let listener = TcpListener::bind("localhost:0").await.unwrap();
    let base = format!(
        "https://localhost:{}",
        listener.local_addr().unwrap().port()
    );
    let http = Http::new();
    let messages = hello();
    let body = answer(O, "ok");

    let adapter = adapter(O, &base, r#","maxRetries":0"#, &http);
    let over_1 = async {
        let mut stream = accept(&listener, folder, "http/1.1").await;
        let mut request = [0; 1];
        stream.read_exact(&mut request).await.unwrap();
        let head = format!(
            "HTTP/1.1 200 X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
    };
    let (completion, ()) = tokio::join!(adapter.complete(ask(&messages)), over_1);
    assert_eq!(completion.unwrap().content, Some(Text::from("ok")));

    let events: String = o_text()
        .iter()
        .fold(String::new(), |all, data| all + "data: " + data + "\n\n");
    let over_2 = async {
        let mut connection = h2::server::handshake(accept(&listener, folder, "h2").await)
            .await
            .unwrap();
        // One connection for both calls.
        for body in [body.clone(), events] {
            let (request, mut respond) = connection.accept().await.unwrap().unwrap();
            assert_eq!(request.version(), http::Version::HTTP_2);
            let response = http::Response::builder().body(()).unwrap();
            let mut send = respond.send_response(response, false).unwrap();
            send.send_data(body.into_bytes().into(), true).unwrap();
        }
        // The answers leave while more is waited for.
        let more = connection.accept().await;
        panic!("{:?}", more.map(|request| request.is_ok()));
    };
    let calls = async {
        let completion = adapter.complete(ask(&messages)).await.unwrap();
        let mut text = String::new();
        let mut sink = |chunk: Chunk| text.push_str(chunk.delta.escaped());
        adapter.stream(ask(&messages), &mut sink).await.unwrap();
        (completion.content, text)
    };
    let (content, text) = tokio::select! {
        answers = calls => answers,
        () = over_2 => unreachable!(),
        () = tokio::time::sleep(std::time::Duration::from_secs(10)) => panic!("no answer"),
    };
    assert_eq!((content, text.as_str()), (Some(Text::from("ok")), T));
}

#[tokio::test]
async fn an_unknown_certificate_is_a_connection_error() {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path());
    let listener = TcpListener::bind("localhost:0").await.unwrap();
    let base = format!(
        "https://localhost:{}",
        listener.local_addr().unwrap().port()
    );
    let path = folder.path().to_owned();
    let server = tokio::spawn(async move { accept(&listener, &path, "h2").await });
    let adapter = adapter(O, &base, r#","maxRetries":0"#, &Http::new());
    let error = adapter.complete(ask(&hello())).await.unwrap_err();
    assert_eq!(error.code, "connection");
    assert!(
        error.cause.unwrap().contains("certificate"),
        "{}",
        error.message
    );
    assert!(server.await.is_err());
}

#[tokio::test]
async fn proxies_of_the_environment_are_used_and_exceptions_kept() {
    let ok = || vec![Response::json(200, &answer(O, "ok"))];
    let Some(direct) = inside() else {
        let (proxy, direct) = (Player::start(ok()).await, Player::start(ok()).await);
        let url = proxy.base();
        let variables = [("HTTP_PROXY", url.as_str()), ("NO_PROXY", "127.0.0.1")];
        let test = "proxies_of_the_environment_are_used_and_exceptions_kept";
        outside(test, &direct.base(), &variables).await;
        let seen = proxy.requests();
        assert_eq!((seen.len(), direct.requests().len()), (1, 1));
        assert!(
            seen[0]
                .head
                .starts_with("POST http://provider.invalid/v1/chat/completions "),
            "{}",
            seen[0].head
        );
        return;
    };
    let http = Http::new();
    for base in ["http://provider.invalid/v1", &direct] {
        adapter(O, base, "", &http)
            .complete(ask(&hello()))
            .await
            .unwrap();
    }
}
