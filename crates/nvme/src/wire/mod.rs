//! The bytes of NVM Express: commands, completions, data structures and the PDUs of NVMe/TCP.
//!
//! Every structure is a type of the size that its specification gives, with fields in the order of
//! the specification; numbers are little-endian. Reserved bytes are private and zero. Sources:
//! NVM Express Base Specification 2.0 ("Base"), NVM Command Set Specification 1.0 ("NVM"), NVMe
//! over TCP Transport Specification 1.0 ("TCP"), OCP Datacenter NVMe SSD Specification 2.0 ("OCP").

mod command;
mod fabrics;
mod identify;
mod log_page;
mod name;
mod pdu;
mod status;

pub use command::{
    ALL_NAMESPACES, AdminOpcode, Completion, DEALLOCATE, IoOpcode, QUEUES_FEATURE, Range, Sgl,
    SglKind, Submission,
};
pub use fabrics::{
    CONNECT_DATA_BYTES, Configuration, ConnectCommand, ConnectData, ConnectRefusal, FabricsKind,
    Property, VERSION_2_0, capabilities, connect_result, connected, controller_status,
    queue_entries,
};
pub use identify::{
    Active, ControllerData, LbaFormat, NamespaceData, Selector, deallocated, descriptors, events,
    features, optional_io, sgls, text,
};
pub use log_page::{
    DATA_UNIT_BYTES, DiscoveryHeader, DiscoveryRecord, LogPage, LogRange, OcpSmart, Smart,
    command_effects, critical,
};
pub use name::{DISCOVERY_NAME, NAME_BYTES_MAX, NameError, Nqn};
pub use pdu::{
    CommonHeader, DIGEST_BYTES, DataHeader, Digests, FatalReason, HEADER_BYTES_MAX, InitRequest,
    InitResponse, PduKind, TermRequest, flags,
};
pub use status::NvmeStatus;

/// Bytes of Identify data (Base, 5.17) of every kind.
pub const IDENTIFY_BYTES: usize = 4096;
