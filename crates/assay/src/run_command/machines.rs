//! The machines on which the runs of a plan are made: this one, and the hosts that the plan names.

use anyhow::Result;

use super::progress;
use crate::print;
use assay_lab::hosts::{self, FromHosts, Remote, Ways};
use assay_lab::run::loads::Loads;
use assay_lab::run::{self, Making, Setup, Site};
use assay_plan::Plan;

/// Machines on which the runs of a plan are made.
pub trait Machines {
    /// Checks that the plan can be run, and prints where its files will lie and which servers it takes. Changes nothing.
    ///
    /// # Errors
    /// The reason why the plan cannot be run.
    fn check(&self, making: &Making<'_>, ways: &Ways<'_>) -> Result<()>;

    /// Sets up the site of the plan, calls `work` with it, and takes it down.
    ///
    /// # Errors
    /// The site cannot be set up or taken down, or `work` fails.
    fn on_site<T>(
        &self,
        making: Making<'_>,
        ways: Ways<'_>,
        work: impl FnOnce(&mut dyn Site) -> Result<T>,
    ) -> Result<T>;
}

/// The machines that the plan names, or this one if the plan names none.
#[derive(Debug)]
pub struct OfPlan;

impl Machines for OfPlan {
    fn check(&self, making: &Making<'_>, ways: &Ways<'_>) -> Result<()> {
        let Making { plan, study, erase, .. } = *making;
        from_hosts(plan, ways)?.map_or(Ok(()), FromHosts::end)?;
        if let Some(host) = plan.server_host() {
            hosts::check(host, making, ways)?;
            let location = plan.location.as_deref().unwrap_or(study);
            print::line(format_args!("files lie in {} on {}", location.display(), host.ssh));
            return Ok(());
        }
        let location = run::location_of(plan, study)?;
        let servers = run::check::check(plan, &location, erase)?;
        progress::tell_location(&location);
        progress::tell_servers(&servers);
        Ok(())
    }

    fn on_site<T>(
        &self,
        making: Making<'_>,
        ways: Ways<'_>,
        work: impl FnOnce(&mut dyn Site) -> Result<T>,
    ) -> Result<T> {
        let from_hosts = from_hosts(making.plan, &ways)?;
        let loads = from_hosts.as_ref().map_or(making.loads, |hosts| hosts as &dyn Loads);
        let making = Making { loads, ..making };
        let mut site: Box<dyn Site> = match making.plan.server_host() {
            Some(host) => Box::new(Remote::begin(host, making, ways)?),
            None => {
                let say = ways.say;
                Box::new(Setup::make(making, &say)?)
            }
        };
        let made = work(&mut *site)?;
        site.take_down()?;
        from_hosts.map_or(Ok(()), FromHosts::end)?;
        Ok(made)
    }
}

/// Connects to the hosts that run the load; `None` if the plan names none.
fn from_hosts<'a>(plan: &Plan, ways: &Ways<'a>) -> Result<Option<FromHosts<'a>>> {
    let specs: Vec<_> = plan.load_hosts().into_iter().cloned().collect();
    (!specs.is_empty()).then(|| FromHosts::connect(specs, ways.clone())).transpose()
}
