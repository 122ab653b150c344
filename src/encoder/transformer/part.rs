//! The tensors of a network and where a folder has them: matrices input by output, the three attention projections side
//! by side, and the embedding of the first sentence type added to the positions.

use super::shape::Shape;

/// A tensor of a network.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    /// Its name in a network and, with a prefix, in a model that fine-tunes it.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Where its values come from.
    pub origin: Origin,
}

/// How the values of a tensor are made from those of a folder.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Origin {
    /// One tensor as it is.
    Same(String),
    /// Vectors one after another.
    Vectors(Vec<String>),
    /// Matrices stored output by input; here input by output and side by side.
    Products(Vec<String>),
    /// A table without its first rows, with the first row of another one added to each.
    Positions { table: String, skipped: usize, types: Option<String> },
}

/// Collects the tensors of a network.
#[derive(Default)]
pub(super) struct Parts(Vec<Part>);

impl Parts {
    /// A tensor that is stored as it is.
    pub(super) fn same(&mut self, name: &str, shape: &[usize], from: &str) {
        self.add(name, shape, Origin::Same(from.to_string()));
    }

    /// The scale and the shift of a normalisation.
    pub(super) fn norm(&mut self, name: &str, dims: usize, from: &str) {
        self.scale(name, dims, from);
        self.same(&format!("{name}.shift"), &[dims], &format!("{from}.bias"));
    }

    /// The scale of a normalisation without a shift.
    pub(super) fn scale(&mut self, name: &str, dims: usize, from: &str) {
        self.same(&format!("{name}.scale"), &[dims], &format!("{from}.weight"));
    }

    /// The weights and biases of products side by side.
    pub(super) fn product(&mut self, name: &str, inputs: usize, outputs: usize, from: &[String]) {
        self.weight(name, inputs, outputs, from);
        let biases = from.iter().map(|from| format!("{from}.bias")).collect();
        self.add(&format!("{name}.bias"), &[outputs], Origin::Vectors(biases));
    }

    /// The weights of products side by side, without biases.
    pub(super) fn weight(&mut self, name: &str, inputs: usize, outputs: usize, from: &[String]) {
        let weights = from.iter().map(|from| format!("{from}.weight")).collect();
        self.add(&format!("{name}.weight"), &[inputs, outputs], Origin::Products(weights));
    }

    /// The embeddings of positions, without the first `skipped` of the folder's. `types` are the embeddings of sentence
    /// types: every sentence is of the first type.
    pub(super) fn positions(&mut self, shape: &Shape, table: &str, skipped: usize, types: Option<&str>) {
        let origin = Origin::Positions { table: table.to_string(), skipped, types: types.map(str::to_string) };
        self.add("positions", &[shape.window, shape.embedding], origin);
    }

    fn add(&mut self, name: &str, shape: &[usize], origin: Origin) {
        self.0.push(Part { name: name.to_string(), shape: shape.to_vec(), origin });
    }

    /// All of them.
    pub(super) fn finish(self) -> Vec<Part> {
        self.0
    }
}

/// The names of a layer's tensors in a folder, after those of the layer.
pub(super) struct LayerNames {
    /// Projections to queries, keys and values.
    pub attention: [&'static str; 3],
    /// The product after attention, and the normalisation after it.
    pub output: [&'static str; 2],
    /// The product into the feed-forward part.
    pub rise: &'static str,
    /// The product out of it, and the normalisation after it.
    pub fall: [&'static str; 2],
}

/// The names that BERT has, and the families after it.
pub(super) const BERT_LAYER: LayerNames = LayerNames {
    attention: ["attention.self.query", "attention.self.key", "attention.self.value"],
    output: ["attention.output.dense", "attention.output.LayerNorm"],
    rise: "intermediate.dense",
    fall: ["output.dense", "output.LayerNorm"],
};

impl Parts {
    /// The embeddings of pieces and their normalisation, by the names that most families use.
    pub(super) fn embeddings(&mut self, shape: &Shape) {
        self.same("pieces", &[shape.vocabulary, shape.embedding], "embeddings.word_embeddings.weight");
        self.norm("norm", shape.embedding, "embeddings.LayerNorm");
    }

    /// The tensors of a layer, which a folder has under `place`.
    pub(super) fn layer(&mut self, shape: &Shape, layer: usize, place: &str, names: &LayerNames) {
        let (dims, inner) = (shape.dims, shape.inner);
        let own = |part: &str| format!("layer.{layer:02}.{part}");
        let from = |part: &str| format!("{place}.{part}");
        self.product(&own("projection"), dims, 3 * dims, &names.attention.map(from));
        self.product(&own("output"), dims, dims, &[from(names.output[0])]);
        self.norm(&own("output.norm"), dims, &from(names.output[1]));
        self.product(&own("rise"), dims, inner, &[from(names.rise)]);
        self.product(&own("fall"), inner, dims, &[from(names.fall[0])]);
        self.norm(&own("fall.norm"), dims, &from(names.fall[1]));
    }
}
