//! Explains a sentence in fifteen lines: `cargo run --release --example explain -- en.citree 'She reads old letters.'`

#![allow(clippy::print_stdout)]

use citree::explain::Options;

fn main() -> citree::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(bundle), Some(text)) = (arguments.next(), arguments.next()) else {
        panic!("give a bundle and a sentence")
    };
    let explainer = citree::Bundle::open(bundle)?.explainer()?;
    let sentence = explainer.parser().split(&text);
    for explanation in explainer.explain(&[sentence], &Options { count: 3, ..Options::default() })?.iter().flatten() {
        for edge in &explanation.edges {
            println!("{} ←{}─ {}", explanation.form(edge.dependent), edge.label, explanation.form(edge.head));
            for citation in &edge.attachment.citations {
                println!(
                    "  {:.3} like {} in: {}",
                    citation.similarity,
                    citation.label,
                    citation.source.words.join(" ")
                );
            }
            println!("  {}", edge.attachment.in_words(None));
        }
    }
    Ok(())
}
