use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// 100 bytes of body, like the services that load tools are usually compared on.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n\
    0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";

/// Answers every request with the same bytes, as cheaply as a runtime allows; says on standard output where it is.
pub fn serve() {
    super::pin(super::SERVER_CORE);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        println!("{}", listener.local_addr().expect("an address"));
        loop {
            match listener.accept().await {
                Ok((stream, _)) => drop(tokio::spawn(answer(stream))),
                // Out of descriptors: those that hold one must run, or none is ever given back.
                Err(_) => tokio::task::yield_now().await,
            }
        }
    });
}

async fn answer(mut stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut bytes = Vec::with_capacity(1024);
    loop {
        match stream.read_buf(&mut bytes).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        // Clients here send one request at a time, and no body.
        if bytes.ends_with(b"\r\n\r\n") {
            let close = memchr::memmem::find(&bytes, b"Connection: close").is_some();
            bytes.clear();
            if stream.write_all(ANSWER).await.is_err() || close {
                return;
            }
        }
    }
}
