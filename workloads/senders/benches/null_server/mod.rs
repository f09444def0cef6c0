use senders::null::Null;

/// Serves until it is killed. Says on standard output where it is.
pub fn serve() {
    super::pin(super::SERVER_CORE);
    super::raise_descriptor_limit();
    let null = Null::bind().expect("a port");
    println!("{}", null.address());
    null.serve().expect("sockets can be watched");
}
