//! Reads the Identify data of an NVMe drive, without interpreting them.

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::path::Path;

use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, Updater, ioctl, opcode};

/// Length of the Identify data (NVM Express Base Specification, 5.1.13), in bytes.
pub const IDENTIFY_BYTES: usize = 4096;

/// The Identify data.
pub type Identify = [u8; IDENTIFY_BYTES];

/// The Identify data of a drive: of its controller, and of the namespace behind a block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identified {
    /// The controller's (CNS 01h).
    pub controller: Box<Identify>,
    /// The namespace's (CNS 00h).
    pub namespace: Box<Identify>,
}

/// `struct nvme_passthru_cmd` (`linux/nvme_ioctl.h`).
#[repr(C)]
#[derive(Default)]
struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_3: [u32; 2],
    metadata: u64,
    data: u64,
    metadata_bytes: u32,
    data_bytes: u32,
    words_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// `_IOWR('N', 0x41, struct nvme_admin_cmd)`.
const ADMIN_COMMAND: Opcode = opcode::read_write::<Command>(b'N', 0x41);

/// `_IO('N', 0x40)`: returns the number of the namespace as the call's value.
struct NamespaceNumber;

// SAFETY: the request takes no argument and touches no memory.
#[allow(unsafe_code)]
unsafe impl Ioctl for NamespaceNumber {
    type Output = u32;

    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        opcode::none(b'N', 0x40)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(output: IoctlOutput, _: *mut c_void) -> rustix::io::Result<u32> {
        Ok(output.cast_unsigned())
    }
}

const IDENTIFY: u8 = 0x06;
const OF_NAMESPACE: u32 = 0;
const OF_CONTROLLER: u32 = 1;

/// Asks the drive behind a block device such as `/dev/nvme0n1`.
///
/// # Errors
/// The system's error: `PermissionDenied` without root, `Unsupported` if the device is no NVMe
/// drive.
pub fn identify(device: &Path) -> io::Result<Identified> {
    let file = File::open(device)?;
    // SAFETY: see `NamespaceNumber`.
    #[allow(unsafe_code)]
    let number = unsafe { ioctl(&file, NamespaceNumber) }.map_err(no_drive)?;
    Ok(Identified {
        controller: ask(&file, 0, OF_CONTROLLER)?,
        namespace: ask(&file, number, OF_NAMESPACE)?,
    })
}

fn ask(file: &File, namespace: u32, structure: u32) -> io::Result<Box<Identify>> {
    let mut answer: Box<Identify> = Box::new([0; IDENTIFY_BYTES]);
    let mut command = Command {
        opcode: IDENTIFY,
        namespace,
        data: answer.as_mut_ptr().expose_provenance() as u64,
        data_bytes: IDENTIFY_BYTES as u32,
        ..Command::default()
    };
    command.words_10_15[0] = structure;
    // SAFETY: the kernel reads and writes the command, and writes at most `data_bytes` to `data`,
    // where so many are ours alone until the call has ended.
    #[allow(unsafe_code)]
    unsafe {
        ioctl(file, Updater::<ADMIN_COMMAND, Command>::new(&mut command)).map_err(no_drive)?;
    }
    Ok(answer)
}

fn no_drive(error: rustix::io::Errno) -> io::Error {
    match error {
        rustix::io::Errno::NOTTY | rustix::io::Errno::INVAL => io::ErrorKind::Unsupported.into(),
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_drive_says_so() {
        assert_eq!(size_of::<Command>(), 72, "as the kernel has it");
        let error = identify(Path::new("/dev/null")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported, "{error}");
    }
}
