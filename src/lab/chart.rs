//! Line charts as small self-contained SVGs, readable on light and dark backgrounds.

use crate::explain::html::escape;
use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 128.0;
const TOP: f64 = 32.0;
const BOTTOM: f64 = 48.0;
/// The colours of each line on a light and on a dark background.
const COLOURS: [(&str, &str); 8] = [
    ("#c1121f", "#ff6b6b"),
    ("#0b6e99", "#5fc3e4"),
    ("#b3541e", "#f0975a"),
    ("#2e7d32", "#81c784"),
    ("#6a3d9a", "#bb9af7"),
    ("#8d6e00", "#e0c050"),
    ("#555555", "#bbbbbb"),
    ("#ad1457", "#f48fb1"),
];

/// A named line.
pub(crate) struct Line {
    /// The name in the legend.
    pub name: String,
    /// The points. Those outside the axes are not drawn.
    pub points: Vec<(f64, f64)>,
    /// A caption for each point; empty for a line without captions.
    pub captions: Vec<String>,
}

/// An axis over a range of values.
pub(crate) struct Axis {
    title: String,
    low: f64,
    high: f64,
    logarithmic: bool,
    ticks: Vec<f64>,
}

impl Axis {
    /// An axis with evenly spaced ticks.
    pub(crate) fn even(title: &str, low: f64, high: f64, steps: usize) -> Self {
        let ticks = (0..=steps).map(|step| low + (high - low) * step as f64 / steps as f64).collect();
        Self { title: title.to_string(), low, high, logarithmic: false, ticks }
    }

    /// An axis around these values with round ticks: the largest step that gives more than three intervals.
    pub(crate) fn around(title: &str, values: impl Iterator<Item = f64> + Clone) -> Self {
        let values = values.filter(|value| value.is_finite());
        let least = values.clone().reduce(f64::min).unwrap_or_default();
        let most = values.fold(least, f64::max);
        let ends = |step: f64| ((least / step).floor() * step, ((most / step).floor() + 1.0) * step);
        let count = |step: f64| ((ends(step).1 - ends(step).0) / step).round() as usize;
        let step = [10.0, 5.0, 2.0, 1.0, 0.5, 0.2].into_iter().find(|step| count(*step) > 3).unwrap_or(0.1);
        let (low, high) = ends(step);
        Self::even(title, low, high, count(step))
    }

    /// A logarithmic axis around these values, with ticks at 1, 2 and 5 of each power of ten.
    pub(crate) fn logarithmic(title: &str, values: impl Iterator<Item = f64> + Clone) -> Self {
        let values = values.filter(|value| *value > 0.0 && value.is_finite());
        let least = values.clone().fold(f64::INFINITY, f64::min).clamp(1e-9, 1e12);
        let most = values.fold(least, f64::max);
        let round = (-10..=13).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
        let low = round.clone().filter(|tick| *tick <= least).fold(1e-9, f64::max);
        let high = round.clone().filter(|tick| *tick >= most && *tick > low).fold(1e13, f64::min);
        let mut ticks: Vec<f64> = round.filter(|tick| (low..=high).contains(tick)).collect();
        if ticks.len() > 10 {
            ticks.retain(|tick| (tick.log10() - tick.log10().round()).abs() < 1e-9);
        }
        Self { title: title.to_string(), low, high, logarithmic: true, ticks }
    }

    /// The position of a value between 0 and 1; `None` if it is outside.
    fn place(&self, value: f64) -> Option<f64> {
        let scale = |value: f64| if self.logarithmic { value.log10() } else { value };
        let place = (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low));
        (-1e-9..=1.0 + 1e-9).contains(&place).then_some(place)
    }

    fn name(&self, tick: f64) -> String {
        match (self.logarithmic, tick) {
            (false, _) if self.ticks.iter().all(|tick| tick.fract() == 0.0) => format!("{tick:.0}"),
            (false, _) => format!("{tick:.2}"),
            (true, 1e6..) => format!("{} M", tick / 1e6),
            (true, 1e4..) => format!("{:.0} k", tick / 1e3),
            (true, 1.0..) => format!("{tick:.0}"),
            (true, _) => format!("{}", (tick * 1e9).round() / 1e9),
        }
    }
}

