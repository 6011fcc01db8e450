//! How an image is called: `rbd:POOL/IMAGE`, as QEMU calls it, with the cluster behind it where that matters.

use std::fmt;
use std::path::{Path, PathBuf};

/// What names of images begin with.
const PREFIX: &str = "rbd:";

/// The options that name who asks, and the cluster's configuration file; this one comes last.
const USER: &str = ":id=";
const CONF: &str = ":conf=";

/// An image of a pool, and the cluster that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageName {
    /// The pool.
    pub pool: String,
    /// The image in it.
    pub image: String,
    /// Who asks the cluster, without `client.`; none where it was not said.
    pub user: Option<String>,
    /// The cluster, by its configuration file; none where it was not said.
    pub conf: Option<PathBuf>,
}

impl ImageName {
    /// Whether this is meant to name an image, well or not.
    #[must_use]
    pub fn is_meant(path: &Path) -> bool {
        path.as_os_str().as_encoded_bytes().starts_with(PREFIX.as_bytes())
    }

    /// The image that is named; nothing where it is none, or badly written.
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

    /// The same without its cluster, as people call it.
    #[must_use]
    pub fn short(&self) -> String {
        format!("{PREFIX}{}/{}", self.pool, self.image)
    }

    /// The name as a path, where a file or device would be named.
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
