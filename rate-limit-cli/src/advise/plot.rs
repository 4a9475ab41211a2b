//! Bursts and gaps, with the advised numbers.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::advice::{Advice, span};
use super::bursts::{Bursts, Size};
use super::gaps::Gaps;
use crate::failure::Failure;
use crate::plot::{self, Area, COLORS};

/// Writes an SVG with both distributions.
pub fn write(path: &Path, bursts: &Bursts, gaps: &Gaps, advice: &Advice) -> Result<(), Failure> {
    plot::write(path, |area| {
        let (left, right) = area.split_horizontally(500);
        draw_bursts(&left, bursts, advice)?;
        draw_gaps(&right, gaps, advice)
    })
}

/// Beyond this size there is little to see, but for the capacity.
const MOST_SIZES: u64 = 20;

fn draw_bursts(area: &Area<'_>, bursts: &Bursts, advice: &Advice) -> Result<(), Box<dyn Error>> {
    let capacity = advice.bucket.as_ref().map(|bucket| bucket.numbers.count());
    let most = MOST_SIZES.max(capacity.unwrap_or(1).into());
    let sizes: Vec<Size> = bursts.sizes().take_while(|size| size.events <= most).collect();
    // The axis begins and ends with half a size: one alone would fill it.
    let largest = sizes.last().map_or(3, |size| size.events.max(3));
    let mut chart = ChartBuilder::on(area)
        .caption("Bursts by size", ("sans-serif", 20))
        .margin(15)
        .x_label_area_size(45)
        .y_label_area_size(55)
        .build_cartesian_2d((1..largest as u32).into_segmented(), 0.0..100.0)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .label_style(plot::LABELS)
        .y_label_formatter(&|percent| format!("{percent:.0}"))
        .x_desc("events in a burst")
        .y_desc("percent of bursts")
        .draw()?;
    let bars = sizes.iter().map(|size| (size.events as u32, size.share * 100.0));
    chart
        .draw_series(
            Histogram::vertical(&chart)
                .margin(4)
                .style(COLORS[4].filled())
                .data(bars),
        )?
        .label("of this size")
        .legend(|(x, y)| Rectangle::new([(x, y - 5), (x + 20, y + 5)], COLORS[4].filled()));
    let coverage = sizes
        .iter()
        .map(|size| (SegmentValue::CenterOf(size.events as u32), size.coverage * 100.0));
    chart
        .draw_series(LineSeries::new(coverage, COLORS[0].stroke_width(2)).point_size(3))?
        .label("of this size or smaller")
        .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], COLORS[0].stroke_width(3)));
    if let Some(capacity) = capacity {
        let at = SegmentValue::CenterOf(capacity);
        chart
            .draw_series([PathElement::new(
                [(at.clone(), 0.0), (at, 100.0)],
                COLORS[1].stroke_width(2),
            )])?
            .label(format!("capacity {capacity}"))
            .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], COLORS[1].stroke_width(3)));
    }
    // Beside a line that is far on the right.
    let legend = if capacity.is_some_and(|capacity| u64::from(capacity) > MOST_SIZES / 2) {
        SeriesLabelPosition::MiddleLeft
    } else {
        SeriesLabelPosition::MiddleRight
    };
    chart
        .configure_series_labels()
        .label_font(plot::LABELS)
        .position(legend)
        .background_style(WHITE.mix(0.85))
        .border_style(TRANSPARENT)
        .draw()?;
    Ok(())
}

fn draw_gaps(area: &DrawingArea<SVGBackend<'_>, Shift>, gaps: &Gaps, advice: &Advice) -> Result<(), Box<dyn Error>> {
    let percentiles: Vec<(f64, f64)> = (1..=99)
        .filter_map(|percent| Some((seconds(gaps.percentile(percent)?), f64::from(percent))))
        .collect();
    let (Some((first, _)), Some((last, _))) = (percentiles.first(), percentiles.last()) else {
        let title = area
            .margin(15, 15, 15, 15)
            .titled("No client came twice: there are no gaps", ("sans-serif", 20));
        return title.map(|_| ()).map_err(Into::into);
    };
    let (least, most) = (first / 2.0, last * 2.0);
    let mut chart = ChartBuilder::on(area)
        .caption("Gaps between events of a client", ("sans-serif", 20))
        .margin(15)
        .x_label_area_size(45)
        .y_label_area_size(55)
        .build_cartesian_2d(
            (least..most).log_scale().with_key_points(ticks(least, most)),
            0.0..100.0,
        )?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .label_style(plot::LABELS)
        .y_label_formatter(&|percent| format!("{percent:.0}"))
        .x_labels(MOST_TICKS)
        .x_label_formatter(&|seconds| span((seconds * 1e6).round() as u64))
        .x_desc("gap")
        .y_desc("percent of gaps that are no longer")
        .draw()?;
    chart.draw_series(LineSeries::new(percentiles.clone(), COLORS[0].stroke_width(2)))?;
    if let Some(bucket) = &advice.bucket {
        let refill = bucket.numbers.window() / bucket.numbers.count();
        let at = refill.as_secs_f64();
        chart
            .draw_series([PathElement::new([(at, 0.0), (at, 100.0)], COLORS[1].stroke_width(2))])?
            .label(format!("one more each {}", span(refill.as_micros() as u64)))
            .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], COLORS[1].stroke_width(3)));
        chart
            .configure_series_labels()
            .label_font(plot::LABELS)
            .position(SeriesLabelPosition::LowerRight)
            .background_style(WHITE.mix(0.85))
            .border_style(TRANSPARENT)
            .draw()?;
    }
    Ok(())
}

/// How many there is room for.
const MOST_TICKS: usize = 8;

/// Times that are read easily, in seconds. Each is less than four times the one before, so there is always one on the axis.
const TIMES: [f64; 34] = [
    0.000_5,
    0.001,
    0.002,
    0.005,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    20.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    1_200.0,
    1_800.0,
    3_600.0,
    7_200.0,
    14_400.0,
    28_800.0,
    86_400.0,
    172_800.0,
    604_800.0,
    1_209_600.0,
    2_592_000.0,
    8_640_000.0,
    31_536_000.0,
    94_608_000.0,
];

/// As many of them as there is room for.
fn ticks(least: f64, most: f64) -> Vec<f64> {
    let within: Vec<f64> = TIMES.into_iter().filter(|time| (least..=most).contains(time)).collect();
    let step = within.len().div_ceil(MOST_TICKS).max(1);
    within.into_iter().step_by(step).collect()
}

/// A logarithmic scale has no zero.
fn seconds(micros: u64) -> f64 {
    micros.max(1_000) as f64 / 1e6
}
