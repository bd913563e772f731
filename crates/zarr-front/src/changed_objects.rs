//! Objects that turn out to be another version than a window was planned from, or read from.

use crate::Error;
use crate::note::{Note, Wanted};
use crate::read_batch::ReadBatch;
use swath_ioengine::{Cursor, LaneContext};

impl ReadBatch<'_> {
    /// Drops what is known of the object of a window.
    #[cold]
    pub(crate) fn forget_stale(&self, cursor: Cursor) {
        if let Some(catalog) = self.array.store.catalog() {
            catalog.note_change();
        }
        if self.contained.as_ref().is_some_and(|contained| contained.window_count().is_some()) {
            // Its windows are of several objects, and nothing is kept of these.
            return;
        }
        let Some(place) = self.groups.place(cursor.window) else { return };
        self.cache.forget(&self.object(&place));
        self.forget_cached(&place);
        self.shards.forget(place.group);
        if self.contained.is_some() {
            // A first read of an index is of a version too, where it is a part of another object: the duty to read it is
            // taken again with the next plan.
            drop(self.shards.give_up_ticket(place.group));
        }
    }

    /// Fails what was read of an object while it was written to.
    #[cold]
    pub(crate) fn fail_spoiled(
        &self,
        cursor: Cursor,
        error: swath_ioengine::Error,
        lane: &mut LaneContext<'_>,
    ) {
        if let Some(contained) = &self.contained
            && contained.window_count().is_some()
        {
            return self.fail_contained_window(contained, cursor, &Error::from(error));
        }
        let Some(place) = self.groups.place(cursor.window) else { return };
        self.cache.forget(lane.object);
        self.forget_cached(&place);
        let error = Error::from(error).with_object(&lane.object.key);
        let Some(note) = lane.note.get::<Note>() else { return self.fail_group(place.group, &error) };
        let is_chunk = |read: &Wanted| !matches!(read, Wanted::Index(_) | Wanted::InnerIndex(_));
        let are_chunks = note.reads.iter().any(is_chunk);
        if are_chunks {
            self.fail(&note.placements, &error);
        } else if self.shards.failed(place.group) {
            // An index that made no sense did so because it was being written.
            self.fail_group(place.group, &error);
        }
        // Chunks that were located by an index that was being written are planned again: the object is another by now.
    }
}
