//! Archives as makers publish them, damaged ones, and those that would write elsewhere.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzWriter};
use tar::{Builder, EntryType, Header};

use crate::Archive;

/// An entry, with a name that is taken as it is.
fn header(kind: EntryType, name: &str, bytes: usize) -> Header {
    let mut header = Header::new_ustar();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_size(bytes as u64);
    header.set_mode(0o4755);
    header.set_cksum();
    header
}

fn file(builder: &mut Builder<Vec<u8>>, name: &str, content: &[u8]) {
    builder.append(&header(EntryType::Regular, name, content.len()), content).unwrap();
}

fn link(builder: &mut Builder<Vec<u8>>, kind: EntryType, name: &str, target: &str) {
    let mut header = header(kind, name, 0);
    header.as_mut_bytes()[157..157 + target.len()].copy_from_slice(target.as_bytes());
    header.set_cksum();
    builder.append(&header, &[][..]).unwrap();
}

/// The bytes of an archive with what `fill` adds.
fn archive(fill: impl FnOnce(&mut Builder<Vec<u8>>)) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    fill(&mut builder);
    builder.into_inner().unwrap()
}

/// A server's tree, in a directory as makers have it.
fn server() -> Vec<u8> {
    archive(|builder| {
        let directory = header(EntryType::Directory, "mysql-9/bin/", 0);
        builder.append(&directory, &[][..]).unwrap();
        file(builder, "mysql-9/bin/mysqld", b"program");
        file(builder, "mysql-9/lib/libx.so.1.2", b"library");
        link(builder, EntryType::Symlink, "mysql-9/lib/libx.so", "libx.so.1.2");
        link(builder, EntryType::Link, "mysql-9/bin/mysqld-debug", "mysql-9/bin/mysqld");
    })
}

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place { directory: tempfile::tempdir().unwrap() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Unpacks the bytes of an archive into `tree`; returns the error.
    fn unpack(&self, bytes: &[u8]) -> Result<(), String> {
        let _ = fs::remove_dir_all(self.at("tree"));
        fs::write(self.at("archive"), bytes).unwrap();
        let mut archive = Archive::open(&self.at("archive")).unwrap().unwrap();
        archive.unpack(&self.at("tree"), &|_| {}).map_err(|error| format!("{error:#}"))
    }
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut writer = XzWriter::new(Vec::new(), XzOptions::with_preset(6)).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

#[test]
fn a_makers_archive_is_unpacked_however_it_is_compressed() {
    let place = Place::new();
    for bytes in [server(), gzip(&server()), xz(&server())] {
        place.unpack(&bytes).unwrap();
        let read = |name: &str| fs::read(place.at("tree/mysql-9").join(name)).unwrap();
        assert_eq!(read("bin/mysqld-debug"), b"program");
        assert_eq!(read("lib/libx.so"), b"library");
        let mode = place.at("tree/mysql-9/bin/mysqld").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o755, "it runs, and as nobody else");
    }
}

#[test]
fn the_digest_is_that_of_the_file() {
    let place = Place::new();
    fs::write(place.at("archive"), gzip(&server())).unwrap();
    let mut archive = Archive::open(&place.at("archive")).unwrap().unwrap();
    let output = std::process::Command::new("sha256sum").arg(place.at("archive")).output().unwrap();
    let digest = archive.digest().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().starts_with(&digest));
    archive.unpack(&place.at("tree"), &|_| {}).unwrap();
}

#[test]
fn other_files_are_no_archives() {
    let place = Place::new();
    for content in [&b""[..], b"#!/bin/sh\n", b"\x7fELF", &[0; 1024]] {
        fs::write(place.at("file"), content).unwrap();
        assert!(Archive::open(&place.at("file")).unwrap().is_none(), "{content:?}");
    }
    assert!(Archive::open(place.directory.path()).unwrap().is_none());
}

#[test]
fn nothing_is_written_outside() {
    let place = Place::new();
    let outside = |target: &Path| !target.exists();
    let escapes = archive(|builder| file(builder, "mysql-9/../../evil", b"evil"));
    let error = place.unpack(&escapes).unwrap_err();
    assert!(error.contains("`mysql-9/../../evil` in it leads out of the directory"), "{error}");
    let elsewhere = place.at("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let name = elsewhere.to_str().unwrap();
    for target in [name, "../../elsewhere"] {
        let through = archive(|builder| {
            file(builder, "mysql-9/first", b"");
            link(builder, EntryType::Symlink, "mysql-9/link", target);
            file(builder, "mysql-9/link/evil", b"evil");
        });
        let error = place.unpack(&through).unwrap_err();
        assert!(error.contains("`mysql-9/link/evil` in it cannot be written"), "{error}");
    }
    assert!(outside(&place.at("evil")) && outside(&elsewhere.join("evil")));
    // An absolute path is taken as one below the directory, as tar(1) does.
    let absolute = archive(|builder| file(builder, "/absolute", b"inside"));
    place.unpack(&absolute).unwrap();
    assert_eq!(fs::read(place.at("tree/absolute")).unwrap(), b"inside");
}

#[test]
fn no_link_leads_out_and_no_device_is_made() {
    let place = Place::new();
    for target in ["/etc/passwd", "../../archive"] {
        let leads = archive(|builder| {
            file(builder, "mysql-9/first", b"");
            link(builder, EntryType::Symlink, "mysql-9/x", target);
        });
        let error = place.unpack(&leads).unwrap_err();
        assert!(error.contains("the link `mysql-9/x` in it leads out"), "{error}");
    }
    let hard = archive(|builder| link(builder, EntryType::Link, "x", "../archive"));
    let error = place.unpack(&hard).unwrap_err();
    assert!(error.contains("`x` in it cannot be written"), "{error}");
    for kind in [EntryType::Char, EntryType::Fifo] {
        let device = archive(|builder| link(builder, kind, "device", ""));
        let error = place.unpack(&device).unwrap_err();
        assert!(error.contains("neither a file, a directory nor a link"), "{error}");
    }
}

#[test]
fn a_damaged_archive_is_an_error_that_names_it() {
    let place = Place::new();
    for whole in [gzip(&server()), xz(&server())] {
        for part in [&whole[..whole.len() / 2], &[&whole[..40], &[0xff; 40], &whole[80..]].concat()]
        {
            let error = place.unpack(part).unwrap_err();
            assert!(error.starts_with(place.at("archive").to_str().unwrap()), "{error}");
            assert!(error.contains("cannot be unpacked: "), "{error}");
        }
    }
    let error = place.unpack(&gzip(b"a text")).unwrap_err();
    assert!(error.contains("cannot be unpacked: "), "{error}");
}
