//! Policies that proxies and client libraries run in production, as their programs have them.

mod admission_control;
mod aws_retry;
mod bbr;
mod circuit_breaker;
mod envoy_breakers;
mod envoy_gradient;
mod failsafe;
mod finagle_budget;
mod gradient;
mod grpc_throttle;
mod limit_conn;
mod limit_req;
mod maxconn_queue;
#[cfg(test)]
mod tests;
mod zones;

pub(crate) use admission_control::ADMISSION_CONTROL;
pub(crate) use aws_retry::AWS_RETRY;
pub(crate) use bbr::BBR;
pub(crate) use circuit_breaker::CIRCUIT_BREAKER;
pub(crate) use envoy_breakers::ENVOY_BREAKERS;
pub(crate) use envoy_gradient::ENVOY_GRADIENT;
pub(crate) use failsafe::FAILSAFE;
pub(crate) use finagle_budget::FINAGLE_BUDGET;
pub(crate) use gradient::GRADIENT;
pub(crate) use grpc_throttle::GRPC_THROTTLE;
pub(crate) use limit_conn::LIMIT_CONN;
pub(crate) use limit_req::LIMIT_REQ;
pub(crate) use maxconn_queue::MAXCONN_QUEUE;
