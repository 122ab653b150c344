//! A rule of your own: decide by the training edges that are nearly the same, and by no others.
//!
//! ```text
//! cargo run --release --example own_rule -- en.citree 'She reads old letters.'
//! ```
//!
//! A rule says what one training edge contributes to a side of a decision, given its similarity. citree adds the
//! contributions up, decides, cites, splits scores over groups and finds flip sets by it, as by the rules it comes with.

#![allow(clippy::print_stdout)]

use citree::explain::Options;
use citree::parse::Settings;
use citree::rule::{Context, Scoring, Totals};
use citree::{Bundle, Result, Rule};

/// Only training edges above a cosine count, each for one.
#[derive(Debug)]
struct NearlyTheSame {
    least: f32,
}

impl Scoring for NearlyTheSame {
    fn name(&self) -> &'static str {
        "nearly-the-same"
    }

    fn describe(&self) -> String {
        format!("training edges with a cosine of at least {} count, all alike", self.least)
    }

    fn contribution(&self, similarity: f32, context: &Context) -> f64 {
        // Below the threshold a little is left, so that a word without such edges is not decided by chance.
        let weight = if similarity >= self.least { 1.0 } else { 1e-3 * f64::from(similarity) };
        context.scale.share(context.count) * weight
    }

    fn score(&self, totals: Totals, _context: &Context) -> f64 {
        // Probabilities are computed from scores, so a total of counts is put on the scale of a logarithm.
        totals.evidence().max(f64::MIN_POSITIVE).ln()
    }
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(bundle), Some(text)) = (arguments.next(), arguments.next()) else {
        panic!("give a bundle and a sentence")
    };
    let rule = Rule::own(NearlyTheSame { least: 0.9 })?;
    let explainer = Bundle::open(bundle)?.explainer_with(&Settings { rule: Some(rule), ..Settings::default() })?;
    let sentence = explainer.parser().split(&text);
    println!("{}", explainer.parser().rule().describe());
    for explanation in explainer.explain(&[sentence], &Options::default())?.iter().flatten() {
        for edge in &explanation.edges {
            let coverage = &edge.attachment.coverage;
            println!(
                "{} is {} of {}: {} citations carry {:.1} % of what counts",
                explanation.form(edge.dependent),
                edge.label,
                explanation.form(edge.head),
                coverage.cited,
                100.0 * coverage.score
            );
        }
    }
    Ok(())
}
