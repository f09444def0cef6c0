//! The percentile of response times that a controller uses, and the name of its gauge.

use crate::entry::{Count, ParamDeclaration, count};

/// The percentile that the controller compares with its target.
pub(super) const PERCENTILE: ParamDeclaration<Count> = ParamDeclaration {
    kind: count(1..=99, 90),
    about: "which percentile of response times is held against the target, in whole percent; its gauge is named after it (p90_ms)",
    source: "the 90th, USITS'03 section 3.2",
};

/// The gauge of a percentile from 1 to 99.
pub(super) fn gauge(percent: usize) -> &'static str {
    NAMES[percent.clamp(1, NAMES.len()) - 1]
}

#[rustfmt::skip]
const NAMES: [&str; 99] = [
    "p1_ms", "p2_ms", "p3_ms", "p4_ms", "p5_ms", "p6_ms", "p7_ms", "p8_ms", "p9_ms", "p10_ms",
    "p11_ms", "p12_ms", "p13_ms", "p14_ms", "p15_ms", "p16_ms", "p17_ms", "p18_ms", "p19_ms", "p20_ms",
    "p21_ms", "p22_ms", "p23_ms", "p24_ms", "p25_ms", "p26_ms", "p27_ms", "p28_ms", "p29_ms", "p30_ms",
    "p31_ms", "p32_ms", "p33_ms", "p34_ms", "p35_ms", "p36_ms", "p37_ms", "p38_ms", "p39_ms", "p40_ms",
    "p41_ms", "p42_ms", "p43_ms", "p44_ms", "p45_ms", "p46_ms", "p47_ms", "p48_ms", "p49_ms", "p50_ms",
    "p51_ms", "p52_ms", "p53_ms", "p54_ms", "p55_ms", "p56_ms", "p57_ms", "p58_ms", "p59_ms", "p60_ms",
    "p61_ms", "p62_ms", "p63_ms", "p64_ms", "p65_ms", "p66_ms", "p67_ms", "p68_ms", "p69_ms", "p70_ms",
    "p71_ms", "p72_ms", "p73_ms", "p74_ms", "p75_ms", "p76_ms", "p77_ms", "p78_ms", "p79_ms", "p80_ms",
    "p81_ms", "p82_ms", "p83_ms", "p84_ms", "p85_ms", "p86_ms", "p87_ms", "p88_ms", "p89_ms", "p90_ms",
    "p91_ms", "p92_ms", "p93_ms", "p94_ms", "p95_ms", "p96_ms", "p97_ms", "p98_ms", "p99_ms",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_percentile_has_its_name() {
        for percent in 1..=99 {
            assert_eq!(gauge(percent), format!("p{percent}_ms"));
        }
    }
}
