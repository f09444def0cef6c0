//! `lab serve`: the target alone.

use std::io::{self, Read, Write};

use target_app::{control::wire::Ready, serve::serve_blocking, spec::TargetSpec};

use crate::{
    args,
    exit::{End, Failure, Outcome},
};

pub fn serve(args: &args::Serve) -> Outcome {
    if args.spec_stdin {
        return for_the_lab();
    }
    Err(Failure::because("not here yet"))
}

/// For `lab run`: a resolved target in, one ready line out.
fn for_the_lab() -> Outcome {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let spec: TargetSpec = serde_json::from_str(&text).map_err(|error| Failure::usage(format!("target: {error}")))?;
    serve_blocking(spec, |ready| tell(&ready)).map_err(Failure::because)?;
    Ok(End::Done)
}

fn tell(ready: &Ready) {
    let mut out = io::stdout().lock();
    // A lab that is gone takes this process with it; nobody is left to read.
    let line = serde_json::to_string(ready).unwrap_or_default();
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}
