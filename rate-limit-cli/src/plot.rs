//! What the plots have in common.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::failure::{Code, Failure};

/// Tells lines apart, also for who sees few colours. Source: Okabe and Ito, *Color Universal Design*.
pub const COLORS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
];

/// What is written beside lines and axes.
pub const LABELS: (&str, u32) = ("sans-serif", 13);

pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws into an SVG file.
pub fn write(path: &Path, draw: impl FnOnce(&Area<'_>) -> Result<(), Box<dyn Error>>) -> Result<(), Failure> {
    let area = SVGBackend::new(path, (1_000, 500)).into_drawing_area();
    let drawn = area.fill(&WHITE).map_err(Into::into).and_then(|()| draw(&area));
    drawn
        .and_then(|()| area.present().map_err(Into::into))
        .map_err(|error| Failure::new(Code::Output, format!("{}: cannot be written: {error}", path.display())))
}
