//! Plans: documents that say what is compared, and the experiments that follow from them.
//!
//! [`document`] has the keys of a plan. [`Plan::read_with`] reads, merges and completes them, a
//! command may override some, and [`Experiment::of`] checks and resolves them once; everything
//! behind takes the [`Experiment`]. Only this crate and the checks of a run may refuse a plan; what
//! comes after may fail but not refuse.

mod changes;
mod check;
mod complete;
mod document;
mod experiment;
mod overlay;
mod quick;
mod read;
mod rig;
mod search;
pub mod settings;
mod shipped;
mod side_effects;

pub use changes::{Change, changes};
pub use document::{
    ConfigSpec, CpuList, DataProfile, EndpointSpec, FactorSpec, FileSystemKind, LeastMachine,
    MediaSpec, ModelSpec, NeighbourSpec, NoiseFloorSpec, ObjectiveSpec, PageCompression, PhaseSpec,
    Placement, Plan, PoolSpec, PowerCutSpec, Restore, RigKind, RigSpec, Tears, VariantKey,
    WorkloadSpec,
};
pub use experiment::{
    Experiment, Neighbour, Partners, PlannedLoad, PlannedTrial, PlannedWorkload, Variant,
};
pub use overlay::{OVERLAYS, overlay_name, shipped_overlays};
pub use quick::PlanForm;
pub use read::{ReadPlan, shipped};
pub use rig::{
    DiskBase, DriveMedia, EndpointLogin, PlannedCluster, PlannedDisk, PlannedDrive,
    PlannedEndpoint, PlannedFileSystem, PlannedModel, PlannedPool, PlannedRig, PoolPlace,
    PoweredFile, PrivatePool, RestoreCommand, RestoreWay,
};
pub use search::PlannedSearch;
pub use side_effects::SideEffect;

#[cfg(test)]
mod tests;
