//! Migrations are compiled into the program: build again when one changes.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
