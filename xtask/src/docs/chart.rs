//! A chart as inline SVG, in the colour of the text around it.

use std::fmt::Write as _;

use super::history::Unit;

/// The size of the picture, and of the area with the points.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 460.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 150.0;
/// The most labels below the points.
const MOST_LABELS: usize = 6;

/// The values of a figure over the releases.
pub(super) struct Chart {
    /// A name for fragments.
    pub(super) id: String,
    /// The title, as HTML.
    pub(super) title: String,
    pub(super) unit: Unit,
    pub(super) bound: f64,
    pub(super) points: Vec<Point>,
}

/// The value of a release.
pub(super) struct Point {
    /// The release, as HTML.
    pub(super) label: String,
    /// The number of the machine.
    pub(super) machine: usize,
    pub(super) value: f64,
    pub(super) least: f64,
    pub(super) most: f64,
}

/// The values at the bottom and at the top of the area.
struct Scale {
    bottom: f64,
    top: f64,
}

impl Scale {
    fn new(chart: &Chart) -> Self {
        let values = || chart.points.iter().flat_map(|point| [point.least, point.most, point.value]);
        let top = values().fold(chart.bound, f64::max);
        let bottom = values().fold(0.0, f64::min);
        Self { bottom, top: if top > bottom { top } else { bottom + 1.0 } }
    }

    /// Returns the height of a value.
    fn y(&self, value: f64) -> f64 {
        BOTTOM - (value - self.bottom) / (self.top - self.bottom) * (BOTTOM - TOP)
    }
}

impl Chart {
    /// Returns the picture. It has no empty line, so Markdown does not read it.
    pub(super) fn svg(&self) -> String {
        let (id, scale) = (&self.id, Scale::new(self));
        let mut svg = format!(
            "<figure>\n<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             aria-labelledby=\"chart-{id}-title chart-{id}-description\" font-size=\"13\" fill=\"currentColor\" stroke=\"currentColor\">\n\
             <title id=\"chart-{id}-title\">{}</title>\n<desc id=\"chart-{id}-description\">{}</desc>\n",
            self.title,
            self.description(),
        );
        self.axes(&scale, &mut svg);
        self.lines(&scale, &mut svg);
        self.marks(&scale, &mut svg);
        svg += "</svg>\n</figure>\n";
        svg
    }

    /// Returns the values as a sentence.
    fn description(&self) -> String {
        let values: Vec<String> = self
            .points
            .iter()
            .map(|point| format!("{}: {} on machine {}", point.label, self.unit.format(point.value), point.machine))
            .collect();
        format!(
            "{}. The target is {}. The table after the chart has the same values.",
            values.join("; "),
            self.unit.format(self.bound)
        )
    }

    /// Returns the place of a point from left to right.
    fn x(&self, place: usize) -> f64 {
        let steps = self.points.len() as f64;
        LEFT + (place as f64 + 0.5) / steps * (RIGHT - LEFT)
    }

    fn axes(&self, scale: &Scale, svg: &mut String) {
        _ = writeln!(svg, "<path d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\" fill=\"none\"/>");
        for value in [scale.bottom, scale.top] {
            let (x, y) = (LEFT - 6.0, scale.y(value) + 4.0);
            _ = writeln!(
                svg,
                "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\" stroke=\"none\">{}</text>",
                self.unit.format(value)
            );
        }
        let y = scale.y(self.bound);
        _ = writeln!(svg, "<path d=\"M{LEFT} {y:.1}H{RIGHT}\" fill=\"none\" stroke-dasharray=\"6 4\"/>");
        _ = writeln!(svg, "<text x=\"{RIGHT}\" y=\"{:.1}\" text-anchor=\"end\" stroke=\"none\">target</text>", y - 4.0);
    }

    /// Draws a line between neighbours on the same machine.
    fn lines(&self, scale: &Scale, svg: &mut String) {
        for (place, pair) in self.points.windows(2).enumerate() {
            if let [one, other] = pair
                && one.machine == other.machine
            {
                let (x, y) = (self.x(place), scale.y(one.value));
                _ = writeln!(svg, "<path d=\"M{x:.1} {y:.1}L{:.1} {:.1}\"/>", self.x(place + 1), scale.y(other.value));
            }
        }
    }

    /// Draws the points with their bars and labels.
    fn marks(&self, scale: &Scale, svg: &mut String) {
        let step = self.points.len().div_ceil(MOST_LABELS);
        for (place, point) in self.points.iter().enumerate() {
            let x = self.x(place);
            _ = writeln!(svg, "<path d=\"M{x:.1} {:.1}V{:.1}\"/>", scale.y(point.least), scale.y(point.most));
            _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{:.1}\" r=\"4\"/>", scale.y(point.value));
            if place.is_multiple_of(step) {
                let label = |y: f64, text: &str| {
                    format!("<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\" stroke=\"none\">{text}</text>\n")
                };
                *svg += &label(BOTTOM + 20.0, &point.label);
                *svg += &label(BOTTOM + 37.0, &format!("machine {}", point.machine));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(machine: usize, value: f64) -> Point {
        Point { label: format!("0.{machine}.0"), machine, value, least: value - 1.0, most: value + 1.0 }
    }

    fn chart(points: Vec<Point>) -> Chart {
        Chart { id: "a".to_owned(), title: "a".to_owned(), unit: Unit::Seconds, bound: 3.0, points }
    }

    #[test]
    fn a_line_joins_points_of_one_machine_only() {
        let lines = |points| chart(points).svg().matches('L').count();
        assert_eq!(lines(vec![point(1, 1.0)]), 0);
        assert_eq!(lines(vec![point(1, 1.0), point(1, 2.0)]), 1);
        assert_eq!(lines(vec![point(1, 1.0), point(2, 2.0)]), 0);
    }

    #[test]
    fn a_picture_has_a_title_and_its_values_as_text_and_no_empty_line() {
        let svg = chart(vec![point(1, 1.5), point(1, 9.0)]).svg();
        assert!(svg.contains("aria-labelledby=\"chart-a-title chart-a-description\""), "{svg}");
        assert!(svg.contains("0.1.0: 1.5 s on machine 1; 0.1.0: 9 s on machine 1. The target is 3 s."), "{svg}");
        assert!(!svg.contains("\n\n"), "{svg}");
    }

    #[test]
    fn every_point_is_inside_the_picture() {
        for points in [
            vec![point(1, -5.0), point(1, 100.0)],
            vec![point(1, 0.0)],
            (0..50).map(|place| point(1, f64::from(place))).collect(),
        ] {
            let chart = chart(points);
            let scale = Scale::new(&chart);
            for (place, point) in chart.points.iter().enumerate() {
                assert!((LEFT..=RIGHT).contains(&chart.x(place)));
                for value in [point.least, point.value, point.most, chart.bound] {
                    assert!((TOP..=BOTTOM).contains(&scale.y(value)), "{value}");
                }
            }
        }
    }
}
