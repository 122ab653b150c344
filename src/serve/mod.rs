//! Serves a bundle over HTTP to several clients at once: a page for typing sentences, and an API.
//!
//! ```text
//! connection ─► guard ─► api, training, views, page, health, evidence ─► changes: one at a time, with the token
//!                          │ requests, checked against the limits
//!                          ▼
//!                        engine: a queue (who is next) and its threads; requests are encoded in batches (compute)
//!                          │ the snapshot that the request pinned
//!                          ▼
//!                        explain
//! ```

mod answers;
mod api;
mod body;
mod cache;
mod changes;
mod client;
mod compute;
mod connections;
#[cfg(feature = "internals")]
pub(crate) mod direct;
mod engine;
// The macro that documents handlers writes out full paths.
#[allow(unused_qualifications)]
mod evidence;
mod guard;
mod health;
mod input;
mod limits;
mod metrics;
mod openapi;
mod page;
mod priority;
mod problem;
mod queue;
mod request;
mod room;
mod rule_request;
mod snapshot;
// The macro that documents handlers writes out full paths.
#[allow(unused_qualifications)]
mod training;
mod views;

pub use limits::Limits;

use crate::device::Device;
use crate::error::{Error, Result};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use changes::Changes;
use citree_index::container::check_mapped;
use client::Client;
use compute::{Compute, QueuedRequest};
use engine::Engine;
use guard::Hosts;
use metrics::Metrics;
use problem::Problem;
use snapshot::{Refreshed, Snapshot, Snapshots};
use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The interval between checks for a newer index, or another bundle in its place.
const LOOK: Duration = Duration::from_secs(1);

/// An event that the operator of a server may want to know about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The server switched to a newer generation of the index, or to another bundle in its place.
    Switched {
        /// The generation of the index.
        generation: u64,
    },
    /// What the folder now holds cannot be opened. The server continues with what it has, and tries again.
    NotSwitched {
        /// The generation of the index.
        generation: u64,
        /// The reason.
        reason: String,
    },
    /// The server is stopping and finishes open requests.
    Stopping,
    /// Some requests did not finish in time.
    CutOff,
}

/// A handle that stops a running server.
#[derive(Clone, Debug)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Stop {
    /// Stops accepting requests and finishes open ones; [`Server::run`] then returns.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

/// A bundle ready to be served.
pub struct Server {
    shared: Shared,
    stop: Stop,
}

/// The state that all requests share.
#[derive(Clone)]
struct App(Arc<Shared>);

struct Shared {
    snapshots: Arc<Snapshots>,
    engine: Engine<Compute>,
    metrics: Arc<Metrics>,
    limits: Limits,
    hosts: Hosts,
    name: String,
    /// `None` if clients cannot change the evidence.
    changes: Option<Changes>,
    stopping: watch::Receiver<bool>,
}

impl App {
    /// The snapshot from which a request is answered, from start to end.
    fn snapshot(&self) -> Arc<Snapshot> {
        self.0.snapshots.snapshot()
    }

    fn limits(&self) -> &Limits {
        &self.0.limits
    }

    fn metrics(&self) -> &Arc<Metrics> {
        &self.0.metrics
    }

    fn hosts(&self) -> &Hosts {
        &self.0.hosts
    }

    fn name(&self) -> &str {
        &self.0.name
    }

    fn allows_changes(&self) -> bool {
        self.0.changes.is_some()
    }

    fn is_stopping(&self) -> bool {
        *self.0.stopping.borrow()
    }

    /// Queues a request of a client and waits for its answer.
    async fn submit(&self, client: Client, request: QueuedRequest) -> std::result::Result<Response, Problem> {
        let reply = self.0.engine.submit(client.address(), request).await??;
        Ok(([(axum::http::header::CONTENT_TYPE, reply.kind)], reply.body).into_response())
    }
}

impl Server {
    /// Opens a bundle and starts the engine's threads. The server accepts requests for the address of `listener` and
    /// for the names in `hosts`.
    pub fn open(
        bundle: &Path,
        listener: &TcpListener,
        hosts: &[String],
        limits: Limits,
        threads: usize,
        device: &Device,
    ) -> Result<Self> {
        let failed = |source: std::io::Error| Error::Serve { message: source.to_string() };
        let snapshots = Arc::new(Snapshots::open(bundle, device)?);
        let metrics = Arc::new(Metrics::new());
        metrics.serving(snapshots.snapshot().generation);
        let engine = Compute::start(&metrics, &limits, threads).map_err(threadless)?;
        let (stop, stopping) = watch::channel(false);
        let hosts = Hosts::new(listener.local_addr().map_err(failed)?.ip(), hosts);
        let name = snapshots.snapshot().explainer.bundle().name();
        let shared = Shared { snapshots, engine, metrics, limits, hosts, name, changes: None, stopping };
        Ok(Self { shared, stop: Stop(Arc::new(stop)) })
    }

