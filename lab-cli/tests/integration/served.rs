//! Services of a test's own, and processes that end with it.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    net::{SocketAddr, TcpListener, TcpStream},
    process::Child,
    thread,
};

/// Does this with each connection, on a thread of its own; on a free port, for the rest of the program.
pub fn at_each(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let serve = serve.clone();
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// A head to its end, byte by byte: what comes behind it stays.
pub fn head(stream: &mut TcpStream) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0; 1]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    String::from_utf8(head).ok()
}

/// A process that ends with the test.
#[derive(Debug)]
pub struct Kept(pub Child);

impl Kept {
    /// The first line on its standard output, which is piped.
    pub fn first_line(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.0.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
        line
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
