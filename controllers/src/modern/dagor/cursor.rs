//! The cursor over levels of priority, moved by a histogram of arrivals.

/// Levels below the cursor are admitted. Level 0 is the most important.
#[derive(Debug)]
pub struct LevelCursor {
    /// Arrivals of this window by level.
    arrivals: Vec<u32>,
    offered: u64,
    admitted: u64,
    cursor: u32,
    alpha: f64,
    beta: f64,
}

impl LevelCursor {
    /// Admits all levels. `levels`: at least 1.
    pub fn new(levels: u32, alpha: f64, beta: f64) -> Self {
        Self { arrivals: vec![0; levels as usize], offered: 0, admitted: 0, cursor: levels, alpha, beta }
    }

    /// Counts an arrival. True: its level is admitted.
    pub fn admits(&mut self, level: u32) -> bool {
        let count = &mut self.arrivals[level as usize];
        *count = count.saturating_add(1);
        self.offered += 1;
        let admits = level < self.cursor;
        self.admitted += u64::from(admits);
        admits
    }

    /// Moves the cursor so that of the window's arrivals a share less, or a share more, would have been admitted;
    /// starts the next window.
    pub fn close(&mut self, overloaded: bool) {
        let mut admitted = self.admitted as f64;
        if overloaded {
            let wanted = (1.0 - self.alpha) * admitted;
            while admitted > wanted && self.cursor > 1 {
                self.cursor -= 1;
                admitted -= f64::from(self.arrivals[self.cursor as usize]);
            }
        } else {
            let wanted = admitted + self.beta * self.offered as f64;
            while admitted < wanted && (self.cursor as usize) < self.arrivals.len() {
                admitted += f64::from(self.arrivals[self.cursor as usize]);
                self.cursor += 1;
            }
        }
        self.forget();
    }

    /// Starts the next window with the same cursor.
    pub fn forget(&mut self) {
        self.arrivals.fill(0);
        self.offered = 0;
        self.admitted = 0;
    }

    /// Arrivals in this window.
    pub fn offered(&self) -> u64 {
        self.offered
    }

    /// The first refused level; the number of levels if none is refused.
    pub fn cursor(&self) -> u32 {
        self.cursor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cursor after a window with these arrivals by level.
    fn after(levels: &mut LevelCursor, arrivals: [u32; 8], overloaded: bool) -> u32 {
        for (level, count) in (0..).zip(arrivals) {
            for _ in 0..count {
                levels.admits(level);
            }
        }
        levels.close(overloaded);
        levels.cursor()
    }

    #[test]
    fn down_by_a_twentieth_of_the_admitted_and_up_by_a_hundredth_of_all() {
        let mut levels = LevelCursor::new(8, 0.05, 0.01);
        let two_hundred = [10, 20, 30, 40, 0, 0, 60, 40];
        // All 200 were admitted, 190 wanted: without level 7 it is 160.
        assert_eq!(after(&mut levels, two_hundred, true), 7);
        // 160 admitted, 152 wanted: without level 6 it is 100.
        assert_eq!(after(&mut levels, two_hundred, true), 6);
        // 100 admitted, 95 wanted: levels 5 and 4 are empty, without 3 it is 60.
        assert_eq!(after(&mut levels, two_hundred, true), 3);
        // 60 admitted, 60 + 2 wanted: with level 3 it is 100.
        assert_eq!(after(&mut levels, two_hundred, false), 4);
        // 100 admitted, 102 wanted: 4 and 5 are empty, with 6 it is 160.
        assert_eq!(after(&mut levels, two_hundred, false), 7);
        assert_eq!(after(&mut levels, two_hundred, false), 8);
        assert_eq!(after(&mut levels, two_hundred, false), 8);
    }

    #[test]
    fn the_first_level_is_never_refused() {
        let mut levels = LevelCursor::new(8, 0.05, 0.01);
        let first_only = [100, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(after(&mut levels, first_only, true), 1);
        assert_eq!(after(&mut levels, first_only, true), 1);
    }

    #[test]
    fn a_window_that_admitted_nobody_does_not_open_everything() {
        let mut levels = LevelCursor::new(8, 0.05, 0.01);
        after(&mut levels, [100, 0, 0, 0, 0, 0, 0, 0], true);
        // Of 100 jobs none was admitted, 1 wanted: with level 5 it is 90.
        assert_eq!(after(&mut levels, [0, 0, 0, 0, 0, 90, 10, 0], false), 6);
        // 90 admitted and overloaded, 85.5 wanted: without level 5 it is none.
        assert_eq!(after(&mut levels, [0, 0, 0, 0, 0, 90, 10, 0], true), 5);
        // No job admitted and still overloaded, because of jobs that waited before: no reason to go on.
        assert_eq!(after(&mut levels, [0, 0, 0, 0, 0, 90, 10, 0], true), 5);
    }

    #[test]
    fn an_empty_window_moves_nothing() {
        let mut levels = LevelCursor::new(8, 0.05, 0.01);
        after(&mut levels, [50, 50, 0, 0, 0, 0, 0, 0], true);
        assert_eq!(levels.cursor(), 1);
        assert_eq!(after(&mut levels, [0; 8], false), 1);
        assert_eq!(after(&mut levels, [0; 8], true), 1);
    }
}
