//! Pages of a column, of which no more is taken than a file may hold.

use super::enabled::corrupt;
use crate::Error;
use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The pages of one column, which count against what its file may hold.
pub(super) struct Pages {
    pages: Box<dyn PageReader>,
    column: Type,
    /// Bytes that may still be taken of the file.
    bytes_left: Arc<AtomicUsize>,
}

impl Pages {
    /// The pages of a column of so many bytes, as its file says.
    ///
    /// # Errors
    ///
    /// `Unsupported` where those are more than may still be taken of the file.
    pub(super) fn new(
        pages: Box<dyn PageReader>,
        column: Type,
        len: i64,
        bytes_left: Arc<AtomicUsize>,
    ) -> std::result::Result<Pages, Error> {
        let is_too_long = usize::try_from(len).is_ok_and(|len| bytes_left.load(Ordering::Relaxed) < len);
        if is_too_long { Err(too_long()) } else { Ok(Pages { pages, column, bytes_left }) }
    }

    /// Counts a page before anything is made of it.
    fn check(&self, page: &Page) -> std::result::Result<(), Error> {
        let len = page.buffer().len();
        let mut bytes = len;
        if let Page::DictionaryPage { num_values, .. } = page {
            let values = usize::try_from(*num_values).unwrap_or(usize::MAX);
            // The shortest are whole numbers of 4 bytes, and texts of which nothing but their length is there.
            if len / 4 < values {
                return Err(corrupt("a dictionary has fewer values than it says"));
            }
            bytes = bytes.saturating_add(values.saturating_mul(size_of::<ByteArray>()));
        }
        if self.column == Type::BYTE_ARRAY && !is_shared(page.encoding()) {
            let encoding = page.encoding();
            return Err(Error::unsupported(format!("texts encoded as {encoding} in a file of references")));
        }
        let take = |left: usize| left.checked_sub(bytes);
        match self.bytes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Ok(()),
            Err(_) => Err(too_long()),
        }
    }
}

#[cold]
fn too_long() -> Error {
    Error::unsupported("a file of references whose values come to more than 256 MiB")
}

/// Whether texts are parts of their page: those that are put together from others can be longer than all that the file has.
fn is_shared(encoding: Encoding) -> bool {
    [Encoding::PLAIN, Encoding::RLE_DICTIONARY, Encoding::PLAIN_DICTIONARY].contains(&encoding)
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if let Some(page) = &page {
            self.check(page).map_err(|error| ParquetError::External(Box::new(error)))?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}
