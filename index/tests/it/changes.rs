//! Changes: after any of them an index answers as one that is built anew from the same sources.

use std::collections::HashMap;

use citree_index::{Change, Error, Index, Metric, Space};

use crate::{
    random::{Random, cone},
    sources::{CLASSES, DIMS, Source, build, change, key, note},
};

/// What identifies a record in every index of the same sources.
type Key = (u32, u32, [u32; 2]);

fn keys(index: &Index) -> HashMap<Key, u32> {
    let key = |number: u32| index.record(number).map(|record| (record.source, record.class, record.payload));
    (0..index.manifest().records as u32).map(|number| (key(number).unwrap(), number)).collect()
}

fn close(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= 1e-9 * scale.max(1.0)
}

/// Asserts that two indexes of the same sources in the same order give the same answers.
fn same(changed: &Index, anew: &Index, random: &mut Random) {
    let facts = |index: &Index| {
        let contrasts = index.contrasts().map_or(0, |contrasts| contrasts.space().count());
        (index.manifest().records, index.manifest().sources, contrasts)
    };
    assert_eq!(facts(changed), facts(anew));
    for number in 0..anew.manifest().sources as u32 {
        assert_eq!(changed.source(number), anew.source(number));
    }
    assert_eq!(changed.source(anew.manifest().sources as u32), None);
    let (own, expected) = (keys(changed), keys(anew));
    assert_eq!(own.len(), expected.len());
    for class in 0..CLASSES as u32 + 1 {
        let named = |index: &Index| {
            let mut keys: Vec<_> = index.records_of(class).map(|number| index.record(number).unwrap()).collect();
            keys.sort_by_key(|record| (record.source, record.payload));
            keys
        };
        assert_eq!(named(changed), named(anew));
    }
    for (at, [space, other]) in
        [[0, 0], [1, 1]].map(|[a, b]| [&changed.spaces()[a], &anew.spaces()[b]]).iter().enumerate()
    {
        for (key, number) in &own {
            assert_eq!(space.row(*number), other.row(expected[key]), "space {at}");
        }
        let rows: Vec<&[f32]> = (0..space.count() as u32).filter_map(|number| space.row(number)).collect();
        assert_eq!(space.runs().concat(), rows.concat(), "space {at}: the runs are all rows in order");
        same_sums(space, other);
        same_group_sums(changed, anew, at);
        let record = |index: &Index, number: u32| {
            let record = index.record(number).unwrap();
            (record.source, record.class, record.payload)
        };
        same_answers(space, other, |number| record(changed, number), |number| record(anew, number), random);
    }
    let (Some(own), Some(other)) = (changed.contrasts(), anew.contrasts()) else { return };
    same_sums(own.space(), other.space());
    let record = |contrasts: &citree_index::Contrasts, number: u32| {
        let (source, payload) = contrasts.record(number).unwrap();
        (source, 0, payload)
    };
    same_answers(own.space(), other.space(), |n| record(own, n), |n| record(other, n), random);
}

fn same_sums(own: &Space, other: &Space) {
    let (sums, expected) = (own.sums(), other.sums());
    assert_eq!(sums.counts(), expected.counts());
    let scale = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>().sqrt();
    let pairs = sums.sums().chunks(DIMS).zip(expected.sums().chunks(DIMS));
    for (own, other) in pairs.chain([(own.total(), other.total())]) {
        assert!(own.iter().zip(other).all(|(a, b)| close(*a, *b, scale(other))), "{own:?} is not {other:?}");
    }
}

