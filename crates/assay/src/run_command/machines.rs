//! Machines that make a plan's runs: this one, or the hosts that the plan names.

use anyhow::Result;

use super::progress;
use crate::print;
use assay_base::HostSpec;
use assay_lab::hosts::{FromHosts, HostContext, RemoteSite};
use assay_lab::run::loads::Loads;
use assay_lab::run::{self, RunContext, Setup, Site};

/// Machines that make the runs of a plan.
pub(crate) trait Machines {
    /// Checks that the plan can be run, and prints the location of its files and the servers that
    /// it uses. Changes nothing.
    ///
    /// # Errors
    /// The reason why the plan cannot be run.
    fn check(&self, context: &RunContext<'_>, hosts: &HostContext<'_>) -> Result<()>;

    /// Sets up the site of the plan, calls `work` with it, and takes it down.
    ///
    /// # Errors
    /// The site cannot be set up or taken down, or `work` fails.
    fn on_site<T>(
        &self,
        context: RunContext<'_>,
        hosts: HostContext<'_>,
        work: impl FnOnce(&mut dyn Site) -> Result<T>,
    ) -> Result<T>;
}

/// The machines that the plan names, or this one if the plan names none.
#[derive(Debug)]
pub(crate) struct OfPlan;

impl Machines for OfPlan {
    fn check(&self, context: &RunContext<'_>, hosts: &HostContext<'_>) -> Result<()> {
        let RunContext { experiment, study, erase, .. } = *context;
        from_hosts(&experiment.load_hosts, hosts)?.map_or(Ok(()), FromHosts::end)?;
        if let Some(host) = &experiment.server_host {
            assay_lab::hosts::check(host, context, hosts)?;
            let location = experiment.location.as_deref().unwrap_or(study);
            print::line(format_args!("files lie in {} on {}", location.display(), host.ssh));
            return Ok(());
        }
        let location = run::location_of(experiment, study)?;
        let servers = run::check::check(experiment, &location, erase)?;
        progress::tell_location(&location);
        progress::tell_servers(&servers);
        Ok(())
    }

    fn on_site<T>(
        &self,
        context: RunContext<'_>,
        hosts: HostContext<'_>,
        work: impl FnOnce(&mut dyn Site) -> Result<T>,
    ) -> Result<T> {
        let from_hosts = from_hosts(&context.experiment.load_hosts, &hosts)?;
        let loads = from_hosts.as_ref().map_or(context.loads, |hosts| hosts as &dyn Loads);
        let context = RunContext { loads, ..context };
        let mut site: Box<dyn Site> = match &context.experiment.server_host {
            Some(host) => Box::new(RemoteSite::begin(host, context, hosts)?),
            None => {
                let say = hosts.say;
                Box::new(Setup::make(context, &say)?)
            }
        };
        let made = work(&mut *site)?;
        site.take_down()?;
        from_hosts.map_or(Ok(()), FromHosts::end)?;
        Ok(made)
    }
}

/// Connects to the hosts that run the load; `None` if there are none.
fn from_hosts<'a>(specs: &[HostSpec], hosts: &HostContext<'a>) -> Result<Option<FromHosts<'a>>> {
    let connect = || FromHosts::connect(specs.to_vec(), hosts.clone());
    (!specs.is_empty()).then(connect).transpose()
}
