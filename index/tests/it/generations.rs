//! Builds beside readers and other writers, and builds that are killed.

use std::{
    fs,
    ops::ControlFlow,
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use citree_index::{Error, Index};

use crate::{make::Data, random::Random};

/// The environment variable with the folder for the process that is killed.
const REBUILD_IN: &str = "CITREE_TEST_REBUILD_IN";

fn generations(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("gen-") || name.starts_with("new-")).collect();
    names.sort();
    names
}

#[test]
fn a_folder_without_an_index_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let error = Index::open(folder.path()).unwrap_err();
    assert!(matches!(error, Error::Missing { .. }));
    assert!(error.to_string().ends_with("build one first"));
}

#[test]
fn an_index_of_another_model_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let index = Data::small(1).build(folder.path());
    index.require_model(b"a model").unwrap();
    assert!(matches!(index.require_model(b"another"), Err(Error::Model { .. })));
}

#[test]
fn a_second_writer_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let first = Data::small(1).filled(folder.path()).unwrap();
    let Err(error) = Data::small(2).filled(folder.path()) else { panic!("two writers") };
    assert!(matches!(error, Error::Busy { .. }));
    assert!(error.to_string().ends_with("wait until it is done, or stop it"));
    first.finish(&|_| ControlFlow::Continue(())).unwrap();
    assert_eq!(Data::small(2).build(folder.path()).generation(), 2);
}

#[test]
fn a_builder_that_is_dropped_leaves_the_folder_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::small(1);
    data.build(folder.path());
    drop(Data::small(2).filled(folder.path()).unwrap());
    assert_eq!(generations(folder.path()), ["gen-000001"]);
    let index = Index::open(folder.path()).unwrap();
    let hit = index.spaces()[0].nearest(data.row(5)).exact().run().unwrap().hits[0];
    assert_eq!(index.record(hit.record), Some(data.records[5]));
}

#[test]
fn a_reader_keeps_its_generation_and_a_later_build_removes_it() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (Data::small(1), Data::small(2));
    let reader = old.build(folder.path());
    let newer = new.build(folder.path());
    assert_eq!((reader.generation(), newer.generation()), (1, 2));
    assert_eq!(reader.spaces()[0].row(0).unwrap(), old.row(old.order()[0]));
    assert_eq!(newer.spaces()[0].row(0).unwrap(), new.row(new.order()[0]));
    assert_eq!(generations(folder.path()), ["gen-000001", "gen-000002"], "in use, so kept");
    reader.verify().unwrap();
    drop((reader, newer));
    Data::small(3).build(folder.path());
    assert_eq!(generations(folder.path()), ["gen-000003"]);
}

#[test]
fn eight_readers_across_twenty_rebuilds_always_see_one_whole_generation() {
    let folder = tempfile::tempdir().unwrap();
    let all_data: Vec<Data> = (0..21).map(Data::small).collect();
    all_data[0].build(folder.path());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..8)
            .map(|reader| {
                let (done, all_data, folder) = (&done, &all_data, folder.path());
                scope.spawn(move || {
                    let (mut newest, mut opened) = (0, 0);
                    while !done.load(Ordering::Relaxed) || opened == 0 {
                        let index = Index::open(folder).unwrap();
                        assert!(index.generation() >= newest, "an older generation");
                        newest = index.generation();
                        let data = &all_data[newest as usize - 1];
                        let asked = data.row(reader);
                        let hit = index.spaces()[0].nearest(asked).count(1).exact().run().unwrap().hits[0];
                        assert!((hit.similarity - 1.0).abs() < 1e-5, "rows of another generation");
                        assert_eq!(index.record(hit.record).unwrap(), data.records[reader]);
                        opened += 1;
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    opened
                })
            })
            .collect();
        let built: Result<Vec<u64>, Error> = all_data[1..]
            .iter()
            .map(|data| data.filled(folder.path()).and_then(|builder| builder.finish(&|_| ControlFlow::Continue(()))))
            .collect();
        done.store(true, Ordering::Relaxed);
        assert_eq!(built.unwrap(), (2..=21).collect::<Vec<_>>());
        assert!(readers.into_iter().map(|reader| reader.join().unwrap()).sum::<i32>() >= 8);
    });
    assert_eq!(Index::open(folder.path()).unwrap().generation(), 21);
}

#[test]
fn the_same_records_give_the_same_bytes_with_any_number_of_threads() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let data = Data::new(4, 2500, 20);
    for (folder, threads) in folders.iter().zip([1, 3]) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| data.build(folder.path()));
    }
    for name in ["manifest", "edges", "heads", "labels"] {
        let bytes = folders.each_ref().map(|folder| fs::read(folder.path().join("gen-000001").join(name)).unwrap());
        assert!(bytes[0] == bytes[1], "{name} differs");
    }
}

#[test]
fn a_build_killed_at_any_moment_leaves_a_whole_generation_answering() {
    // The processes that are killed run this test too, with the variable set.
    if let Some(folder) = std::env::var_os(REBUILD_IN) {
        for seed in 1.. {
            Data::small(seed).build(folder.as_ref());
        }
    }
    let folder = tempfile::tempdir().unwrap();
    Data::small(0).build(folder.path());
    let rebuild = || {
        let this_test = "generations::a_build_killed_at_any_moment_leaves_a_whole_generation_answering";
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", this_test]).env(REBUILD_IN, folder.path());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let mut random = Random::new(3);
    let mut newest = 1;
    // On a busy machine builds take longer, so the delay grows until some builds finish.
    let mut latest = 60_000;
    for round in 1..=200 {
        let mut child = rebuild();
        std::thread::sleep(Duration::from_micros(random.below(latest) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let index = Index::open(folder.path()).unwrap();
        index.verify().unwrap();
        assert!(index.generation() >= newest);
        newest = index.generation();
        if round % 20 == 0 && newest == 1 {
            latest *= 2;
        }
    }
    assert!(newest > 1, "no build was completed: the delays are too short");
    Data::small(0).build(folder.path());
    assert_eq!(generations(folder.path()).len(), 1, "the next build removes what crashed builds left");
}

#[test]
fn what_others_put_beside_generations_neither_blocks_a_build_nor_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = ["new-notes.txt", "new-ideas", "gen-18446744073709551615", "gen-old", "seg-99999999999"];
    fs::write(folder.path().join(foreign[0]), "mine").unwrap();
    foreign[1..].iter().for_each(|name| fs::create_dir(folder.path().join(name)).unwrap());
    let data = Data::small(3);
    data.build(folder.path());
    data.build(folder.path());
    assert_eq!(Index::open(folder.path()).unwrap().generation(), 2);
    assert!(foreign.iter().all(|name| folder.path().join(name).exists()));
    assert!(!folder.path().join("gen-000001").exists(), "an old generation is removed as before");
}
