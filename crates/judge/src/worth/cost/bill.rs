//! Cost of one server with its drives over the years.

use serde::Serialize;

use assay_study::prices::{Each, Prices};

/// Hours of a Julian year.
const HOURS_PER_YEAR: f64 = 365.25 * 24.0;

/// One server's costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bill {
    /// Currency of all amounts.
    pub currency: String,
    /// For so many years.
    pub years: f64,
    pub parts: Vec<Part>,
    /// All of it.
    pub total: f64,
}

/// Purpose of a part of a bill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The server without its drives.
    Server,
    /// Its drives.
    Drives,
    /// Whatever running it costs a year.
    Operating,
    /// Electricity.
    Energy,
}

/// A part of a bill.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    pub what: What,
    /// The key that it follows from.
    pub price: &'static str,
    /// Over all years, after discounts.
    pub amount: f64,
}

impl Bill {
    /// Amount of a part.
    pub fn amount(&self, what: What) -> Option<f64> {
        self.parts.iter().find(|part| part.what == what).map(|part| part.amount)
    }
}

/// The bill of a server. Energy counts where it has a price, and then needs both powers.
///
/// # Errors
/// The keys that are missing for it.
pub fn bill(prices: &Prices, own: &Each) -> Result<Bill, Vec<String>> {
    let is_energy_paid = prices.price_per_kwh.is_some();
    let needed = [
        ("currency", prices.currency.is_some()),
        ("years", prices.years.is_some()),
        ("server_price", own.server_price.is_some()),
        ("drive_price", own.drive_price.is_some()),
        ("server_power_w", !is_energy_paid || own.server_power_w.is_some()),
        ("drive_power_w", !is_energy_paid || own.drive_power_w.is_some()),
    ];
    let missing: Vec<String> =
        needed.iter().filter(|(_, is_there)| !is_there).map(|(key, _)| (*key).to_owned()).collect();
    let all = (&prices.currency, prices.years, own.server_price, own.drive_price);
    let (Some(currency), Some(years), Some(server), Some(drive)) = all else { return Err(missing) };
    if !missing.is_empty() {
        return Err(missing);
    }
    let paid = 1.0 - own.discount_percent.unwrap_or(0.0) / 100.0;
    let drives = own.drives.unwrap_or(1.0);
    let mut parts = vec![
        Part { what: What::Server, price: "server_price", amount: server * paid },
        Part { what: What::Drives, price: "drive_price", amount: drive * drives * paid },
    ];
    parts.extend(own.operating_per_year.map(|amount| Part {
        what: What::Operating,
        price: "operating_per_year",
        amount: amount * years,
    }));
    parts.extend(prices.price_per_kwh.map(|price| {
        let power_w = own.server_power_w.unwrap_or(0.0) + own.drive_power_w.unwrap_or(0.0) * drives;
        let amount = power_w / 1000.0 * HOURS_PER_YEAR * years * price;
        Part { what: What::Energy, price: "price_per_kwh", amount }
    }));
    let total = parts.iter().map(|part| part.amount).sum();
    Ok(Bill { currency: currency.clone(), years, parts, total })
}
