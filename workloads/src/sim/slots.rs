use super::ConnId;

/// What belongs to connections, by their identities. Places of closed ones are used again, with another generation.
#[derive(Debug)]
pub struct ConnSlots<T> {
    /// The first place.
    base: u32,
    slots: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> ConnSlots<T> {
    /// No connections; their places will begin with `base`.
    #[must_use]
    pub fn from(base: u32) -> Self {
        Self { base, slots: Vec::new(), free: Vec::new() }
    }

    /// A new connection.
    ///
    /// # Panics
    /// With more connections than fit into memory.
    pub fn open(&mut self, what: T) -> ConnId {
        let at = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            u32::try_from(self.slots.len() - 1).expect("so many connections do not fit into memory")
        });
        let (generation, slot) = &mut self.slots[at as usize];
        *slot = Some(what);
        ConnId { place: self.base + at, generation: *generation }
    }

    /// What belongs to a connection; `None`: it is closed.
    pub fn get(&mut self, conn: ConnId) -> Option<&mut T> {
        let (generation, slot) = self.slots.get_mut(conn.place.checked_sub(self.base)? as usize)?;
        slot.as_mut().filter(|_| *generation == conn.generation)
    }

    /// Closes a connection.
    pub fn close(&mut self, conn: ConnId) -> Option<T> {
        self.get(conn)?;
        let at = conn.place - self.base;
        let (generation, slot) = &mut self.slots[at as usize];
        *generation = generation.wrapping_add(1);
        self.free.push(at);
        slot.take()
    }

    /// What belongs to all connections, in order of their places.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().filter_map(|(_, slot)| slot.as_mut())
    }
}
