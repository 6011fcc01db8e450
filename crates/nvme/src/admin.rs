//! Admin commands that read a drive: the same questions to a controller over TCP and to one of this
//! machine.

use std::io;

use thiserror::Error;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::wire::{
    AdminOpcode, ControllerData, IDENTIFY_BYTES, LogPage, NamespaceData, NvmeStatus, OcpSmart,
    Selector, Sgl, Smart, Submission,
};

/// The reason for which an admin command has no answer.
#[derive(Debug, Error)]
pub enum AdminError {
    /// The controller refused it.
    #[error("the drive answers: {0}")]
    Refused(NvmeStatus),
    /// The command did not get there, or its answer not back.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The answer is not of the layout that the specification gives.
    #[error("the drive's answer has not the layout of {0}")]
    Layout(&'static str),
}

/// A controller that answers admin commands.
pub trait Admin {
    /// Sends a command that only reads, and fills `data` with its answer. The implementation sets
    /// the command's identifier and the place of its data.
    ///
    /// # Errors
    /// [`AdminError`].
    fn read(&self, command: Submission, data: &mut [u8]) -> Result<u64, AdminError>;

    /// Identify data of the controller.
    ///
    /// # Errors
    /// [`AdminError`].
    fn controller(&self) -> Result<Box<ControllerData>, AdminError> {
        identify(self, Selector::Controller, 0)
    }

    /// Identify data of a namespace.
    ///
    /// # Errors
    /// [`AdminError`].
    fn namespace(&self, number: u32) -> Result<Box<NamespaceData>, AdminError> {
        identify(self, Selector::Namespace, number)
    }

    /// The SMART page of a namespace, or of the whole drive with FFFFFFFFh.
    ///
    /// # Errors
    /// [`AdminError`].
    fn smart(&self, namespace: u32) -> Result<Smart, AdminError> {
        log_page(self, LogPage::Smart, namespace)
    }

    /// The OCP page.
    ///
    /// # Errors
    /// [`AdminError::Layout`] if the page is another one under the same number.
    fn ocp_smart(&self, namespace: u32) -> Result<OcpSmart, AdminError> {
        let page: OcpSmart = log_page(self, LogPage::OcpSmart, namespace)?;
        page.is_valid().then_some(page).ok_or(AdminError::Layout("OCP's log page C0h"))
    }
}

fn identify<T>(
    admin: &(impl Admin + ?Sized),
    of: Selector,
    namespace: u32,
) -> Result<Box<T>, AdminError>
where
    T: FromBytes + IntoBytes + KnownLayout + Immutable + Unaligned,
{
    let mut data = Box::new(T::new_zeroed());
    debug_assert_eq!(size_of::<T>(), IDENTIFY_BYTES);
    let command = Submission::new(AdminOpcode::Identify as u8, namespace)
        .with_word(10, of as u32)
        .with_data(Sgl::transport(IDENTIFY_BYTES as u32));
    admin.read(command, data.as_mut_bytes())?;
    Ok(data)
}

fn log_page<T>(
    admin: &(impl Admin + ?Sized),
    page: LogPage,
    namespace: u32,
) -> Result<T, AdminError>
where
    T: FromBytes + IntoBytes + KnownLayout + Immutable + Unaligned,
{
    let mut data = T::new_zeroed();
    let length = size_of::<T>() as u32;
    let command = page.get(namespace, 0, length).with_data(Sgl::transport(length));
    admin.read(command, data.as_mut_bytes())?;
    Ok(data)
}
