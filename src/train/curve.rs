//! The learning curve as a small self-contained SVG: dev accuracy of both models by epoch.

use super::EpochReport;
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 96.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 44.0;

/// Draws the reports of a run.
pub(super) fn svg(reports: &[EpochReport]) -> String {
    let last = reports.iter().map(|r| r.epoch).max().unwrap_or(1);
    let lowest = reports.iter().map(|r| r.dev_accuracy).fold(1.0, f64::min);
    // The axis starts at a multiple of 10 % below the lowest point, so that grid lines are round numbers.
    let floor = ((lowest * 10.0).floor() / 10.0).clamp(0.0, 0.9);
    let x = |epoch: f64| LEFT + (epoch - 1.0) / (last as f64 - 1.0).max(1.0) * (WIDTH - LEFT - RIGHT);
    let y = |accuracy: f64| HEIGHT - BOTTOM - (accuracy - floor) / (1.0 - floor) * (HEIGHT - TOP - BOTTOM);

    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"Learning curve: dev accuracy by epoch\">\n<style>\
         text{{font:12px system-ui,sans-serif;fill:#333}}.grid{{stroke:#ddd}}.heads{{stroke:#0b6e99;fill:#0b6e99}}\
         .labels{{stroke:#b3541e;fill:#b3541e}}polyline{{fill:none!important;stroke-width:2}}text.heads,text.labels{{stroke:none}}\
         @media(prefers-color-scheme:dark){{text{{fill:#ddd}}.grid{{stroke:#444}}.heads{{stroke:#5fc3e4;fill:#5fc3e4}}\
         .labels{{stroke:#f0975a;fill:#f0975a}}}}</style>\n"
    );
    let lines = ((1.0 - floor) * 10.0).round() as usize;
    for line in 0..=lines {
        let accuracy = floor + line as f64 / 10.0;
        let (at, percent) = (y(accuracy), (accuracy * 100.0).round());
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>",
            WIDTH - RIGHT
        );
        let _ =
            writeln!(out, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{percent} %</text>", LEFT - 8.0, at + 4.0);
    }
    let every = last.div_ceil(10);
    for epoch in (1..=last).filter(|epoch| (epoch - 1) % every == 0) {
        let at = x(epoch as f64);
        let _ = writeln!(
            out,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{epoch}</text>",
            HEIGHT - BOTTOM + 18.0
        );
    }
    let middle = LEFT + (WIDTH - LEFT - RIGHT) / 2.0;
    let _ = writeln!(out, "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">epoch</text>", HEIGHT - 8.0);
    for task in ["heads", "labels"] {
        let points: Vec<(f64, f64)> =
            reports.iter().filter(|r| r.task == task).map(|r| (x(r.epoch as f64), y(r.dev_accuracy))).collect();
        let Some(&(end_x, end_y)) = points.last() else { continue };
        let path: String = points.iter().map(|(x, y)| format!("{x:.1},{y:.1} ")).collect();
        let _ = writeln!(out, "<polyline class=\"{task}\" points=\"{}\"/>", path.trim_end());
        for (x, y) in points {
            let _ = writeln!(out, "<circle class=\"{task}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"/>");
        }
        let best = reports.iter().filter(|r| r.task == task).map(|r| r.dev_accuracy).fold(0.0, f64::max);
        let (x, y) = (end_x + 8.0, end_y + 4.0);
        let _ = writeln!(out, "<text class=\"{task}\" x=\"{x:.1}\" y=\"{y:.1}\">{task} {:.1} %</text>", best * 100.0);
    }
    out + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(task: &str, epoch: usize, dev_accuracy: f64) -> EpochReport {
        EpochReport {
            task: task.to_string(),
            epoch,
            loss: 1.0,
            dev_accuracy,
            best: true,
            train_seconds: 1.0,
            dev_seconds: 1.0,
            tokens_per_second: 1.0,
        }
    }

    #[test]
    fn every_epoch_of_both_models_is_a_point_and_the_best_value_is_labelled() {
        let drawn = svg(&[report("heads", 1, 0.5), report("heads", 2, 0.7), report("labels", 1, 0.81)]);
        assert_eq!(drawn.matches("<circle").count(), 3);
        assert!(drawn.contains("heads 70.0 %") && drawn.contains("labels 81.0 %"));
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"));
    }

    #[test]
    fn a_run_of_one_epoch_or_none_is_drawn_too() {
        for reports in [vec![], vec![report("heads", 1, 0.0)]] {
            let drawn = svg(&reports);
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        }
    }
}
