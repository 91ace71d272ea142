//! Chance that repeats: whatever is random in these programs follows from one printed number.

/// SplitMix64. Small, fast, and good enough to choose where to hurt.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The n-th stream of a seed: any single case can be run again without those before it.
    pub(crate) fn of(seed: u64, n: u64) -> Chance {
        let mut chance = Chance(seed ^ n.wrapping_mul(0xd134_2543_de82_ef95));
        chance.next();
        chance
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `n`, which is not 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap_or_default()
    }
}
