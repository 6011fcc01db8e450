//! Commands that put the newest copies over torn pages, for a user to run.

use std::path::Path;

use assay_base::text::shell_word;
use assay_innodb::put_back;
use assay_study::power_cut::Aftermath;

/// The commands for the data directory at `directory`, one for each page that has a whole copy.
pub(super) fn commands(aftermath: &Aftermath, directory: &Path) -> Vec<String> {
    let with_copy = aftermath.pages.iter().filter_map(|page| Some((page, page.newest.as_ref()?)));
    with_copy
        .map(|(page, copy)| {
            let (from, to) = (directory.join(&copy.at.file), directory.join(&page.at.file));
            put_back::command((&from, copy.at.offset), (&to, page.at.offset), aftermath.page_bytes)
        })
        .collect()
}

/// Commands for a disk kept in `kept`: a copy of it is mounted at `assay-kept` in the working
/// directory. `None` if no page can be put back.
pub(super) fn of_disk(aftermath: &Aftermath, kept: &Path, is_drive: bool) -> Option<Vec<String>> {
    const COPY: &str = "assay-kept.img";
    const MOUNT: &str = "assay-kept";
    let pages = commands(aftermath, &Path::new(MOUNT).join("data"));
    if pages.is_empty() {
        return None;
    }
    let media = shell_word(&kept.join("media.img").display().to_string());
    let (mount, unmount) = match is_drive {
        true => (
            format!("mount $(assay drive attach {COPY}) {MOUNT}"),
            format!("umount {MOUNT} && assay drive detach {COPY}"),
        ),
        false => (format!("mount -o loop {COPY} {MOUNT}"), format!("umount {MOUNT}")),
    };
    let before = [format!("cp --sparse=always {media} {COPY}"), format!("mkdir {MOUNT}"), mount];
    Some(before.into_iter().chain(pages).chain([unmount]).collect())
}
