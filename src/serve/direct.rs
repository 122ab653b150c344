//! Answers requests without a network, for the fuzz targets: everything behind a connection.

use super::{App, Server, router};
use crate::error::{Error, Result};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

/// A server without connections.
pub struct Direct {
    runtime: tokio::runtime::Runtime,
    service: TowerToHyperService<Router>,
}

impl Direct {
    /// Takes the place of [`Server::run`].
    pub fn new(server: Server) -> Result<Self> {
        let failed = |source: std::io::Error| Error::Serve { message: source.to_string() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(failed)?;
        Ok(Self { runtime, service: TowerToHyperService::new(router(App(std::sync::Arc::new(server.shared)))) })
    }

    /// The status and the body of the answer. `None` if no such request can come over a connection.
    pub fn answer(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Option<(u16, Vec<u8>)> {
        let request = Request::builder().method(method).uri(path);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = request.body(Body::from(body.to_vec())).ok()?;
        self.runtime.block_on(async {
            let answer = self.service.call(request).await.ok()?;
            let status = answer.status().as_u16();
            Some((status, to_bytes(answer.into_body(), usize::MAX).await.ok()?.to_vec()))
        })
    }
}
