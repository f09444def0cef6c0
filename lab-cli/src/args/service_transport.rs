//! TLS and HTTP version towards a service of one's own, the same for every command that reaches one.

use std::path::PathBuf;

use clap::Args;

/// How a service of one's own is spoken to.
#[derive(Debug, Clone, Args)]
pub struct ServiceTransport {
    /// Accept any certificate of an https:// service.
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// Certificates of the authorities to trust, in place of the system's (PEM).
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Speak HTTP/2 to the service; without TLS by prior knowledge.
    #[arg(long)]
    pub http2: bool,
}
