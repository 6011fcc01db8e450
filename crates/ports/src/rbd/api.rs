//! The functions of librados and librbd in use, loaded once until the process ends.
//!
//! Their declarations are those of Ceph's `rados/librados.h` and `rbd/librbd.h`, stable since Ceph
//! 15, in which the last of them (`rbd_aio_write_zeroes`) appeared.

use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};
use serde::{Deserialize, Serialize};

use super::error::RbdError;

/// `rados_t`.
pub(super) type Rados = *mut c_void;
/// `rados_ioctx_t`.
pub(super) type IoContext = *mut c_void;
/// `rbd_image_t`.
pub(super) type Image = *mut c_void;
/// `rbd_completion_t`.
pub(super) type Completion = *mut c_void;
/// `rbd_image_options_t`.
pub(super) type ImageOptions = *mut c_void;

/// The location of the libraries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Libraries {
    /// Found by the system's loader.
    Installed,
    /// In a tree of unpacked packages.
    Unpacked {
        /// Path of `librados.so.2`.
        librados: PathBuf,
        /// Path of `librbd.so.1`.
        librbd: PathBuf,
        /// All libraries of the tree that the two need.
        needed: Vec<PathBuf>,
    },
}

impl Libraries {
    /// The installed libraries; `None` if the system's loader finds none.
    #[must_use]
    pub fn installed() -> Option<Libraries> {
        let is_there = |name| open_library(name).map(std::mem::forget).is_ok();
        (is_there("librados.so.2") && is_there("librbd.so.1")).then_some(Libraries::Installed)
    }
}

/// `rbd_image_watcher_t`: a client that has the image open.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Watcher {
    pub(super) address: *mut c_char,
    pub(super) id: i64,
    /// Number of the watch.
    pub(super) cookie: u64,
}

/// A command is sent as an array of lines; here always one.
type Lines = *const *const c_char;

macro_rules! functions {
    ($($library:ident { $( $name:ident($($argument:ty),*) $(-> $answer:ty)?; )* })*) => {
        pub(super) struct Api {
            $( $( pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $answer)?, )* )*
        }

        impl Api {
            fn find($( $library: &Library ),*) -> Result<Api, libloading::Error> {
                // SAFETY: the declarations below are those of the libraries' headers, and the
                // libraries are never unloaded, so the pointers stay good.
                #[allow(unsafe_code)]
                unsafe {
                    Ok(Api {
                        $( $(
                            $name: *$library.get(concat!(stringify!($name), "\0").as_bytes())?,
                        )* )*
                    })
                }
            }
        }
    };
}

functions! {
    librados {
        rados_create2(*mut Rados, *const c_char, *const c_char, u64) -> c_int;
        rados_conf_read_file(Rados, *const c_char) -> c_int;
        rados_conf_set(Rados, *const c_char, *const c_char) -> c_int;
        rados_connect(Rados) -> c_int;
        rados_shutdown(Rados);
        rados_get_instance_id(Rados) -> u64;
        rados_mon_command(Rados, Lines, usize, *const c_char, usize, *mut *mut c_char, *mut usize,
            *mut *mut c_char, *mut usize) -> c_int;
        rados_mgr_command(Rados, Lines, usize, *const c_char, usize, *mut *mut c_char, *mut usize,
            *mut *mut c_char, *mut usize) -> c_int;
        rados_buffer_free(*mut c_char);
        rados_ioctx_create(Rados, *const c_char, *mut IoContext) -> c_int;
        rados_ioctx_destroy(IoContext);
        rados_set_pool_full_try(IoContext);
    }
    librbd {
        rbd_create4(IoContext, *const c_char, u64, ImageOptions) -> c_int;
        rbd_image_options_create(*mut ImageOptions);
        rbd_image_options_destroy(ImageOptions);
        rbd_image_options_set_string(ImageOptions, c_int, *const c_char) -> c_int;
        rbd_remove(IoContext, *const c_char) -> c_int;
        rbd_pool_metadata_set(IoContext, *const c_char, *const c_char) -> c_int;
        rbd_pool_metadata_get(IoContext, *const c_char, *mut c_char, *mut usize) -> c_int;
        rbd_open(IoContext, *const c_char, *mut Image, *const c_char) -> c_int;
        rbd_open_read_only(IoContext, *const c_char, *mut Image, *const c_char) -> c_int;
        rbd_close(Image) -> c_int;
        rbd_get_size(Image, *mut u64) -> c_int;
        rbd_get_id(Image, *mut c_char, usize) -> c_int;
        rbd_watchers_list(Image, *mut Watcher, *mut usize) -> c_int;
        rbd_watchers_list_cleanup(*mut Watcher, usize);
        rbd_lock_acquire(Image, c_int) -> c_int;
        rbd_lock_release(Image) -> c_int;
        rbd_lock_get_owners(Image, *mut c_int, *mut *mut c_char, *mut usize) -> c_int;
        rbd_lock_get_owners_cleanup(*mut *mut c_char, usize);
        rbd_lock_break(Image, c_int, *const c_char) -> c_int;
        rbd_aio_create_completion(*mut c_void, *const c_void, *mut Completion) -> c_int;
        rbd_aio_wait_for_complete(Completion) -> c_int;
        rbd_aio_get_return_value(Completion) -> isize;
        rbd_aio_release(Completion);
        rbd_aio_read(Image, u64, usize, *mut c_char, Completion) -> c_int;
        rbd_aio_write(Image, u64, usize, *const c_char, Completion) -> c_int;
        rbd_aio_flush(Image, Completion) -> c_int;
        rbd_aio_discard(Image, u64, u64, Completion) -> c_int;
        rbd_aio_write_zeroes(Image, u64, usize, Completion, c_int, c_int) -> c_int;
    }
}

