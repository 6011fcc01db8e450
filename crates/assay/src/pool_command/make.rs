//! `assay pool create` and `image`: creates pools, and images in them.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use assay_pool::locate;
use assay_pool::pools::{self, NewPool};
use assay_ports::rbd::{self, Cluster, NewImage, PoolIo};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::ClusterArgs;
use crate::print;
use assay_base::Size;
use assay_base::protection::{CompressionAlgorithm, CompressionMode, PoolCompression, Protection};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay pool create rep --protect 2
  assay pool create ec --protect 2+1
  assay pool create small --protect 3 --compression aggressive
  assay pool create lz --protect 2 --compression force \\
    --compression-algorithm lz4

An erasure-coded pool NAME comes with the pool NAME.data, which stores the data; NAME itself \
stores the metadata of images. Name images rbd:NAME/IMAGE. With --compression aggressive a store \
compresses everything that is not marked as incompressible; docs/how-to/pool.md says which InnoDB \
pages shrink.")]
pub(super) struct PoolArgs {
    /// The pool's name
    name: String,
    /// Protection against the loss of stores: 2 or 3 copies, or k+m, e.g. 2+1
    #[arg(long, value_name = "COPIES|K+M", value_parser = clap::value_parser!(Protection))]
    protect: Protection,
    /// Which data the stores compress
    #[arg(long, value_name = "MODE", value_parser = parse_mode())]
    compression: Option<CompressionMode>,
    /// Compression algorithm of the stores [default: zstd]
    #[arg(long, value_name = "ALGORITHM", requires = "compression")]
    #[arg(value_parser = parse_algorithm())]
    compression_algorithm: Option<CompressionAlgorithm>,
    /// Largest amount of data in the pool
    #[arg(long, value_name = "SIZE", value_parser = Size::parse)]
    quota: Option<Size>,
    #[command(flatten)]
    cluster: ClusterArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay pool image rbd:rep/vol --size 10G
  assay pool image rbd:rep/vol --size 10G --data-pool ec.data

An image takes space as it fills.")]
pub(super) struct ImageArgs {
    /// The new image, rbd:POOL/IMAGE
    image: PathBuf,
    /// Its size
    #[arg(long, value_name = "SIZE", value_parser = Size::parse)]
    size: Size,
    /// The pool for its data, if that is another one
    #[arg(long, value_name = "POOL")]
    data_pool: Option<String>,
    /// The cluster: its configuration file, or the name of a private one
    #[arg(long, value_name = "FILE|NAME")]
    ceph_conf: Option<PathBuf>,
}

fn parse_mode() -> impl TypedValueParser<Value = CompressionMode> {
    PossibleValuesParser::new(CompressionMode::WORDS).try_map(|word| word.parse())
}

fn parse_algorithm() -> impl TypedValueParser<Value = CompressionAlgorithm> {
    PossibleValuesParser::new(CompressionAlgorithm::WORDS).try_map(|word| word.parse())
}

pub(super) fn pool(args: &PoolArgs) -> Result<ExitCode> {
    let algorithm = args.compression_algorithm.unwrap_or(CompressionAlgorithm::Zstd);
    let new = NewPool {
        name: args.name.clone(),
        protection: args.protect,
        compression: args.compression.map(|mode| PoolCompression { mode, algorithm }),
        quota_bytes: args.quota.map(|size| size.0),
    };
    pools::create(&args.cluster.connect()?, &new)?;
    print::line(format_args!("pool {}: {}", args.name, args.protect));
    Ok(ExitCode::SUCCESS)
}

pub(super) fn image(args: &ImageArgs) -> Result<ExitCode> {
    let image = locate::image(&args.image, args.ceph_conf.as_deref())?;
    let image = image.with_context(|| {
        format!("{} names no image; write rbd:POOL/IMAGE", args.image.display())
    })?;
    let io = PoolIo::open(&Arc::new(Cluster::connect(&locate::access(&image)?)?), &image.pool)?;
    rbd::create(&io, &image, &NewImage { bytes: args.size.0, data_pool: args.data_pool.clone() })?;
    print::line(format_args!(
        "{0}: {1}; show it with `assay pool attach {0}`",
        image.short(),
        args.size
    ));
    Ok(ExitCode::SUCCESS)
}
