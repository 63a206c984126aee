//! Decodes pictures, and fits them into the page.

use krilla::Data;
use krilla::image::Image;

use crate::book::PictureData;
use crate::design::PageDesign;
use crate::line::SizedPicture;

/// The maximum height of a picture, relative to that of the text.
const TALLEST: f32 = 0.6;

/// The number of pixels per point of a picture that is not reduced: 150 per inch.
const PIXELS_PER_POINT: f32 = 150.0 / 72.0;

/// Decodes a picture and fits it into the page; small ones are not enlarged. `None` if it cannot be decoded.
pub(crate) fn fit_picture(data: &PictureData, design: PageDesign) -> Option<SizedPicture> {
    let image = match data {
        PictureData::Png(bytes) => Image::from_png(Data::from(bytes.clone()), true),
        PictureData::Jpeg(bytes) => Image::from_jpeg(Data::from(bytes.clone()), true),
        PictureData::Gif(bytes) => Image::from_gif(Data::from(bytes.clone()), true),
        PictureData::Webp(bytes) => Image::from_webp(Data::from(bytes.clone()), true),
    };
    let image = image.ok()?;
    let points =
        |pixels: u32| u16::try_from(pixels).ok().map(|pixels| f32::from(pixels) / PIXELS_PER_POINT);
    let (width, height) = image.size();
    let (width, height) = (points(width)?, points(height)?);
    let room = (design.bottom() - design.top) * TALLEST;
    let scale = (design.text_width() / width).min(room / height).min(1.0);
    Some(SizedPicture { image, width: width * scale, height: height * scale })
}
