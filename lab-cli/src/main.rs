//! `lab`.

fn main() -> std::process::ExitCode {
    lab_cli::main_with(&[])
}
