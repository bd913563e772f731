//! Working memory that a lane keeps for its sinks.

use std::any::Any;

/// One value of each type asked for, made on first use and kept for as long as the lane lives: a decoder's contexts
/// and buffers, say.
#[derive(Default)]
pub struct Scratch {
    slots: Vec<Box<dyn Any + Send>>,
}

impl Scratch {
    /// The lane's value of type `T`.
    pub fn get<T: Any + Send + Default>(&mut self) -> &mut T {
        let index = match self.slots.iter().position(|slot| slot.is::<T>()) {
            Some(index) => index,
            None => {
                self.slots.push(Box::<T>::default());
                self.slots.len() - 1
            }
        };
        match self.slots[index].downcast_mut::<T>() {
            Some(value) => value,
            None => mistyped(),
        }
    }
}

#[cold]
#[expect(clippy::panic, reason = "the slot was found by, or made of, the asked type just before")]
fn mistyped() -> ! {
    panic!("a scratch slot changed its type")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_has_one_value() {
        let mut scratch = Scratch::default();
        scratch.get::<Vec<u8>>().push(1);
        *scratch.get::<u64>() = 7;
        scratch.get::<Vec<u8>>().push(2);
        assert_eq!(*scratch.get::<Vec<u8>>(), [1, 2]);
        assert_eq!(*scratch.get::<u64>(), 7);
    }
}
