//! `bailiwick report`.

use clap::Args;

use super::form_file::FormFile;
use super::sandbox::Paths;
use super::worlds::WorldArguments;
use super::{Global, Outcome};
use crate::app::access_map::{AccessMap, AccessMapOptions, TargetAccess};
use crate::app::{Error, PspMigration, PspMigrationOptions, Workspace, access_map, map_manifests, migrate_psp};
use crate::report::access_map::AccessMapForm;
use crate::report::migration::PspMigrationReport;

/// Options of `report`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    world: WorldArguments,
    /// Write the report to a file, as text, json or html; may be repeated. `-` is standard output. Default: text=-
    #[arg(long = "report", value_name = "FORM=FILE")]
    reports: Vec<FormFile<AccessMapForm>>,
}

impl Arguments {
    /// Returns the paths of the options.
    pub(super) fn paths(&self) -> Paths {
        let files = self.reports.iter().filter(|report| !report.is_output());
        self.world.paths().and_writes(files.map(|report| &report.file))
    }

    /// Plans the migration of the PodSecurityPolicies of the manifests, for the page. The page names the command that reports the
    /// errors of manifests without a plan.
    fn migration(&self, global: &Global, map: &AccessMap) -> Result<Option<PspMigration>, Error> {
        let has_page = self.reports.iter().any(|report| report.form == AccessMapForm::Html);
        let of_target = |target: &TargetAccess| {
            let policies = target.pod_security_policies.as_ref().filter(|policies| policies.has_any())?;
            let version = if policies.evaluated > 0 { &target.version } else { PspMigrationOptions::USUAL_VERSION };
            Some(version.to_owned())
        };
        let Some(kubernetes_version) = map.targets.iter().find_map(of_target).filter(|_| has_page) else {
            return Ok(None);
        };
        let WorldArguments { from, include, exclude, default_namespace, .. } = self.world.clone();
        let migration = PspMigrationOptions {
            from,
            include,
            exclude,
            default_namespace,
            kubernetes_version,
            ..PspMigrationOptions::default()
        };
        match migrate_psp(&global.options(), &migration) {
            Ok(migration) => Ok(Some(migration)),
            Err(Error::Invalid(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Runs the command.
pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Outcome, Error> {
    let options = arguments.world.options(false);
    let map = if options.is_workspace() {
        // The program ends with the command: freeing the memory of a large workspace would take time.
        let workspace = std::mem::ManuallyDrop::new(Workspace::open(&global.options())?);
        let (targets, baseline) = (arguments.world.targets.clone(), arguments.world.baseline.clone());
        access_map(&workspace, &AccessMapOptions { targets, baseline, without_classes: false })?
    } else {
        map_manifests(&global.options(), &options)?
    };
    let migration = arguments.migration(global, &map)?;
    let migration = migration.as_ref().map(PspMigrationReport::new);
    let usual = [FormFile { form: AccessMapForm::Text, file: "-".into() }];
    let reports = if arguments.reports.is_empty() { &usual[..] } else { &arguments.reports };
    for report in reports {
        let text = report.form.write(&map, migration.as_ref());
        if report.is_output() {
            global.terminal().result(&text);
        } else {
            report.replace(global, &text)?;
        }
    }
    Ok(Outcome::Fine)
}
