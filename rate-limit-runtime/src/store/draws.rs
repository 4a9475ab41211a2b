//! Numbers that tests draw by chance, the same in each run.

/// Draws numbers below what it is asked for. Source: Marsaglia, *Xorshift RNGs*.
pub(crate) fn draws(seed: u64) -> impl FnMut(u64) -> u64 + Send {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed);
    move |below| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    }
}