/// Draws lines over two axes, with a legend on the right.
pub(crate) fn svg(title: &str, across: &Axis, up: &Axis, lines: &[Line]) -> String {
    let x = |place: f64| LEFT + place * (WIDTH - LEFT - RIGHT);
    let y = |place: f64| HEIGHT - BOTTOM - place * (HEIGHT - TOP - BOTTOM);
    let colours = |dark: bool| {
        COLOURS.iter().enumerate().fold(String::new(), |mut style, (number, (on_light, on_dark))| {
            let colour = if dark { on_dark } else { on_light };
            let _ = write!(style, ".l{number}{{stroke:{colour};fill:{colour}}}");
            style
        })
    };
    // Long names in the legend need more room: about seven units a character, after the mark of the line.
    let longest = lines.iter().map(|line| line.name.chars().count()).max().unwrap_or_default();
    let width = WIDTH.max(WIDTH - RIGHT + 40.0 + 7.0 * longest as f64);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">\n\
         <style>text{{font:12px system-ui,sans-serif;fill:#333}}.grid{{stroke:#ddd}}{}polyline{{fill:none!important;\
         stroke-width:2}}text[class]{{stroke:none}}@media(prefers-color-scheme:dark){{text{{fill:#ddd}}.grid{{stroke:#444}}{}}}\
         </style>\n",
        colours(false),
        colours(true)
    );
    for (tick, at) in up.ticks.iter().filter_map(|tick| Some((*tick, y(up.place(*tick)?)))) {
        let end = WIDTH - RIGHT;
        let _ = writeln!(out, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{end}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>");
        let (left, base) = (LEFT - 8.0, at + 4.0);
        let _ = writeln!(out, "<text x=\"{left}\" y=\"{base:.1}\" text-anchor=\"end\">{}</text>", up.name(tick));
    }
    for (tick, at) in across.ticks.iter().filter_map(|tick| Some((*tick, x(across.place(*tick)?)))) {
        let (bottom, base) = (HEIGHT - BOTTOM, HEIGHT - BOTTOM + 18.0);
        let _ = writeln!(out, "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>");
        let _ = writeln!(out, "<text x=\"{at:.1}\" y=\"{base}\" text-anchor=\"middle\">{}</text>", across.name(tick));
    }
    let (middle, bottom) = (x(0.5), HEIGHT - 8.0);
    let _ = writeln!(out, "<text x=\"{middle}\" y=\"{bottom}\" text-anchor=\"middle\">{}</text>", across.title);
    let _ = writeln!(out, "<text x=\"4\" y=\"12\">{}</text>", up.title);
    for (number, line) in lines.iter().enumerate() {
        let class = format!("l{}", number % COLOURS.len());
        let place = |(a, b): &(f64, f64)| Some((x(across.place(*a)?), y(up.place(*b)?)));
        let points: Vec<(f64, f64)> = line.points.iter().filter_map(place).collect();
        for (at, (point, caption)) in line.points.iter().zip(&line.captions).enumerate() {
            let Some((x, y)) = place(point) else { continue };
            // Captions point towards the middle, so that none crosses the edge. They alternate above and below, so that
            // few overlap.
            let (anchor, beside) = if x < WIDTH / 2.0 { ("start", x + 6.0) } else { ("end", x - 6.0) };
            let base = if at % 2 == 0 { y - 6.0 } else { y + 15.0 };
            let _ = writeln!(
                out,
                "<text class=\"{class}\" x=\"{beside:.1}\" y=\"{base:.1}\" text-anchor=\"{anchor}\">{caption}</text>"
            );
        }
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(out, "<polyline class=\"{class}\" points=\"{}\"/>", path.join(" "));
        for (x, y) in points {
            let _ = writeln!(out, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"/>");
        }
        let (left, at) = (WIDTH - RIGHT + 16.0, TOP + 12.0 + 20.0 * number as f64);
        let _ = writeln!(out, "<rect class=\"{class}\" x=\"{left}\" y=\"{}\" width=\"12\" height=\"3\"/>", at - 5.0);
        let _ = writeln!(out, "<text class=\"{class}\" x=\"{}\" y=\"{at}\">{}</text>", left + 18.0, escape(&line.name));
    }
    out + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_outside_the_axes_are_not_drawn_and_every_line_is_in_the_legend() {
        let line = |name: &str, points: &[(f64, f64)]| Line {
            name: name.to_string(),
            points: points.to_vec(),
            captions: points.iter().map(|point| format!("at {}", point.0)).collect(),
        };
        let lines = [line("one", &[(0.5, 10.0), (0.95, 300.0), (1.0, 40.0)]), line("two", &[])];
        let up = Axis::logarithmic("queries/s", lines.iter().flat_map(|line| line.points.iter().map(|point| point.1)));
        let drawn = svg("speed by recall", &Axis::even("recall", 0.9, 1.0, 10), &up, &lines);
        assert_eq!((drawn.matches("<circle").count(), drawn.matches("<polyline").count()), (2, 2));
        assert!(drawn.contains(">one</text>") && drawn.contains(">two</text>") && drawn.contains(">500</text>"));
        assert!(drawn.contains(">at 0.95</text>") && !drawn.contains(">at 0.5</text>"));
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"));
    }

    #[test]
    fn axes_can_be_made_from_no_value_or_one_value() {
        for values in [vec![], vec![0.0], vec![100.0]] {
            let values = values.iter().copied();
            for axis in [Axis::logarithmic("seconds", values.clone()), Axis::around("points", values.clone())] {
                assert!(axis.low < axis.high && axis.ticks.len() >= 2, "{values:?}: {} {}", axis.low, axis.high);
            }
        }
    }

    #[test]
    fn an_axis_around_values_has_round_ticks_and_room_for_all_of_them() {
        let axis = Axis::around("UAS, %", [80.45, 82.32, 81.0].into_iter());
        assert_eq!(axis.ticks, [80.0, 80.5, 81.0, 81.5, 82.0, 82.5]);
    }
}
