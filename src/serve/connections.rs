//! Accepts connections and bounds each in time: headers, bodies and responses that make no progress end it.

use super::App;
use super::client::{Client, Doing};
use super::engine::Overloaded;
use super::problem::Problem;
use super::room::{Place, Room};
use axum::Router;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_io_timeout::TimeoutStream;

/// The most bytes of the request line and the headers.
const HEADER_BYTES: usize = 16 << 10;
/// The connections that wait to be accepted.
const BACKLOG: i32 = 4096;
/// The time of a connection beyond the limit, from its start to its end.
const BEYOND_TIME: Duration = Duration::from_secs(2);
/// The paths that such a connection gets an answer from.
const HEALTH: [&str; 2] = ["/livez", "/readyz"];

/// Accepts connections until the server is stopped, then waits for open requests. Returns whether all finished in time.
pub(super) async fn serve(listener: TcpListener, router: Router, app: &App, mut stop: watch::Receiver<bool>) -> bool {
    let limits = *app.limits();
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Room::new(&limits));
    let router = TowerToHyperService::new(router);
    // A connection that finds the queue of the system full is tried again only after a second.
    let _ = socket2::SockRef::from(&listener).listen(BACKLOG);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(_) => {
                // Most likely out of file descriptors. Connections that end free some.
                room.shrink();
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let client = Client::new(address.ip());
        let (place, ended) = room.enter(&client);
        if place == Place::Beyond || ended {
            app.metrics().turned_away();
        }
        let (router, own) = (router.clone(), client.clone());
        let service = service_fn(move |request| answer(router.clone(), own.clone(), place, request));
        // `axum::serve` sets no timer, and without one the header timeout never fires.
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header_time)
            .max_buf_size(HEADER_BYTES)
            .keep_alive(place == Place::Within)
            .serve_connection(TokioIo::new(Watched::new(stream, limits.write_time, client.clone())), service);
        let connection = graceful.watch(connection);
        let (metrics, room) = (app.metrics().clone(), room.clone());
        tokio::spawn(async move {
            metrics.connections(room.open() as i64);
            // A failed connection does not affect the others.
            tokio::select! {
                _ = connection => {}
                () = client.ended() => {}
                () = tokio::time::sleep(BEYOND_TIME), if place == Place::Beyond => {}
            }
            room.leave(&client);
            metrics.connections(room.open() as i64);
        });
    }
    drop(listener);
    tokio::time::timeout(limits.grace, graceful.shutdown()).await.is_ok()
}

/// Answers a request, and notes what its connection does.
async fn answer(
    router: TowerToHyperService<Router>,
    client: Client,
    place: Place,
    mut request: hyper::Request<Incoming>,
) -> Result<Response, Infallible> {
    client.does(if request.body().is_end_stream() { Doing::Waiting } else { Doing::Sending });
    let response = if place == Place::Beyond && !HEALTH.contains(&request.uri().path()) {
        // A connection that is closed with unread bytes is reset, and the client may not see the answer.
        while let Some(Ok(_)) = request.body_mut().frame().await {}
        Problem::from(Overloaded).into_response()
    } else {
        request.extensions_mut().insert(client.clone());
        tokio::select! {
            response = router.call(request) => response?,
            () = client.refused() => {
                let mut response = Problem::from(Overloaded).into_response();
                let close = axum::http::HeaderValue::from_static("close");
                response.headers_mut().insert(axum::http::header::CONNECTION, close);
                response
            }
        }
    };
    client.does(Doing::Reading);
    Ok(response)
}

/// A stream that ends if a response makes no progress, and notes when all of one is sent.
struct Watched {
    stream: Pin<Box<TimeoutStream<TcpStream>>>,
    client: Client,
}

impl Watched {
    fn new(stream: TcpStream, write_time: Duration, client: Client) -> Self {
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(write_time));
        Self { stream: Box::pin(stream), client }
    }
}

impl AsyncRead for Watched {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_read(context, into)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Called when nothing is left to write.
        let flushed = self.stream.as_mut().poll_flush(context);
        if let Poll::Ready(Ok(())) = flushed {
            self.client.flushed();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_shutdown(context)
    }
}
