//! A list of operations, cut at every change of a simulated disk; the crash suites of the layouts go by it.

use everturn::disk::sim::{DataSurvival, Fault, FaultKind, NameSurvival, SimDisk, Survival};

/// ENOSPC
const NO_SPACE: i32 = 28;

/// What a crash may leave: a kill, which leaves all, and some of the other ways, others at each point.
pub(crate) fn ends(point: u64) -> Vec<Survival> {
    let data = [
        DataSurvival::Lost,
        DataSurvival::Kept,
        DataSurvival::Prefix,
        DataSurvival::Hole,
        DataSurvival::Last,
        DataSurvival::Mixed(point),
    ];
    let names = [NameSurvival::Lost, NameSurvival::Kept, NameSurvival::Prefix];
    let turn = usize::try_from(point).unwrap();
    let some =
        |at: usize| Survival { data: data[(turn + at) % 6], names: names[(turn / 2 + at) % 3] };
    let kill = Survival { data: DataSurvival::Kept, names: NameSurvival::Kept };
    std::iter::once(kill).chain((0..3).map(some)).collect()
}

/// Cuts the work at every change of the disk. `work` says how many of the `count` operations were acknowledged;
/// `verify` gets what is left, that number, and which of the ends it is.
#[expect(clippy::print_stdout, reason = "the suites say how much they tried")]
pub(crate) fn crash_everywhere(
    name: &str,
    count: usize,
    least: u64,
    work: impl Fn(&SimDisk) -> usize,
    verify: impl Fn(&SimDisk, usize, usize) -> Result<(), String>,
) {
    let (mut point, mut tries) = (0_u64, 0_u64);
    loop {
        let disk = SimDisk::new();
        disk.inject(Fault { at: point, kind: FaultKind::Crash, lasting: false });
        let done = work(&disk);
        if !disk.crashed() {
            assert_eq!(done, count, "{name}: nothing was in the way");
            break;
        }
        for (number, survival) in ends(point).into_iter().enumerate() {
            let left = disk.fork();
            left.power_cut(survival);
            if let Err(problem) = verify(&left, done, number) {
                panic!(
                    "{name}: crash at change {point}, in operation {done}, {survival:?}: {problem}"
                );
            }
            tries += 1;
        }
        point += 1;
    }
    assert!(point > least, "{name}: only {point} places to crash at");
    println!("{name}: {point} crash points, {tries} crashes survived");
}

/// Lets the disk be full for a moment, at every `step`th change.
pub(crate) fn fail_everywhere(
    name: &str,
    count: usize,
    least: u64,
    step: usize,
    work: impl Fn(&SimDisk) -> usize,
    verify: impl Fn(&SimDisk, usize) -> Result<(), String>,
) {
    for point in (0..).step_by(step) {
        let disk = SimDisk::new();
        disk.inject(Fault { at: point, kind: FaultKind::Error(NO_SPACE), lasting: false });
        let done = work(&disk);
        disk.clear_faults();
        if let Err(problem) = verify(&disk, done) {
            panic!("{name}: failure at change {point}, in operation {done}: {problem}");
        }
        if point > disk.changes() {
            assert_eq!(done, count, "{name}: nothing was in the way");
            assert!(point > least, "{name}: only {point} failure points");
            return;
        }
    }
}
