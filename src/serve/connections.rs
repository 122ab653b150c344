//! Accepts connections and bounds each in time: headers, bodies and responses that make no progress end it.

use super::App;
use super::problem::RETRY_SECONDS;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_io_timeout::TimeoutStream;

/// The most bytes of the request line and the headers.
const HEADER_BYTES: usize = 16 << 10;

/// Accepts connections until the server is stopped, then waits for open requests. Returns whether all finished in time.
pub(super) async fn serve(listener: TcpListener, router: Router, app: &App, mut stop: watch::Receiver<bool>) -> bool {
    let limits = *app.limits();
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(limits.connections));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(_) => {
                // Most likely out of file descriptors. Connections that end free some.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let Ok(place) = room.clone().try_acquire_owned() else {
            app.metrics().turned_away();
            tokio::spawn(turn_away(stream));
            continue;
        };
        let mut timed = TimeoutStream::new(stream);
        timed.set_write_timeout(Some(limits.write_time));
        let service = TowerToHyperService::new(router.clone());
        // `axum::serve` sets no timer, and without one the header timeout never fires.
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header_time)
            .max_buf_size(HEADER_BYTES)
            .serve_connection(TokioIo::new(Box::pin(timed)), service);
        let connection = graceful.watch(connection);
        let (metrics, room, most) = (app.metrics().clone(), room.clone(), limits.connections);
        let open = move || (most - room.available_permits()) as i64;
        tokio::spawn(async move {
            metrics.connections(open());
            // A failed connection does not affect the others.
            let _ = connection.await;
            drop(place);
            metrics.connections(open());
        });
    }
    drop(listener);
    tokio::time::timeout(limits.grace, graceful.shutdown()).await.is_ok()
}

/// Sends a 503 without reading the request.
async fn turn_away(mut stream: TcpStream) {
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\nretry-after: {RETRY_SECONDS}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(answer.as_bytes())).await;
}