/// The functions, loaded by the first caller.
pub(super) fn load(libraries: &Libraries) -> Result<&'static Api, RbdError> {
    static API: OnceLock<Api> = OnceLock::new();
    if let Some(api) = API.get() {
        return Ok(api);
    }
    let loaded = open(libraries).map_err(|error| RbdError::NoLibrary { reason: error.to_string() });
    let api = loaded?;
    Ok(API.get_or_init(|| api))
}

fn open(libraries: &Libraries) -> Result<Api, libloading::Error> {
    let (librados, librbd) = match libraries {
        Libraries::Installed => (open_library("librados.so.2")?, open_library("librbd.so.1")?),
        Libraries::Unpacked { librados, librbd, needed } => {
            open_needed(needed);
            (open_library(librados)?, open_library(librbd)?)
        }
    };
    let api = Api::find(&librados, &librbd);
    // Never unloaded: their threads and exit handlers remain.
    std::mem::forget((librados, librbd));
    api
}

/// Loads the needed libraries that are not loaded yet, so that the loader, which does not search
/// the tree, finds them by name. A library with dependencies is loaded in a later pass than those.
/// A library that fails to load is reported by the loader of its dependent.
fn open_needed(needed: &[PathBuf]) {
    let mut left: Vec<&PathBuf> = needed.iter().filter(|path| !is_loaded(path)).collect();
    loop {
        let before = left.len();
        left.retain(|path| match is_loaded(path) {
            true => false,
            false => open_library(path).map(std::mem::forget).is_err(),
        });
        if left.len() == before {
            break;
        }
    }
}

/// The C library's parts must be those of the running process: there must not be two of any.
const C_LIBRARY: [&str; 8] = [
    "libanl.so.1",
    "libc.so.6",
    "libdl.so.2",
    "libm.so.6",
    "libpthread.so.0",
    "libresolv.so.2",
    "librt.so.1",
    "libutil.so.1",
];

/// Returns true if a library of that name is loaded, or if the system's is to be used.
fn is_loaded(path: &Path) -> bool {
    /// `RTLD_NOLOAD` (`dlfcn.h` of the GNU C library).
    const RTLD_NOLOAD: c_int = 4;
    let name = path.file_name().unwrap_or_default();
    let is_system = C_LIBRARY.iter().any(|system| name == *system)
        || name.as_encoded_bytes().starts_with(b"ld-linux");
    // SAFETY: nothing is loaded, so no code of a library runs.
    #[allow(unsafe_code)]
    let found = || unsafe { Library::open(Some(name), RTLD_LAZY | RTLD_NOLOAD) };
    is_system || found().is_ok()
}

fn open_library(name: impl AsRef<OsStr>) -> Result<Library, libloading::Error> {
    // SAFETY: Ceph's libraries and what they need are made to be loaded into any program; their
    // constructors only set up what is their own.
    #[allow(unsafe_code)]
    unsafe {
        Library::open(Some(name), RTLD_LAZY | RTLD_LOCAL)
    }
}

/// A text for a function of C. Texts from users contain no zero: their arguments end there.
pub(super) fn text(text: &str) -> Result<CString, RbdError> {
    CString::new(text).map_err(|_| RbdError::Io {
        what: format!("{text:?} cannot be handed to Ceph"),
        reason: std::io::ErrorKind::InvalidInput.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_that_are_not_there_are_told_in_a_line() {
        let nowhere = |name: &str| PathBuf::from("/nonexistent").join(name);
        let libraries = Libraries::Unpacked {
            librados: nowhere("librados.so.2"),
            librbd: nowhere("librbd.so.1"),
            needed: vec![nowhere("libceph-common.so.2")],
        };
        let error = open(&libraries).err().unwrap();
        let error = RbdError::NoLibrary { reason: error.to_string() }.to_string();
        assert!(
            error.contains("/nonexistent/librados.so.2") && error.lines().count() == 1,
            "{error}"
        );
    }

    #[test]
    fn what_is_in_this_process_is_not_loaded_again() {
        assert!(is_loaded(Path::new("/tree/libc.so.6")));
        assert!(!is_loaded(Path::new("/tree/libnothing-of-that-name.so.1")));
    }
}