/// Compares the sums of the groups of a record: sums of groups that mean the same are added over segments.
fn same_group_sums(own: &Index, other: &Index, space: usize) {
    let by_name = |index: &Index, grouping: usize| {
        let mut sums: HashMap<u32, Vec<f64>> = HashMap::new();
        let of_groups: Vec<&[f32]> = index.spaces()[space].group_sums(grouping).chunks(DIMS).collect();
        assert_eq!(of_groups.len(), index.groupings()[grouping] as usize);
        let mut seen = HashMap::new();
        for number in 0..index.manifest().records as u32 {
            let (group, record) = (index.group(grouping, number).unwrap(), index.record(number).unwrap());
            let name = if grouping == 0 { record.source } else { record.payload[1] % 4 };
            assert_eq!(*seen.entry(group).or_insert(name), name, "a group of two names");
        }
        for (group, name) in seen {
            let sum = sums.entry(name).or_insert_with(|| vec![0.0; DIMS]);
            sum.iter_mut().zip(of_groups[group as usize]).for_each(|(sum, value)| *sum += f64::from(*value));
        }
        sums
    };
    for grouping in 0..2 {
        let (own, other) = (by_name(own, grouping), by_name(other, grouping));
        assert_eq!(own.len(), other.len());
        for (name, sum) in own {
            assert!(sum.iter().zip(&other[&name]).all(|(a, b)| (a - b).abs() < 1e-4), "group {name}");
        }
    }
}

fn same_answers(
    own: &Space,
    other: &Space,
    own_key: impl Fn(u32) -> Key + Sync,
    other_key: impl Fn(u32) -> Key + Sync,
    random: &mut Random,
) {
    let rows: Vec<f32> = (0..3).flat_map(|_| cone(random, 1, DIMS, 1, 0.9)).collect();
    let left_out = random.below(8) as u32;
    let listed = |space: &Space, key: &(dyn Fn(u32) -> Key + Sync), exact: bool| -> Vec<Vec<(Key, f32)>> {
        let odd = |number: u32| key(number).2[0] % 3 != 1;
        let mut all = Vec::new();
        for row in rows.chunks(DIMS) {
            let base = || if exact { space.nearest(row).exact() } else { space.nearest(row) };
            for nearest in [
                base().count(12),
                base().count(4).class(2),
                base().count(500),
                base().count(5).except_source(left_out),
                base().count(7).filter(&odd),
            ] {
                let answer = nearest.run().unwrap();
                assert!(!exact || answer.exact);
                all.push(answer.hits.iter().map(|hit| (key(hit.record), hit.similarity)).collect());
            }
        }
        let many =
            space.nearest_many(&rows, |_, nearest| if exact { nearest.count(6).exact() } else { nearest.count(6) });
        all.extend(
            many.unwrap()
                .iter()
                .map(|answer| answer.hits.iter().map(|hit| (key(hit.record), hit.similarity)).collect::<Vec<_>>()),
        );
        let count = space.count();
        let similarities = space.similarities(&rows, 0..count as u32).unwrap();
        for own in similarities.chunks(count.max(1)) {
            let mut own: Vec<(Key, f32)> = (0..).zip(own).map(|(number, value)| (key(number), *value)).collect();
            own.sort_by_key(|(key, _)| *key);
            all.push(own);
        }
        all
    };
    // Rows are all different, so there are no ties to be broken by number.
    assert_eq!(listed(own, &own_key, true), listed(other, &other_key, true));
    let (found, expected) = (listed(own, &own_key, false), listed(other, &other_key, true));
    type Found = Vec<(Key, f32)>;
    let shared = |(found, expected): (&Found, &Found)| {
        let shared = found.iter().filter(|hit| expected.contains(hit)).count();
        if expected.is_empty() { 1.0 } else { shared as f64 / expected.len() as f64 }
    };
    let recall = found.iter().zip(&expected).map(shared).sum::<f64>() / expected.len() as f64;
    assert!(recall > 0.9, "a recall of {recall}");
    if own.count() > 0 {
        let middle = own.count() as u32 / 3..2 * own.count() as u32 / 3;
        let part = own.similarities(&rows, middle.clone()).unwrap();
        let single = rows.chunks(DIMS).flat_map(|row| middle.clone().map(move |n| own.similarity(row, n).unwrap()));
        assert_eq!(part, single.collect::<Vec<_>>());
    }
    for (own, other) in own.densities(&rows, 8.0).unwrap().iter().zip(other.densities(&rows, 8.0).unwrap()) {
        for (class, (own, other)) in own.iter().zip(other).enumerate() {
            assert!((own.sum - other.sum).abs() <= 0.02 * other.sum.max(1e-9), "class {class}: {own:?} {other:?}");
        }
    }
}

