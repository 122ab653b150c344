//! The graph for other programs: that of the index, or one built from the rows that count.

use std::collections::HashSet;
use std::ops::ControlFlow;

use citree_index::{Adjacency, GraphSpec, Metric, Space};

use crate::{
    make::Data,
    sources::{Source, build, change, some_sources},
};

const SPEC: GraphSpec = GraphSpec { degree: 4, effort: 30, least: 60 };

fn adjacency(space: &Space) -> Adjacency {
    let scratch = tempfile::tempdir().unwrap();
    space.adjacency(scratch.path(), SPEC, &|_, _, _| {}).unwrap()
}

/// All links, layer by layer.
fn links(graph: &Adjacency) -> Vec<Vec<(u32, Vec<u32>)>> {
    let of_layer = |layer: usize| {
        let linked = |node: &u32| Some((*node, graph.links(layer, *node)?.to_vec()));
        graph.nodes().iter().filter_map(linked).collect()
    };
    (0..graph.layers()).map(of_layer).collect()
}

#[test]
fn every_row_has_a_node_and_every_node_is_within_reach() {
    let folder = tempfile::tempdir().unwrap();
    let mut data = Data::small(5);
    // Equal rows share a node.
    let row = data.row(3).to_vec();
    data.rows[0][17 * data.dims..18 * data.dims].copy_from_slice(&row);
    let builder = data.filled(folder.path()).unwrap();
    builder.finish(&|_| ControlFlow::Continue(())).unwrap();
    let index = citree_index::Index::open(folder.path()).unwrap();
    let space = &index.spaces()[0];
    let graph = adjacency(space);
    assert_eq!(graph.nodes().len(), space.count() - 1);
    let mut rows: Vec<u32> = graph.nodes().iter().flat_map(|node| graph.twins(*node)).collect();
    rows.sort_unstable();
    assert_eq!(rows, (0..space.count() as u32).collect::<Vec<_>>());
    let layers = links(&graph);
    assert!(layers.len() > 1, "a graph with layers");
    for (layer, of_layer) in layers.iter().enumerate() {
        let members: HashSet<u32> = of_layer.iter().map(|(node, _)| *node).collect();
        assert!(members.contains(&graph.entry()));
        assert!(layer == 0 || members.iter().all(|node| graph.links(layer - 1, *node).is_some()));
        let most = if layer == 0 { 2 * graph.degree() } else { graph.degree() };
        for (node, links) in of_layer {
            assert!(links.len() <= most && links.iter().all(|link| link != node && members.contains(link)));
        }
    }
    let (mut seen, mut open) = (HashSet::new(), vec![graph.entry()]);
    while let Some(node) = open.pop() {
        if seen.insert(node) {
            open.extend(graph.links(0, node).unwrap());
        }
    }
    assert_eq!(seen.len(), graph.nodes().len());
    assert!(graph.links(graph.layers(), graph.entry()).is_none());
}

#[test]
fn without_removed_rows_it_is_the_graph_of_an_index_that_never_had_them() {
    let (changed, anew) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let sources = some_sources(0..60);
    drop(build(&sources, changed.path(), Metric::Cosine));
    change(changed.path(), &[sources[9].name.clone(), sources[41].name.clone()], &[], usize::MAX, Metric::Cosine)
        .unwrap();
    let left: Vec<Source> =
        sources.iter().enumerate().filter(|(at, _)| ![9, 41].contains(at)).map(|(_, source)| source.clone()).collect();
    let (changed, anew) =
        (citree_index::Index::open(changed.path()).unwrap(), build(&left, anew.path(), Metric::Cosine));
    assert!(changed.manifest().records < sources_of(&sources) && anew.manifest().spaces[0].graph.is_some());
    for space in 0..2 {
        let (own, other) = (adjacency(&changed.spaces()[space]), adjacency(&anew.spaces()[space]));
        assert_eq!((own.nodes(), own.entry(), links(&own)), (other.nodes(), other.entry(), links(&other)));
    }
}

fn sources_of(sources: &[Source]) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    build(sources, folder.path(), Metric::Cosine).manifest().records
}

#[test]
fn several_segments_and_contrast_records_have_one_graph() {
    let folder = tempfile::tempdir().unwrap();
    let sources = some_sources(0..30);
    drop(build(&sources[..12], folder.path(), Metric::Cosine));
    change(folder.path(), &[], &sources[12..], usize::MAX, Metric::Cosine).unwrap();
    let index = citree_index::Index::open(folder.path()).unwrap();
    assert_eq!(index.segments().len(), 2);
    for space in [&index.spaces()[0], index.contrasts().unwrap().space()] {
        let graph = adjacency(space);
        assert_eq!(graph.nodes().len(), space.count());
    }
    let ids: HashSet<u64> = (0..).map_while(|number| index.contrast_id(number)).collect();
    assert_eq!(ids.len(), index.contrasts().unwrap().space().count());
}

#[test]
fn dot_products_have_no_graph() {
    let (folder, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let index = build(&some_sources(0..9), folder.path(), Metric::Dot);
    let error = index.spaces()[0].adjacency(scratch.path(), SPEC, &|_, _, _| {}).unwrap_err();
    assert!(error.to_string().contains("expected cosine"), "{error}");
}
