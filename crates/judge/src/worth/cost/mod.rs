//! Cost of a transaction per second and of a gigabyte, servers for a load, and the prices that
//! these depend on.
//!
//! Every figure inherits the bounds of the throughput and of the space that it is made of. A scale
//! model's throughput stands for P times as much of the whole device (`parallel_scale`), whose
//! price is asked for: one server with the whole device is set against what the device would carry,
//! as if the server kept up. A price that nobody gave makes no figure.

mod bill;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub use bill::{Bill, Part, What, bill};

use crate::interval::Interval;
use assay_study::prices::{Each, Prices, Target};

/// Measurements of a configuration under a load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeasuredLoad {
    /// Transactions a second of the model or the device as it was run, of all servers together.
    pub tps: Interval,
    /// Bytes of data for each byte that they take of the device, where that is known.
    pub space_ratio: Option<Interval>,
    /// How many times of that a server of what it stands for does: what a model's rates are divided
    /// by, ÷ the servers that did it together; 1 of a device below one server.
    pub scale: f64,
    /// Bytes that a server's drives hold as they are, where that is known.
    pub capacity_bytes: Option<f64>,
}

/// Cost of a configuration under a load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// Cost of one server over the years, part by part.
    pub bill: Bill,
    /// Servers that hold the same data.
    pub replicas: f64,
    /// Transactions a second of one server with the whole device.
    pub tps: Interval,
    /// All replicas together, over all years, for each transaction a second.
    pub cost_per_tps: Interval,
    /// Drives of all replicas for each gigabyte (10⁹ bytes) of data, where the capacity and the
    /// space are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive_cost_per_gb: Option<Interval>,
    /// Servers that the target needs, if one is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
    /// The prices that the cost of a transaction hangs on most, the first most of all.
    pub sensitivity: Vec<Sensitivity>,
}

/// Servers for a target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fleet {
    /// Servers with all replicas.
    pub servers: Interval,
    /// Drives in them.
    pub drives: Interval,
    /// Cost of all servers over the years.
    pub cost: Interval,
    /// The limit that sets their number.
    pub bound_by: Bound,
}

/// The limit that sets the number of servers for a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Transactions a second.
    Load,
    /// Bytes.
    Data,
}

/// Effect of a price on the cost of a transaction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sensitivity {
    /// Which.
    pub price: &'static str,
    /// Percent of the cost for each percent of the price: its share, for the cost is a sum of
    /// prices.
    pub elasticity: f64,
    /// Cost of a transaction a second when the price is a fifth lower.
    pub cost_per_tps_less: f64,
    /// And when it is a fifth higher.
    pub cost_per_tps_more: f64,
}

/// By how much prices are moved to see what hangs on them.
const MOVED: f64 = 0.2;

/// Prices whose sensitivity is told.
const TOLD: usize = 2;

/// The cost.
///
/// # Errors
///
/// Keys that are missing for it.
pub fn of(measured: &MeasuredLoad, prices: &Prices, own: &Each) -> Result<Cost, Vec<String>> {
    let bill = bill(prices, own)?;
    let replicas = f64::from(prices.replicas.unwrap_or(1));
    let tps = measured.tps.times(measured.scale);
    let total = bill.total * replicas;
    let holds = measured.capacity_bytes.zip(measured.space_ratio);
    let data_bytes = holds.map(|(capacity, ratio)| ratio.times(capacity));
    let drives = bill.amount(What::Drives).unwrap_or(0.0) * replicas;
    let fleet = prices.target.and_then(|target| {
        let server =
            Server { tps, data_bytes, drives: own.drives.unwrap_or(1.0), cost: bill.total };
        fleet(target, server, replicas)
    });
    Ok(Cost {
        cost_per_tps: tps.dividing(total),
        drive_cost_per_gb: data_bytes.map(|bytes| bytes.times(1e-9).dividing(drives)),
        fleet,
        sensitivity: sensitivity(&bill, total / tps.mid),
        bill,
        replicas,
        tps,
    })
}

/// Servers of one kind that carry what another does, for each one of those: the consolidation of
/// STEC's white paper of 2013, rates over rates. The ratio is the judged one of both configurations
/// as they were run, for what varied in both alike is not in its interval; `scales` are what the
/// rates of the replaced and of the other are divided by.
pub fn consolidation(ratio: Interval, scales: [f64; 2]) -> Interval {
    ratio.times(scales[1] / scales[0])
}

/// One server of a configuration.
#[derive(Clone, Copy)]
struct Server {
    tps: Interval,
    data_bytes: Option<Interval>,
    drives: f64,
    cost: f64,
}

/// As many whole servers as load and data take, whichever are more. Without a known capacity data
/// count for nothing, and a target of data alone has no answer.
fn fleet(target: Target, server: Server, replicas: f64) -> Option<Fleet> {
    let whole = |needed: Interval| needed.map(f64::ceil);
    let for_load = target.tps.map(|tps| whole(server.tps.dividing(tps)));
    let for_data = target.data_bytes.zip(server.data_bytes);
    let for_data = for_data.map(|(bytes, held)| whole(held.dividing(bytes)));
    let (servers, bound_by) = match (for_load, for_data) {
        (Some(load), Some(data)) if data.mid > load.mid => (load.max(data), Bound::Data),
        (Some(load), Some(data)) => (load.max(data), Bound::Load),
        (Some(load), None) => (load, Bound::Load),
        (None, Some(data)) => (data, Bound::Data),
        (None, None) => return None,
    };
    let servers = servers.times(replicas);
    Some(Fleet {
        servers,
        drives: servers.times(server.drives),
        cost: servers.times(server.cost),
        bound_by,
    })
}

fn sensitivity(bill: &Bill, cost_per_tps: f64) -> Vec<Sensitivity> {
    let mut parts: Vec<&Part> = bill.parts.iter().filter(|part| part.amount > 0.0).collect();
    parts.sort_by(|one, other| other.amount.total_cmp(&one.amount));
    let of = |part: &Part| {
        let elasticity = part.amount / bill.total;
        Sensitivity {
            price: part.price,
            elasticity,
            cost_per_tps_less: cost_per_tps * (1.0 - MOVED * elasticity),
            cost_per_tps_more: cost_per_tps * (1.0 + MOVED * elasticity),
        }
    };
    parts.into_iter().take(TOLD).map(of).collect()
}
