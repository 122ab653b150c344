//! Publishing changes beside readers and other writers, changes that are not finished or killed, and damage.

use std::{
    fs,
    ops::ControlFlow,
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use citree_index::{Change, Error, Index, Metric};

use crate::{
    random::Random,
    sources::{DIMS, Source, build, change, key, note, some_sources, spec},
};

fn folders(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.contains('-')).collect();
    names.sort();
    names
}

#[test]
fn a_change_that_is_not_published_leaves_the_folder_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let sources = some_sources(0..20);
    drop(build(&sources, folder.path(), Metric::Cosine));
    let mut removal = Change::begin(folder.path()).unwrap();
    removal.remove_source(3);
    drop(removal);
    let added = some_sources(20..25);
    let begun = Change::begin(folder.path()).unwrap();
    let mut addition = begun.add("x", spec(&added, 0, Metric::Cosine), &[], Some(key), &|_, group, _| group).unwrap();
    added[0].write(addition.segment());
    drop(addition);
    let begun = Change::begin(folder.path()).unwrap();
    let missing = begun.add("x", spec(&added, 0, Metric::Cosine), &[], Some(key), &|_, group, _| group).unwrap();
    assert!(matches!(
        missing.publish(note("too few records"), &|_| ControlFlow::Continue(())),
        Err(Error::Input { .. })
    ));
    assert_eq!(folders(folder.path()), ["gen-000001"]);
    assert_eq!(Index::open(folder.path()).unwrap().manifest().sources, 20);
}

#[test]
fn a_change_that_is_stopped_at_any_step_leaves_the_folder_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    drop(build(&some_sources(0..200), folder.path(), Metric::Cosine));
    let before = folders(folder.path());
    let added = some_sources(200..420);
    let publish = |steps: usize| {
        let asked = AtomicUsize::new(0);
        let begun = Change::begin(folder.path()).unwrap();
        let mut addition =
            begun.add("x", spec(&added, 0, Metric::Cosine), &[], Some(key), &|_, group, _| group).unwrap();
        added.iter().for_each(|source| source.write(addition.segment()));
        let published = addition.publish(note("stopped"), &|_| match asked.fetch_add(1, Ordering::Relaxed) < steps {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        });
        (published, asked.into_inner())
    };
    let mut steps = 0;
    while let (Err(error), asked) = publish(steps) {
        assert!(matches!(error, Error::Stopped), "{error}");
        assert_eq!(asked, steps + 1, "it went on after it was stopped");
        assert_eq!(folders(folder.path()), before);
        // Each of the first steps, then about every tenth.
        steps += 1 + steps / 10;
    }
    assert!(steps > 20, "{steps}: the graphs ask too");
    assert_eq!(Index::open(folder.path()).unwrap().manifest().sources, 420);
}

#[test]
fn remains_of_a_change_that_crashed_are_ignored_and_removed_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    drop(build(&some_sources(0..20), folder.path(), Metric::Cosine));
    change(folder.path(), &[], &some_sources(20..22), 1, Metric::Cosine).unwrap();
    // As if the process had ended just before the new generation got its name, and just before it became current.
    let copy = |from: &str, to: &str| {
        fs::create_dir(folder.path().join(to)).unwrap();
        for entry in fs::read_dir(folder.path().join(from)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), folder.path().join(to).join(entry.file_name())).unwrap();
        }
    };
    copy("seg-000002", "seg-000003");
    copy("gen-000002", "gen-000003");
    copy("gen-000002", "new-000004");
    assert_eq!(Index::open(folder.path()).unwrap().generation(), 2);
    let generation = change(folder.path(), &[], &some_sources(22..23), 2, Metric::Cosine).unwrap();
    assert_eq!(generation, 4, "a number is not used again");
    let index = Index::open(folder.path()).unwrap();
    index.verify().unwrap();
    assert_eq!(index.manifest().sources, 23);
    assert_eq!(folders(folder.path()), ["gen-000001", "gen-000002", "gen-000004", "seg-000002", "seg-000004"]);
}

#[test]
fn one_writer_at_a_time_and_a_folder_without_an_index_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(Change::begin(folder.path()), Err(Error::Missing { .. })));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    drop(build(&some_sources(0..3), folder.path(), Metric::Cosine));
    let first = Change::begin(folder.path()).unwrap();
    assert!(matches!(Change::begin(folder.path()), Err(Error::Busy { .. })));
    first.publish(note("nothing")).unwrap();
    Change::begin(folder.path()).unwrap();
}

#[test]
fn a_change_costs_nothing_of_the_segments_that_stay_and_a_merge_frees_them() {
    let folder = tempfile::tempdir().unwrap();
    let sources = some_sources(0..60);
    drop(build(&sources, folder.path(), Metric::Cosine));
    let written = |name: &str| fs::metadata(folder.path().join(name)).unwrap().modified().unwrap();
    let before = written("gen-000001/heads");
    change(folder.path(), &["source 5".to_owned()], &some_sources(60..61), 1, Metric::Cosine).unwrap();
    assert_eq!(folders(folder.path()), ["gen-000001", "gen-000002", "seg-000002"]);
    assert_eq!(fs::read_dir(folder.path().join("gen-000002")).unwrap().count(), 1, "a state only");
    assert_eq!(written("gen-000001/heads"), before);
    let mut merge = Change::begin(folder.path()).unwrap();
    merge.forget_before();
    let regroup = |grouping: usize, group: u32, source: u32| if grouping == 0 { source } else { group % 4 };
    let places: Vec<usize> = (0..merge.index().segments().len()).collect();
    let merge = merge.add("all", spec(&[], 60, Metric::Cosine), &places, Some(key), &regroup).unwrap();
    merge.publish(note("merged"), &|_| ControlFlow::Continue(())).unwrap();
    assert_eq!(folders(folder.path()), ["gen-000003", "seg-000003"]);
    let index = Index::open(folder.path()).unwrap();
    assert_eq!((index.segments()[0].sources, index.segments()[0].name.as_str()), (60, "all"));
    assert!(matches!(Change::begin(folder.path()).unwrap().undo(note("u")), Err(Error::NothingToUndo { .. })));
}

