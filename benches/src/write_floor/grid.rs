//! Where objects and chunks lie in the values.

/// An array cut into objects, and these into chunks; every length divides the one around it.
pub(crate) struct Grid {
    pub(crate) shape: Vec<usize>,
    /// A stored object: a shard, or a chunk.
    pub(crate) object: Vec<usize>,
    pub(crate) chunk: Vec<usize>,
    /// Bytes of an element.
    pub(crate) element: usize,
}

impl Grid {
    /// Bytes of all values.
    pub(crate) fn bytes(&self) -> usize {
        self.shape.iter().product::<usize>() * self.element
    }

    /// Bytes of a chunk.
    pub(crate) fn chunk_bytes(&self) -> usize {
        self.chunk.iter().product::<usize>() * self.element
    }

    /// The coordinates of all objects, in C order.
    pub(crate) fn objects(&self) -> impl Iterator<Item = Vec<usize>> {
        places(&self.shape, &self.object)
    }

    /// The coordinates of an object's chunks within it, in C order.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = Vec<usize>> {
        places(&self.object, &self.chunk)
    }

    /// Calls `copy` for each run of a chunk: where it starts in the values, and how long it is.
    pub(crate) fn runs(&self, object: &[usize], chunk: &[usize], mut run: impl FnMut(usize, usize)) {
        let rank = self.shape.len();
        let mut strides = vec![self.element; rank];
        for axis in (0..rank.saturating_sub(1)).rev() {
            strides[axis] = strides[axis + 1] * self.shape[axis + 1];
        }
        let first: usize = (0..rank)
            .map(|axis| (object[axis] * self.object[axis] + chunk[axis] * self.chunk[axis]) * strides[axis])
            .sum();
        // Axes that a chunk has whole are one run with the axis before them.
        let mut inner = rank;
        while 0 < inner && self.chunk[inner - 1] == self.shape[inner - 1] {
            inner -= 1;
        }
        let split = inner.saturating_sub(1);
        let length = self.chunk[split..].iter().product::<usize>() * self.element;
        each_run(&self.chunk[..split], &strides, first, &mut |start| run(start, length));
    }
}

/// Calls `run` with where each run of a box starts, in C order. Nothing is allocated: there are as many as rows.
fn each_run(lengths: &[usize], strides: &[usize], first: usize, run: &mut impl FnMut(usize)) {
    let (Some((length, lengths)), Some((stride, strides))) = (lengths.split_first(), strides.split_first())
    else {
        return run(first);
    };
    (0..*length).for_each(|at| each_run(lengths, strides, first + at * stride, run));
}

/// The coordinates of all parts of a box, in C order.
fn places(outer: &[usize], part: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<> {
    let counts: Vec<usize> = outer.iter().zip(part).map(|(outer, part)| outer / part).collect();
    (0..counts.iter().product()).map(move |number: usize| {
        let mut rest = number;
        let mut place = vec![0; counts.len()];
        for (axis, count) in counts.iter().enumerate().rev() {
            place[axis] = rest % count;
            rest /= count;
        }
        place
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_rows_or_all_of_a_chunk() {
        let grid = Grid { shape: vec![4, 6], object: vec![2, 6], chunk: vec![2, 3], element: 2 };
        assert_eq!((grid.objects().count(), grid.chunks().count(), grid.bytes()), (2, 2, 48));
        let mut runs = Vec::new();
        grid.runs(&[1, 0], &[0, 1], |start, length| runs.push((start, length)));
        assert_eq!(runs, [(30, 6), (42, 6)]);
        let grid = Grid { chunk: vec![2, 6], ..grid };
        runs.clear();
        grid.runs(&[1, 0], &[0, 0], |start, length| runs.push((start, length)));
        assert_eq!(runs, [(24, 24)]);
    }
}