/// A random sequence of changes beside a list of the sources that it leaves.
fn random_changes(seed: u64, metric: Metric, steps: usize) {
    let (folder, mut random) = (tempfile::tempdir().unwrap(), Random::new(seed));
    let mut next = 0;
    let mut new_sources = |count: usize, random: &mut Random| -> Vec<Source> {
        next += count;
        (next - count..next).map(|number| Source::new(number, random)).collect()
    };
    let mut sources = new_sources(30 + random.below(30), &mut random);
    drop(build(&sources, folder.path(), metric));
    let mut before: Vec<Vec<Source>> = Vec::new();
    for step in 0..steps {
        let segments = Index::open(folder.path()).unwrap().segments().len();
        let index = Index::open(folder.path()).unwrap();
        let ids: HashMap<u64, Vec<f32>> = (0..index.manifest().records as u32)
            .map(|number| (index.id(number).unwrap(), index.spaces()[0].row(number).unwrap().to_vec()))
            .collect();
        drop(index);
        let old = sources.clone();
        let some = |sources: &[Source], random: &mut Random| -> Vec<String> {
            let share = 2 + random.below(12);
            sources.iter().filter(|_| random.below(share) == 0).map(|source| source.name.clone()).collect()
        };
        match random.below(6) {
            0 | 1 => {
                let count = 1 + random.below(12);
                let added = new_sources(count, &mut random);
                let first = segments - random.below(segments + 1).min(2);
                change(folder.path(), &[], &added, first, metric).unwrap();
                sources.extend(added);
            }
            2 => {
                let removed = some(&sources, &mut random);
                change(folder.path(), &removed, &[], usize::MAX, metric).unwrap();
                sources.retain(|source| !removed.contains(&source.name));
            }
            3 => {
                let replaced = some(&sources, &mut random);
                let mut added = new_sources(replaced.len(), &mut random);
                added.iter_mut().zip(&replaced).for_each(|(source, name)| source.name = name.clone());
                let first = segments - random.below(segments + 1).min(1);
                change(folder.path(), &replaced, &added, first, metric).unwrap();
                sources.retain(|source| !replaced.contains(&source.name));
                sources.extend(added);
            }
            4 => {
                change(folder.path(), &[], &[], 0, metric).unwrap();
                assert_eq!(Index::open(folder.path()).unwrap().segments().len(), 1);
            }
            _ => match before.pop() {
                Some(state) => {
                    Change::begin(folder.path()).unwrap().undo(note("undone")).unwrap();
                    sources = state;
                }
                None => {
                    let error = Change::begin(folder.path()).unwrap().undo(note("undone")).unwrap_err();
                    assert!(matches!(error, Error::NothingToUndo { .. }));
                    continue;
                }
            },
        }
        let undone = Index::open(folder.path()).unwrap().log().last().unwrap().what == "undone";
        if !undone {
            before.push(old);
        }
        let changed = Index::open(folder.path()).unwrap();
        changed.verify().unwrap();
        for number in 0..changed.manifest().records as u32 {
            let id = changed.id(number).unwrap();
            assert_eq!(changed.number_of(id), Some(number));
            let row = changed.spaces()[0].row(number).unwrap();
            assert!(ids.get(&id).is_none_or(|before| before == row), "an id stays with its record");
        }
        let elsewhere = tempfile::tempdir().unwrap();
        let anew = build(&sources, elsewhere.path(), metric);
        for source in &sources {
            assert_eq!(changed.sources_of(source.name.as_bytes(), key), anew.sources_of(source.name.as_bytes(), key));
        }
        assert!(changed.sources_of(b"nobody", key).is_empty());
        same(&changed, &anew, &mut random);
        assert_eq!(changed.log().len(), changed.generation() as usize - 1, "after step {step}");
    }
}

#[test]
fn after_random_changes_an_index_answers_as_one_that_is_built_anew() {
    for seed in 0..12 {
        random_changes(seed, Metric::Cosine, 14);
    }
}

#[test]
fn after_random_changes_an_index_of_dot_products_answers_as_one_that_is_built_anew() {
    for seed in 100..104 {
        random_changes(seed, Metric::Dot, 12);
    }
}
