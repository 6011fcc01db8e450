//! Names of images: `rbd:POOL/IMAGE`, as in QEMU, followed by the cluster if needed.

use std::fmt;
use std::path::{Path, PathBuf};

/// Prefix of images' names.
const PREFIX: &str = "rbd:";

/// The options for the user and for the cluster's configuration file; the latter is the last.
const USER: &str = ":id=";
const CONF: &str = ":conf=";

/// An image of a pool, with its cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageName {
    /// The pool's name.
    pub pool: String,
    /// The image's name in the pool.
    pub image: String,
    /// The user's name without `client.`; `None` if it was not given.
    pub user: Option<String>,
    /// Configuration file of the cluster; `None` if it was not given.
    pub conf: Option<PathBuf>,
}

impl ImageName {
    /// Returns true if the path is intended to name an image, well-formed or not.
    #[must_use]
    pub fn is_meant(path: &Path) -> bool {
        path.as_os_str().as_encoded_bytes().starts_with(PREFIX.as_bytes())
    }

    /// The named image; `None` if the path names none, or is malformed.
    #[must_use]
    pub fn parse(path: &Path) -> Option<ImageName> {
        let text = path.to_str()?.strip_prefix(PREFIX)?;
        let (place, conf) = match text.split_once(CONF) {
            Some((place, conf)) => (place, Some(PathBuf::from(conf))),
            None => (text, None),
        };
        let (place, user) = match place.split_once(USER) {
            Some((place, user)) => (place, Some(user.to_owned())),
            None => (place, None),
        };
        let (pool, image) = place.split_once('/')?;
        let is_name = |name: &str| !name.is_empty() && !name.contains(['/', '@', ':']);
        let is_whole = conf.as_ref().is_none_or(|conf| !conf.as_os_str().is_empty());
        let is_whole = is_whole && user.as_deref().is_none_or(is_name);
        (is_name(pool) && is_name(image) && is_whole).then(|| ImageName {
            pool: pool.into(),
            image: image.into(),
            user,
            conf,
        })
    }

    /// The name without its cluster, for people.
    #[must_use]
    pub fn short(&self) -> String {
        format!("{PREFIX}{}/{}", self.pool, self.image)
    }

    /// The name as a path, for places that take a file or device.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.to_string().into()
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short())?;
        self.user.as_ref().map_or(Ok(()), |user| write!(f, "{USER}{user}"))?;
        self.conf.as_ref().map_or(Ok(()), |conf| write!(f, "{CONF}{}", conf.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_as_they_were_written() {
        for text in ["rbd:rep/one", "rbd:a.b/c-d:conf=/etc/ceph/ceph.conf", "rbd:a/b:id=me:conf=/c"]
        {
            let name = ImageName::parse(Path::new(text)).unwrap();
            assert_eq!(name.to_string(), text);
            assert_eq!(ImageName::parse(&name.path()), Some(name));
        }
        let name = ImageName::parse(Path::new("rbd:rep/one:conf=/a:b/c")).unwrap();
        assert_eq!((name.conf, &*name.pool), (Some("/a:b/c".into()), "rep"));
    }

    #[test]
    fn what_names_no_image_is_told_apart() {
        for text in [
            "rbd:",
            "rbd:rep",
            "rbd:/one",
            "rbd:rep/",
            "rbd:rep/a/b",
            "rbd:rep/a@snap",
            "rbd:rep/a:conf=",
            "rbd:rep/a:id=",
        ] {
            assert!(ImageName::is_meant(Path::new(text)));
            assert_eq!(ImageName::parse(Path::new(text)), None, "{text}");
        }
        assert!(
            !ImageName::is_meant(Path::new("/dev/rbd0"))
                && !ImageName::is_meant(Path::new("./rbd:x"))
        );
    }
}
