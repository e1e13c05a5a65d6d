//! The protocol over HTTP: on the loopback, for those who have the token.
//!
//! The token is compared in a time that does not depend on where it differs. A page of a stranger's name (DNS rebinding) and
//! a browser's own requests are refused.

use std::{
    convert::Infallible, fs, io, net::SocketAddr, os::unix::fs::PermissionsExt, path::Path,
    sync::Arc, time::Duration,
};

use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::{
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use linux::file;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task,
};

use super::{LONGEST_MESSAGE, server::Server};
use crate::{failure::Failure, output};

/// A shorter token can be guessed, bytes.
const SHORTEST: usize = 16;
/// A token's file has no more, bytes.
const LARGEST_FILE: u64 = 4096;
/// Connections at a time.
const MOST: usize = 64;
/// Within this a client has sent the head of its request.
const HEAD: Duration = Duration::from_secs(10);

type Answer = Response<BoxBody<Bytes, Infallible>>;
type Service = StreamableHttpService<Server, LocalSessionManager>;

/// An address that is listened on, and the token that opens it.
#[derive(Debug)]
pub(super) struct Door {
    listener: std::net::TcpListener,
    token: Arc<[u8]>,
}

impl Door {
    /// Listens on an address of the loopback.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] for another address or a token that is none; [`Failure::Environment`] where it is taken.
    pub(super) fn open(address: SocketAddr, token: Option<&Path>) -> Result<Self, Failure> {
        if !address.ip().is_loopback() {
            let why = "is no address of the loopback; name one, as 127.0.0.1:7337, and lead to it by ssh -L";
            return Err(Failure::Usage(format!("--http {address}: {why}")));
        }
        let token =
            token.ok_or_else(|| Failure::Usage("--http needs --token-file FILE".to_owned()))?;
        let token = read_token(token)?;
        let taken = |error| {
            Failure::Environment(format!("cannot listen on {address}: {error}; name another port"))
        };
        let listener = std::net::TcpListener::bind(address).map_err(taken)?;
        listener.set_nonblocking(true).map_err(taken)?;
        Ok(Self { listener, token })
    }

    /// Serves everybody who comes, until it is dropped.
    ///
    /// # Errors
    ///
    /// The system's.
    pub(super) async fn serve(self, server: Server) -> io::Result<()> {
        let listener = TcpListener::from_std(self.listener)?;
        let address = listener.local_addr()?;
        output::note(format_args!("headroom: serving http://{address}/mcp"));
        let config = StreamableHttpServerConfig::default()
            .enforce_origin_validation()
            .with_max_request_body_bytes(LONGEST_MESSAGE);
        let service = Service::new(move || Ok(server.clone()), Arc::default(), config);
        let places = Arc::new(Semaphore::new(MOST));
        loop {
            let place = Arc::clone(&places).acquire_owned().await.map_err(io::Error::other)?;
            // Whoever leaves before they are greeted is no fault of ours.
            let Ok((stream, _)) = listener.accept().await else { continue };
            let (service, token) = (service.clone(), Arc::clone(&self.token));
            task::spawn(async move {
                converse(stream, service, token).await;
                drop(place);
            });
        }
    }
}

/// One client's requests.
async fn converse(stream: TcpStream, service: Service, token: Arc<[u8]>) {
    let answer = service_fn(move |request: Request<Incoming>| {
        let (service, token) = (service.clone(), Arc::clone(&token));
        async move { Ok::<_, Infallible>(answered(request, &service, &token).await) }
    });
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD);
    // A client that breaks off is no fault of ours.
    let _ = server.serve_connection(TokioIo::new(stream), answer).await;
}

async fn answered(request: Request<Incoming>, service: &Service, token: &[u8]) -> Answer {
    if !has_token(request.headers(), token) {
        let mut answer = said(
            StatusCode::UNAUTHORIZED,
            "send the server's token: Authorization: Bearer TOKEN\n",
        );
        let scheme = header::HeaderValue::from_static("Bearer");
        answer.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        return answer;
    }
    if request.uri().path() != "/mcp" {
        return said(StatusCode::NOT_FOUND, "only /mcp is served\n");
    }
    service.handle(request).await
}

fn said(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *answer.status_mut() = status;
    answer
}

fn has_token(headers: &HeaderMap, token: &[u8]) -> bool {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(given), None) = (given.next(), given.next()) else { return false };
    let bearer = given.as_bytes().split_at_checked("Bearer ".len());
    bearer.is_some_and(|(scheme, given)| {
        scheme.eq_ignore_ascii_case(b"Bearer ") && is_same(given, token)
    })
}

/// Compares every byte, wherever the first difference is. How long the token is may be learnt.
fn is_same(given: &[u8], token: &[u8]) -> bool {
    let differ = given.iter().zip(token).fold(0, |differ, (one, other)| differ | (one ^ other));
    given.len() == token.len() && std::hint::black_box(differ) == 0
}

fn read_token(path: &Path) -> Result<Arc<[u8]>, Failure> {
    let name = path.display();
    let cannot = |error: io::Error| {
        Failure::Usage(format!(
            "cannot read the token in {name}: {error}; make one: (umask 77; openssl rand -hex 32 >{name})"
        ))
    };
    let text = file::text(path, LARGEST_FILE).map_err(cannot)?;
    if fs::metadata(path).map_err(cannot)?.permissions().mode() & 0o077 != 0 {
        let why =
            format!("others may read the token in {name}; take that away with `chmod 600 {name}`");
        return Err(Failure::Usage(why));
    }
    let token = text.lines().next().unwrap_or_default().trim();
    if token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::Usage(format!(
            "the token in {name} is no word of at least {SHORTEST} letters and digits; make one with `openssl rand -hex 32`"
        )));
    }
    Ok(token.as_bytes().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn only_the_whole_token_and_only_one_opens() {
        let token = b"0123456789abcdef";
        let opens = |values: &[&str]| has_token(&headers(values), token);
        assert!(opens(&["Bearer 0123456789abcdef"]) && opens(&["bearer 0123456789abcdef"]));
        let others = [
            "",
            "Bearer ",
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdeF",
            "Basic 0123456789abcdef",
        ];
        assert!(others.iter().all(|other| !opens(&[other])));
        assert!(!opens(&[]) && !opens(&["Bearer 0123456789abcdef", "Bearer x"]));
    }

    #[test]
    fn a_token_is_long_enough_and_its_owners_alone() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("token");
        fs::write(&file, "0123456789abcdef\n").unwrap();
        let mode = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        mode(0o644);
        assert!(read_token(&file).unwrap_err().sentence().contains("chmod 600"));
        mode(0o600);
        assert_eq!(&*read_token(&file).unwrap(), b"0123456789abcdef");
        fs::write(&file, "short\n").unwrap();
        assert!(read_token(&file).unwrap_err().sentence().contains("at least 16"));
        let none = place.path().join("none");
        assert!(read_token(&none).unwrap_err().sentence().contains("make one"));
    }

    #[test]
    fn an_address_that_others_reach_is_refused() {
        for address in ["0.0.0.0:0", "192.0.2.1:80", "[::]:0"] {
            let refused = Door::open(address.parse().unwrap(), None).unwrap_err();
            assert!(refused.sentence().contains("no address of the loopback"), "{address}");
        }
    }
}
