//! Hides secrets in this process's command line.
//!
//! `/proc/PID/cmdline` is readable by everyone; it shows the memory in which the kernel placed the
//! arguments. MySQL's own clients overwrite their passwords there; so does this module.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

/// Positions of the start and end addresses of the arguments among the fields after the name
/// (`proc(5)`, `/proc/PID/stat`, 48 and 49).
const ARG_START: usize = 45;
const ARG_END: usize = 46;

/// Overwrites the text after each of the names with `x`, in every argument that begins so; after a
/// name without its `=` as an argument of its own, the next argument.
///
/// # Errors
/// The system's error; then the arguments stay readable.
pub fn hide_after(names: &[&str]) -> io::Result<()> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let field =
        |place| fields.split(' ').nth(place).and_then(|text: &str| text.parse::<u64>().ok());
    let (Some(start), Some(end)) = (field(ARG_START), field(ARG_END)) else {
        return Err(io::Error::other("the kernel does not tell where the command line is"));
    };
    let memory = OpenOptions::new().read(true).write(true).open("/proc/self/mem")?;
    hide_in(&memory, start, end.saturating_sub(start), names)
}

fn hide_in(memory: &File, start: u64, length: u64, names: &[&str]) -> io::Result<()> {
    let mut words = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    memory.read_exact_at(&mut words, start)?;
    let (mut at, mut is_next) = (0, false);
    for word in words.split(|byte| *byte == 0) {
        let found = names.iter().find(|name| word.starts_with(name.as_bytes()));
        let shown = if is_next { Some(0) } else { found.map(|name| name.len()) };
        if let Some(shown) = shown {
            let hidden = vec![b'x'; word.len() - shown];
            memory.write_all_at(&hidden, start + (at + shown) as u64)?;
        }
        is_next = names.iter().any(|name| name.strip_suffix('=').map(str::as_bytes) == Some(word));
        at += word.len() + 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_name_is_gone_and_nothing_else() {
        let file = tempfile::tempfile().unwrap();
        let said = b"..assay\0--mysql-password=s3cret\0db.passwd=\0--mysql-password\0p w\0run\0";
        file.write_all_at(said, 0).unwrap();
        let names = ["--mysql-password=", "db.passwd="];
        hide_in(&file, 2, said.len() as u64 - 2, &names).unwrap();
        let mut all = vec![0; said.len()];
        file.read_exact_at(&mut all, 0).unwrap();
        let left = b"..assay\0--mysql-password=xxxxxx\0db.passwd=\0--mysql-password\0xxx\0run\0";
        assert_eq!(all, left);
    }
}
