//! `swath convert FILES... TARGET`: the fields of GRIB files as one Zarr group.

use crate::convert::scanned;
use crate::interrupt::Interrupt;
use crate::place::{Place, UrlArguments};
use crate::progress::{Progress, Unit};
use crate::verdict::Verdict;
use anyhow::{Context, bail};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use swath::Store;
use swath::convert::{DamageKind, Found, Plan, Source, WritePlanOptions};
use swath::ioengine::{Engine, ObjectRef, storage_len};

/// The arguments of a conversion.
#[derive(clap::Args)]
pub(crate) struct WriteArguments {
    /// GRIB files of edition 1 or 2, paths or URLs, and last the Zarr group to be made: a new directory, or a URL.
    #[arg(required = true, num_args = 2.., value_names = ["FILES", "TARGET"])]
    paths: Vec<PathBuf>,
    /// Say what would be written, and write nothing.
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    url: UrlArguments,
}

/// Runs the command.
pub(crate) fn run(arguments: &WriteArguments, out: &mut impl Write) -> anyhow::Result<Verdict> {
    let (target, files) = arguments.paths.split_last().context("wanted files and a target")?;
    let interrupt = Interrupt::install()?;
    let objects = arguments.url.objects()?;
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let opened = names.iter().map(|name| objects.open(name)).collect::<Result<Vec<_>, _>>()?;
    let found = scanned(&opened, &interrupt)?;
    let (sources, damages) = sources(&names, found, out)?;
    let plan = Plan::new(sources)?;
    if arguments.plan {
        print(&plan, out)?;
        return Ok(Verdict::of(damages));
    }
    let store = match Place::either(target, &arguments.url)? {
        Place::Directory(path) if path.exists() => bail!("{}: there is something already", path.display()),
        Place::Directory(path) => Store::create_directory(path)?,
        Place::Url(url, options, _) => Store::open(&url, &options)?,
    };
    let failures = write(&plan, &opened, &store, &interrupt)?;
    for failure in &failures {
        let Some(source) = plan.sources.get(failure.source) else { continue };
        let name = names.get(source.file).map_or("", String::as_str);
        writeln!(out, "not written: {name} at {}: {}", source.field.message.offset, failure.error)?;
    }
    let failed = storage_len(failures.len());
    let written = storage_len(plan.sources.len()) - failed;
    writeln!(out, "{written} fields in {} variables, {} damages", plan.variables.len(), damages + failed)?;
    Ok(Verdict::of(damages + failed))
}

/// All fields, with the numbers of their files; damages are printed and counted.
fn sources(
    names: &[String],
    found: Vec<Vec<Found>>,
    out: &mut impl Write,
) -> anyhow::Result<(Vec<Source>, u64)> {
    let (mut sources, mut damages) = (Vec::new(), 0);
    for (file, (name, found)) in names.iter().zip(found).enumerate() {
        for one in found {
            match one {
                Found::Field(field) => sources.push(Source { file, field: *field }),
                Found::Damage(damage) if damage.kind == DamageKind::Stray => {}
                Found::Damage(damage) => {
                    writeln!(out, "{name}: {damage}")?;
                    damages += 1;
                }
            }
        }
    }
    Ok((sources, damages))
}

fn write(
    plan: &Plan,
    files: &[ObjectRef],
    store: &Store,
    interrupt: &Interrupt,
) -> anyhow::Result<Vec<swath::convert::Failure>> {
    let progress = Mutex::new(Progress::new(Some(storage_len(plan.sources.len())), Unit::Items("fields")));
    let say = |_| progress.lock().unwrap_or_else(PoisonError::into_inner).advance(1);
    let poll = || interrupt.is_raised();
    let options = WritePlanOptions { progress: Some(&say), interrupt: Some(&poll) };
    let written = plan.write(&Engine::global(), files, store, &options);
    interrupt.check()?;
    Ok(written?)
}

fn print(plan: &Plan, out: &mut impl Write) -> std::io::Result<()> {
    let (rows, columns) = (plan.axes.latitudes.len(), plan.axes.longitudes.len());
    for variable in &plan.variables {
        let dimensions = variable.dimensions.iter().filter_map(|number| plan.dimensions.get(*number));
        let dimensions: String =
            dimensions.map(|dimension| format!("{} {}, ", dimension.name, dimension.values.len())).collect();
        let gaps = variable.cells.iter().filter(|cell| cell.is_none()).count();
        let gaps = if gaps == 0 { String::new() } else { format!(", {gaps} gaps") };
        writeln!(out, "{} ({dimensions}latitude {rows}, longitude {columns}) float32{gaps}", variable.name)?;
    }
    for scalar in &plan.scalars {
        writeln!(out, "{} = {}", scalar.name, scalar.value)?;
    }
    Ok(())
}
