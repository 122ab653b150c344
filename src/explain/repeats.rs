//! Citations of the same edge in the same words: treebanks repeat sentences, and a reader needs to see each once.

use super::Citation;

/// A citation, and those that cite the same edge of another sentence with the same words.
#[derive(Clone, Debug)]
pub(crate) struct Repeats<'a> {
    /// The first of them.
    pub first: &'a Citation,
    /// The others, in their order.
    pub others: Vec<&'a Citation>,
}

impl Repeats<'_> {
    /// Their number.
    pub(crate) fn count(&self) -> usize {
        1 + self.others.len()
    }

    /// Their total share of the evidence.
    pub(crate) fn share(&self) -> f64 {
        self.all().map(|citation| citation.share).sum()
    }

    /// Their total share of the margin.
    pub(crate) fn margin_share(&self) -> Option<f64> {
        self.all().map(|citation| citation.margin_share).sum()
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Citation> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }
}

/// Groups citations of the same words and the same edge. A group takes the place of its first citation.
pub(crate) fn repeats(citations: &[Citation]) -> Vec<Repeats<'_>> {
    let key = |of: &Citation| (of.dependent, of.head, of.gold_head);
    let same =
        |a: &Citation, b: &Citation| key(a) == key(b) && (&a.label, &a.source.words) == (&b.label, &b.source.words);
    let mut groups: Vec<Repeats<'_>> = Vec::new();
    for citation in citations {
        match groups.iter_mut().find(|group| same(group.first, citation)) {
            Some(group) => group.others.push(citation),
            None => groups.push(Repeats { first: citation, others: Vec::new() }),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Source;
    use std::sync::Arc;

    fn citation(sent_id: &str, words: &[&str], dependent: usize) -> Citation {
        let words = words.iter().map(ToString::to_string).collect();
        Citation {
            edge: 0,
            source: Arc::new(Source { sent_id: sent_id.to_string(), document: String::new(), words }),
            dependent,
            head: 2,
            gold_head: None,
            label: "obj".to_string(),
            similarity: 0.9,
            share: 0.25,
            margin_share: Some(0.5),
        }
    }

    #[test]
    fn the_same_edge_of_the_same_words_is_one_group_and_shares_add_up() {
        let words = ["I", "saw", "it"];
        let all = [citation("a", &words, 3), citation("b", &["I", "saw", "her"], 3), citation("c", &words, 3)];
        let groups = repeats(&all);
        let ids = |group: &Repeats<'_>| group.all().map(|one| one.source.sent_id.clone()).collect::<Vec<_>>();
        assert_eq!(groups.iter().map(ids).collect::<Vec<_>>(), [vec!["a", "c"], vec!["b"]]);
        assert_eq!((groups[0].count(), groups[0].share(), groups[0].margin_share()), (2, 0.5, Some(1.0)));
    }

    #[test]
    fn another_edge_of_the_same_words_is_another_citation() {
        let words = ["I", "saw", "it"];
        assert_eq!(repeats(&[citation("a", &words, 3), citation("a", &words, 1)]).len(), 2);
    }
}