    /// Lets clients that have this token change the evidence of the bundle.
    ///
    /// # Errors
    /// If the token is too short, or has characters that a header cannot carry.
    pub fn allow_changes(mut self, token: &str) -> Result<Self> {
        self.shared.snapshots.snapshot().explainer.bundle().evidence().require_writable()?;
        self.shared.changes = Some(Changes::new(token)?);
        Ok(self)
    }

    /// The generation of the index that is served.
    pub fn generation(&self) -> u64 {
        self.shared.snapshots.snapshot().generation
    }

    /// A handle that stops it.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Serves until it is stopped. Calls `on_event` for each event.
    pub fn run(self, listener: TcpListener, on_event: impl Fn(Event) + Send + Sync + 'static) -> Result<()> {
        let failed = |source: std::io::Error| Error::Serve { message: source.to_string() };
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(2).enable_all();
        // tokio panics if the system refuses a thread.
        let refused = |_| threadless("the system refused it");
        let runtime = catch_unwind(AssertUnwindSafe(|| builder.build())).map_err(refused)?.map_err(threadless)?;
        let (app, on_event) = (App(Arc::new(self.shared)), Arc::new(on_event));
        let (ended, end) = mpsc::channel();
        let looking = std::thread::Builder::new().name("citree-look".to_string()).spawn({
            let (app, on_event) = (app.clone(), on_event.clone());
            move || keep_looking(&app, &*on_event, &end)
        });
        let looking = looking.map_err(threadless)?;
        let served: Result<()> = runtime.block_on(async {
            listener.set_nonblocking(true).map_err(failed)?;
            let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
            let mut stopping = app.0.stopping.clone();
            let announced = tokio::spawn({
                let on_event = on_event.clone();
                async move {
                    if stopping.wait_for(|stop| *stop).await.is_ok() {
                        on_event(Event::Stopping);
                    }
                }
            });
            let stopping = app.0.stopping.clone();
            if !connections::serve(listener, router(app.clone()), &app, stopping).await {
                on_event(Event::CutOff);
            }
            let _ = announced.await;
            Ok(())
        });
        drop(ended);
        let _ = looking.join();
        served
    }
}

/// The error of a server that gets no thread.
fn threadless(reason: impl std::fmt::Display) -> Error {
    Error::Serve { message: format!("a thread does not start: {reason}; use fewer with --threads") }
}

/// The OpenAPI document, as served at `/openapi.json`.
pub fn openapi() -> serde_json::Value {
    openapi::document(&routes_of_api().into_openapi())
}

fn routes_of_api() -> OpenApiRouter<App> {
    OpenApiRouter::default()
        .routes(routes!(api::parse))
        .routes(routes!(api::explain))
        .routes(routes!(api::neighbors))
        .routes(routes!(training::edge))
        .routes(routes!(training::sentence))
        .routes(routes!(training::sentences))
        .routes(routes!(evidence::list, evidence::change, evidence::remove))
        .routes(routes!(evidence::undo))
        .routes(routes!(health::livez))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics))
}

fn router(app: App) -> Router {
    let (router, api) = routes_of_api().split_for_parts();
    let document = openapi::document(&api);
    let mut router = router
        .route("/openapi.json", get(move || async move { Json(document) }))
        .route("/view/sentence", post(views::sentence))
        .route("/view/edge", post(views::edge))
        .route("/view/training", get(views::training))
        .route("/view/find", get(views::find));
    for path in page::paths() {
        router = router.route(path, get(page::file));
    }
    router
        .fallback(|| async { Problem::missing("there is no such path; /openapi.json lists all paths") })
        .method_not_allowed_fallback(|| async {
            Problem::new(axum::http::StatusCode::METHOD_NOT_ALLOWED, "see /openapi.json for the methods of each path")
        })
        .layer(axum::middleware::from_fn_with_state(app.clone(), guard::guard))
        .with_state(app)
}

/// Checks for another content of the folder while the server runs. It has a thread from the start, because a server under
/// load may get no other.
fn keep_looking(app: &App, on_event: &impl Fn(Event), end: &mpsc::Receiver<()>) {
    let mut told = app.snapshot();
    let mut damage = None;
    while let Err(mpsc::RecvTimeoutError::Timeout) = end.recv_timeout(LOOK) {
        // Opening it again can succeed, because rows are compared with their checksums only when they are read.
        if let Err(error) = check_mapped()
            && damage.as_ref() != Some(&error.to_string())
        {
            let (generation, reason) = (app.snapshot().generation, error.to_string());
            damage = Some(reason.clone());
            on_event(Event::NotSwitched { generation, reason });
        }
        match catch_unwind(AssertUnwindSafe(|| app.0.snapshots.refresh(Instant::now()))) {
            Ok(Refreshed::Switched(generation)) => app.metrics().serving(generation),
            Ok(Refreshed::Failed { generation, reason }) => on_event(Event::NotSwitched { generation, reason }),
            Ok(Refreshed::Unchanged) | Err(_) => {}
        }
        // A change that a client made switches too.
        let current = app.snapshot();
        if !Arc::ptr_eq(&current, &told) {
            on_event(Event::Switched { generation: current.generation });
            told = current;
        }
    }
}
