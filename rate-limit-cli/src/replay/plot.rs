//! The events refused over time, a line for each candidate.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

use crate::failure::Failure;
use crate::plot::{self, Area, COLORS};
use crate::text;
use crate::trial::slots::Slots;

/// Writes an SVG of the candidates' events refused in each slot.
pub fn write(path: &Path, slots: &Slots, candidates: &[(&str, &[u64])]) -> Result<(), Failure> {
    plot::write(path, |area| draw(area, slots, candidates))
}

fn draw(area: &Area<'_>, slots: &Slots, candidates: &[(&str, &[u64])]) -> Result<(), Box<dyn Error>> {
    let most = candidates
        .iter()
        .flat_map(|(_, refused)| *refused)
        .max()
        .copied()
        .unwrap_or(0);
    let mut chart = ChartBuilder::on(area)
        .caption("Events refused over time", ("sans-serif", 20))
        .margin(15)
        .x_label_area_size(45)
        .y_label_area_size(60)
        .build_cartesian_2d(0..slots.count(), 0..most.max(1) + most / 20)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .label_style(plot::LABELS)
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
        .label_font(plot::LABELS)
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.85))
        .border_style(TRANSPARENT)
        .draw()?;
    Ok(())
}
