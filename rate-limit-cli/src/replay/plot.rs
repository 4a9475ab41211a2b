//! The events refused over time, a line for each candidate.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

use crate::failure::{Code, Failure};
use crate::replay::slots::Slots;
use crate::text;

/// Tells colours apart, also for who sees few of them. Source: Okabe and Ito, *Color Universal Design*.
const COLORS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
];

/// Writes an SVG of the candidates' events refused in each slot.
pub fn write(path: &Path, slots: &Slots, candidates: &[(&str, &[u64])]) -> Result<(), Failure> {
    draw(path, slots, candidates)
        .map_err(|error| Failure::new(Code::Output, format!("{}: cannot be written: {error}", path.display())))
}

fn draw(path: &Path, slots: &Slots, candidates: &[(&str, &[u64])]) -> Result<(), Box<dyn Error>> {
    let most = candidates
        .iter()
        .flat_map(|(_, refused)| *refused)
        .max()
        .copied()
        .unwrap_or(0);
    let area = SVGBackend::new(path, (1_000, 500)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption("Events refused over time", ("sans-serif", 20))
        .margin(15)
        .x_label_area_size(45)
        .y_label_area_size(60)
        .build_cartesian_2d(0..slots.count(), 0..most.max(1) + most / 20)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .x_labels(6)
        .x_label_formatter(&|slot| text::time(slots.begin(*slot)).strftime("%Y-%m-%d %H:%M").to_string())
        .x_desc("UTC")
        .y_label_formatter(&|refused| text::Count(*refused).to_string())
        .draw()?;
    for ((name, refused), color) in candidates.iter().zip(COLORS.into_iter().cycle()) {
        // From the beginning of each slot to its end.
        let steps = refused
            .iter()
            .enumerate()
            .flat_map(|(slot, refused)| [(slot, *refused), (slot + 1, *refused)]);
        chart
            .draw_series(LineSeries::new(steps, color.stroke_width(2)))?
            .label(*name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color.stroke_width(3)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.85))
        .border_style(TRANSPARENT)
        .draw()?;
    area.present()?;
    Ok(())
}