#[test]
fn eight_readers_during_two_hundred_changes_always_see_one_whole_state() {
    let folder = tempfile::tempdir().unwrap();
    let sources = some_sources(0..40);
    drop(build(&sources, folder.path(), Metric::Cosine));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut newest = 0;
                while !done.load(Ordering::Relaxed) {
                    let index = Index::open(folder.path()).unwrap();
                    assert!(index.generation() >= newest, "an older generation");
                    newest = index.generation();
                    // Every change adds one source or removes the last one, so the number tells the state.
                    let changes = newest - 1;
                    let expected = 40 + changes % 2;
                    assert_eq!(index.manifest().sources, expected);
                    let sum: u64 = index.spaces()[0].sums().counts().iter().sum();
                    assert_eq!(sum, index.manifest().records);
                    let answer = index.spaces()[1].nearest(&[1.0 / 3.0; DIMS]).count(9999).exact().run().unwrap();
                    assert_eq!(answer.hits.len() as u64, index.manifest().records);
                    drop(index);
                    // Leaves the processor to the writer.
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
        }
        let mut random = Random::new(5);
        for step in 0..200 {
            if step % 2 == 0 {
                let first = Index::open(folder.path()).unwrap().segments().len();
                change(folder.path(), &[], &[Source::new(1000 + step, &mut random)], first, Metric::Cosine).unwrap();
            } else {
                change(folder.path(), &[format!("source {}", 999 + step)], &[], usize::MAX, Metric::Cosine).unwrap();
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    let index = Index::open(folder.path()).unwrap();
    index.verify().unwrap();
    assert_eq!(index.segments().len(), 1, "segments without anything left are dropped");
}

#[test]
fn damage_in_a_state_or_in_a_lookup_is_found() {
    let folder = tempfile::tempdir().unwrap();
    drop(build(&some_sources(0..30), folder.path(), Metric::Cosine));
    change(folder.path(), &["source 1".to_owned()], &some_sources(30..40), 0, Metric::Cosine).unwrap();
    change(folder.path(), &["source 2".to_owned()], &some_sources(40..41), 1, Metric::Cosine).unwrap();
    for name in ["gen-000003/manifest", "seg-000002/lookup", "seg-000003/manifest"] {
        let path = folder.path().join(name);
        let whole = fs::read(&path).unwrap();
        for at in [3, 9, 30, 1024, (1024 + whole.len()) / 2, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[at] ^= 4;
            fs::write(&path, &damaged).unwrap();
            assert!(Index::open(folder.path()).and_then(|index| index.verify()).is_err(), "{name}, byte {at}");
        }
        fs::write(&path, &whole).unwrap();
    }
    Index::open(folder.path()).unwrap().verify().unwrap();
}

/// The environment variable with the folder for the process that is killed.
const CHANGE_IN: &str = "CITREE_TEST_CHANGE_IN";

/// Adds a source, adds another one and merges everything, and undoes both, for ever.
fn change_for_ever(folder: &Path) -> ! {
    let mut random = Random::new(11);
    for step in 1000.. {
        let segments = Index::open(folder).unwrap().segments().len();
        let source = Source::new(step, &mut random);
        // What a killed process left undone does not matter here.
        let _ = match step % 4 {
            0 => change(folder, &[], &[source], segments, Metric::Cosine),
            1 => change(folder, &[], &[source], 0, Metric::Cosine),
            _ => Change::begin(folder).and_then(|change| change.undo(note("undone"))),
        };
    }
    unreachable!("it is killed before")
}

#[test]
fn a_change_killed_at_any_moment_leaves_the_state_before_or_after_it() {
    // The processes that are killed run this test too, with the variable set.
    if let Some(folder) = std::env::var_os(CHANGE_IN) {
        change_for_ever(folder.as_ref());
    }
    let folder = tempfile::tempdir().unwrap();
    drop(build(&some_sources(0..30), folder.path(), Metric::Cosine));
    let mut random = Random::new(3);
    let (mut newest, mut latest) = (1, 60_000);
    for _ in 0..25 {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "publishing::a_change_killed_at_any_moment_leaves_the_state_before_or_after_it"]);
        command.env(CHANGE_IN, folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_micros(random.below(latest) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let index = Index::open(folder.path()).unwrap();
        index.verify().unwrap();
        let undone = index.log().iter().filter(|entry| entry.what == "undone").count();
        assert_eq!(
            index.manifest().sources as usize,
            30 + index.log().len() - 2 * undone,
            "a state is as its log says"
        );
        assert!(index.generation() >= newest);
        // On a busy machine changes take longer, so the delay grows until some are published.
        latest *= if index.generation() == newest { 2 } else { 1 };
        newest = index.generation();
    }
    assert!(newest > 1, "no change was published: the delays are too short");
    change(folder.path(), &[], &some_sources(30..31), 0, Metric::Cosine).unwrap();
    assert!(folders(folder.path()).iter().all(|name| !name.starts_with("new-")), "the next change removes remains");
}
