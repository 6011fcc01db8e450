//! Rebuilding.
use crate::engine::Drive;
use crate::format::DriveError;
impl Drive {
    pub(crate) fn rebuild(self) -> Result<Drive, DriveError> {
        Err(DriveError::Damaged)
    }
}
