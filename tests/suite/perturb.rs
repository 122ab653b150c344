//! Sentences with seeded errors, as a parser or a tokenizer can make them. The results are still trees.

use citree::treebank::Sentence;

/// SplitMix64: the same errors in every run.
pub struct Random(pub u64);

impl Random {
    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

const LABELS: [&str; 9] =
    ["nsubj", "nsubj:pass", "punct", "case", "det:predet", "obl:tmod", "compound:prt", "flat", "acl"];

/// A sentence being changed: nodes that point to their heads, and tokens that hold nodes.
pub struct Draft {
    nodes: Vec<Node>,
    tokens: Vec<Token>,
}

struct Node {
    form: String,
    /// The head among the nodes, `None` for ROOT.
    head: Option<usize>,
    label: String,
}

#[derive(Clone)]
struct Token {
    form: String,
    nodes: Vec<usize>,
}

impl Draft {
    /// Starts from a gold tree.
    pub fn new(sentence: &Sentence) -> Self {
        let node = |word: &citree::treebank::Word| Node {
            form: word.form.clone(),
            head: word.head.and_then(|head| head.checked_sub(1)),
            label: word.label.clone(),
        };
        let nodes = sentence.words().iter().map(node).collect();
        let mut tokens: Vec<Token> = Vec::new();
        let mut covered = 0;
        for (place, word) in sentence.words().iter().enumerate() {
            if let Some(range) = sentence.multiword_tokens().iter().find(|range| range.first == place + 1) {
                tokens.push(Token { form: range.form.clone(), nodes: (place..range.last).collect() });
                covered = range.last;
            } else if place >= covered {
                tokens.push(Token { form: word.form.clone(), nodes: vec![place] });
            }
        }
        Self { nodes, tokens }
    }

    /// The sentence as CoNLL-U with about one error in four words, in the tokens too if asked.
    pub fn perturbed(mut self, tokens: bool, random: &mut Random) -> String {
        for _ in 0..self.nodes.len().div_ceil(4) {
            let node = random.below(self.nodes.len());
            match random.below(if tokens { 6 } else { 2 }) {
                0 => self.reattach(node, random.below(self.nodes.len())),
                1 => self.nodes[node].label = LABELS[random.below(LABELS.len())].to_owned(),
                2 => self.cut(random.below(self.tokens.len()), false),
                3 => self.cut(random.below(self.tokens.len()), true),
                4 => self.fuse(random.below(self.tokens.len()), 1),
                _ => self.fuse(random.below(self.tokens.len()), 2),
            }
        }
        self.text()
    }

    fn reattach(&mut self, node: usize, head: usize) {
        let in_use = |node: usize| self.tokens.iter().any(|token| token.nodes.contains(&node));
        let below = std::iter::successors(Some(head), |&above| self.nodes[above].head).any(|above| above == node);
        if self.nodes[node].head.is_some() && !below && in_use(head) && in_use(node) {
            self.nodes[node].head = Some(head);
        }
    }

    /// Splits a token of one word in two: into tokens, or into the words of a multiword token.
    fn cut(&mut self, place: usize, multiword: bool) {
        let Token { form, nodes } = self.tokens[place].clone();
        let middle = form.char_indices().map(|(at, _)| at).nth(form.chars().count() / 2).unwrap_or(0);
        let ([node], true) = (&nodes[..], middle > 0 && !form.contains(' ')) else { return };
        let (first, second) = form.split_at(middle);
        self.nodes.push(Node { form: second.to_owned(), head: Some(*node), label: "goeswith".to_owned() });
        self.nodes[*node].form = if multiword { first.to_uppercase() } else { first.to_owned() };
        let added = self.nodes.len() - 1;
        if multiword {
            self.tokens[place].nodes.push(added);
        } else {
            self.tokens[place].form = first.to_owned();
            self.tokens.insert(place + 1, Token { form: second.to_owned(), nodes: vec![added] });
        }
    }

    /// Joins `count` tokens into one word. Their highest node takes over the dependents of the others.
    fn fuse(&mut self, place: usize, count: usize) {
        let fused: Vec<Token> = self.tokens[place..(place + count).min(self.tokens.len())].to_vec();
        let nodes: Vec<usize> = fused.iter().flat_map(|token| token.nodes.clone()).collect();
        let depth = |node: usize| std::iter::successors(Some(node), |&node| self.nodes[node].head).count();
        let Some(&highest) = nodes.iter().min_by_key(|&&node| depth(node)) else { return };
        for node in 0..self.nodes.len() {
            if node != highest && self.nodes[node].head.is_some_and(|head| nodes.contains(&head)) {
                self.nodes[node].head = Some(highest);
            }
        }
        let form: String = fused.iter().map(|token| token.form.as_str()).collect();
        self.nodes[highest].form = form.clone();
        self.tokens.splice(place..place + fused.len(), [Token { form, nodes: vec![highest] }]);
    }

    fn text(&self) -> String {
        let order: Vec<usize> = self.tokens.iter().flat_map(|token| token.nodes.clone()).collect();
        let id = |node: usize| order.iter().position(|&other| other == node).map_or(0, |place| place + 1);
        let mut text = String::new();
        for token in &self.tokens {
            if let [first, .., last] = token.nodes[..] {
                text += &format!("{}-{}\t{}\t_\t_\t_\t_\t_\t_\t_\t_\n", id(first), id(last), token.form);
            }
            for &node in &token.nodes {
                let Node { form, head, label } = &self.nodes[node];
                let head = head.map_or(0, id);
                text += &format!("{}\t{form}\t_\t_\t_\t_\t{head}\t{label}\t_\t_\n", id(node));
            }
        }
        text + "\n"
    }
}
