//! The figures published in the paper, for comparison.

use super::Cell;

/// The paper's figures of a treebank: the prefix of its files, its name in the paper, LAS of the graph-based parser of
/// Kulmizev et al. (2019), which the paper lists for reference, and UAS and LAS of the six systems.
type Published = (&'static str, &'static str, f64, [(f64, f64); 6]);

/// UAS and LAS of the six systems on the test sets (Table 3), in the order of [`crate::config::System::NAMES`], by the
/// prefix of the treebank's files in Universal Dependencies.
pub(super) const SYSTEMS: [Published; 14] = [
    ("", "UD-Average", 84.9, [(89.0, 85.6), (89.0, 85.6), (89.0, 85.2), (83.0, 79.5), (89.3, 85.7), (89.0, 85.5)]),
    (
        "ar_padt",
        "UD-Arabic",
        81.8,
        [(87.8, 82.1), (87.8, 82.1), (87.8, 81.6), (84.9, 79.0), (88.0, 82.1), (87.6, 81.9)],
    ),
    ("eu_bdt", "UD-Basque", 79.8, [(84.9, 81.1), (84.9, 80.9), (84.9, 80.6), (82.0, 77.9), (85.1, 80.9), (85.0, 80.8)]),
    (
        "zh_gsd",
        "UD-Chinese",
        83.4,
        [(85.6, 82.3), (85.8, 82.4), (85.7, 81.6), (80.9, 77.3), (86.3, 82.8), (85.9, 82.5)],
    ),
    (
        "en_ewt",
        "UD-English",
        87.6,
        [(90.9, 88.1), (90.7, 88.0), (90.9, 87.8), (88.1, 85.3), (91.1, 88.3), (91.0, 88.2)],
    ),
    (
        "fi_tdt",
        "UD-Finnish",
        83.9,
        [(89.4, 86.6), (89.1, 86.3), (89.3, 86.1), (84.1, 81.2), (89.6, 86.6), (89.4, 86.4)],
    ),
    ("he_htb", "UD-Hebrew", 85.9, [(89.4, 86.4), (89.5, 86.5), (89.4, 85.9), (82.7, 79.7), (89.8, 86.7), (89.6, 86.6)]),
    ("hi_hdtb", "UD-Hindi", 90.8, [(94.8, 91.7), (94.8, 91.7), (94.8, 91.4), (91.4, 88.0), (94.9, 91.8), (94.9, 91.6)]),
    (
        "it_isdt",
        "UD-Italian",
        91.7,
        [(94.1, 92.0), (94.2, 92.1), (94.1, 91.9), (91.5, 89.4), (94.3, 92.2), (94.1, 92.0)],
    ),
    (
        "ja_gsd",
        "UD-Japanese",
        92.1,
        [(94.3, 92.8), (94.5, 93.0), (94.3, 92.7), (92.5, 90.9), (94.6, 93.1), (94.4, 92.8)],
    ),
    ("ko_gsd", "UD-Korean", 84.2, [(88.0, 84.4), (87.9, 84.3), (88.0, 84.2), (84.3, 80.4), (88.1, 84.4), (88.2, 84.5)]),
    (
        "ru_syntagrus",
        "UD-Russian",
        91.0,
        [(94.2, 92.7), (94.1, 92.7), (94.2, 92.4), (57.7, 56.5), (94.3, 92.8), (94.1, 92.6)],
    ),
    (
        "sv_talbanken",
        "UD-Swedish",
        86.9,
        [(90.3, 87.6), (90.3, 87.5), (90.4, 87.1), (88.6, 85.8), (90.5, 87.5), (90.4, 87.5)],
    ),
    (
        "tr_imst",
        "UD-Turkish",
        64.9,
        [(73.0, 65.3), (73.2, 65.4), (73.1, 64.5), (69.9, 61.9), (73.7, 65.5), (72.9, 64.7)],
    ),
];

/// UAS on each genre of English-EWT of [`DOMAIN_SYSTEMS`], trained on `answers` (Table 4).
pub(super) const DOMAINS: [(&str, [f64; 4]); 4] = [
    ("email", [81.7, 81.7, 81.6, 81.4]),
    ("newsgroup", [83.1, 83.3, 83.1, 82.9]),
    ("reviews", [88.5, 88.7, 88.7, 88.8]),
    ("weblog", [81.9, 80.9, 80.9, 81.9]),
];

/// The averages of that table as printed.
pub(super) const DOMAINS_AVERAGE: [f64; 4] = [83.8, 83.7, 83.6, 83.8];

/// The systems of Table 4.
pub(super) const DOMAIN_SYSTEMS: [&str; 4] = ["WWd", "WWc", "IId", "IIc"];

/// UAS of IIc by the number of support sentences, 1, 10, 100 and all (Table 5).
pub(super) const SUPPORT_SIZE: [(&str, [f64; 4]); 4] = [
    ("email", [81.5, 81.4, 81.5, 81.5]),
    ("newsgroup", [82.8, 83.0, 82.9, 82.9]),
    ("reviews", [88.7, 88.7, 88.8, 88.8]),
    ("weblog", [81.8, 82.1, 82.0, 81.9]),
];

/// The averages of that table as printed.
pub(super) const SUPPORT_SIZE_AVERAGE: [f64; 4] = [83.7, 83.8, 83.8, 83.8];

/// A figure of the paper, with one decimal.
pub(super) fn figure(value: f64) -> Cell {
    Cell::text(format!("{value:.1}"))
}

/// The systems that decide by training edges, in the order of Tables 6 and 9.
pub(super) const INSTANCE_SYSTEMS: [&str; 4] = ["WId", "WIc", "IId", "IIc"];

/// The identical subclass test of [`INSTANCE_SYSTEMS`] on the dev sets of the Penn Treebank and English-EWT (Table 6).
pub(super) const SUBCLASS: [(&str, [f64; 4]); 2] =
    [("PTB-English", [1.8, 67.5, 7.0, 71.6]), ("UD-English", [16.4, 51.5, 3.9, 54.0])];

/// The highest N₁₀ of [`INSTANCE_SYSTEMS`] on English-EWT, and the edge that has it (Table 9).
pub(super) const HUBS: [(u64, &str); 4] =
    [(19_407, "ROOT → find"), (82, "help → time"), (22_493, "said → airlifted"), (34, "force → Israel")];

/// The treebank that Tables 4 to 9 are about.
pub(super) const ENGLISH: &str = "en_ewt";
