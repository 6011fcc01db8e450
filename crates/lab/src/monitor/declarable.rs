//! Every series that the monitor can declare, on a machine that counts everything, with two CPUs.

use super::series::SeriesInfo;
use super::sheet::Sheet;
use super::{cost, cpu, disk, drive, family, innodb, model, pool, process, space};
use assay_study::metrics::metric;

/// Each series once, except physical space, which the file system or the drive reports.
pub(crate) fn declarable() -> Vec<SeriesInfo> {
    let sheets: Vec<Sheet> = [
        cpu::whole_sheet(),
        innodb::whole_sheet(),
        space::whole_sheet(),
        drive::whole_sheet(),
        model::whole_sheet(),
        pool::whole_sheet(),
        family::whole_sheet(),
        cost::whole_sheet(metric!("monitor_kernel_cpu_percent")),
        cost::whole_sheet(metric!("monitor_server_cpu_percent")),
    ]
    .into_iter()
    .chain(disk::whole_sheets())
    .chain(process::whole_sheets())
    .collect();
    sheets.iter().flat_map(Sheet::infos).cloned().collect()
}
