//! Says that the drive is built to be scheduled.

fn main() {
    println!("cargo::rustc-cfg=interleaved");
}
