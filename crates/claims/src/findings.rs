//! The checks that fail in the shipped papers: for the tests and the table in `docs/claims.md`.

pub const STEC: &str = "stec-2013";
pub const PERCONA: &str = "percona-scaleflux-2020";
pub const EXFLASH: &str = "exflash-2015";
pub const FUNGIBLE: &str = "fungible-2021";

/// Every check that fails: paper, name, arithmetic. All others hold or are undecided.
pub const WRONG: [(&str, &str, &str); 12] = [
    (
        PERCONA,
        "4.7T take 2.6T in one place and 2.3T in another",
        "2.6 (2.55 to 2.65), printed 2.3 (2.2 to 2.4) T",
    ),
    (
        PERCONA,
        "83 % full, from 2.3T",
        "100 × 2.3 / 3.2 = 71.87 (67.7 to 76.2), printed 83 (82.5 to 83.5) %",
    ),
    (
        PERCONA,
        "1.8:1, from 4.7T in 2.3T",
        "4.7 / 2.3 = 2.043 (1.94 to 2.16), printed 1.8 (1.75 to 1.85) :1",
    ),
    (
        PERCONA,
        "up to 128 threads in one place",
        "max(1, 8, 16, 32, 64, 96, 128, 256) = 256, against max(1, 128) = 128 threads",
    ),
    (
        STEC,
        "9.3 times the transactions, from run times of as many requests",
        "612 / 66.5 = 9.203 (9.189 to 9.217), printed 9.3 (9.25 to 9.35)",
    ),
    (
        STEC,
        "9.3 times the read/write requests",
        "4760 / 517 = 9.207 (9.197 to 9.217), printed 9.3 (9.25 to 9.35)",
    ),
    (
        STEC,
        "cost of a transaction a second: disks",
        "15 024 / 27 = 556.4 (546 to 567), printed 442 (441.5 to 442.5) USD",
    ),
    (
        STEC,
        "cost of a transaction a second: card",
        "24 869 / 251 = 99.08 (98.88 to 99.28), printed 87 (86.5 to 87.5) USD",
    ),
    (
        STEC,
        "performance per dollar, from the printed costs of a transaction",
        "442 / 87 = 5.08 (5.046 to 5.116), printed 5.4 (5.35 to 5.45) ×",
    ),
    (
        STEC,
        "performance per dollar, from prices and rates",
        "(251 / 24 869) / (27 / 15 024) = 5.616 (5.5 to 5.73), printed 5.4 (5.35 to 5.45) ×",
    ),
    (
        EXFLASH,
        "DIMMs have less than a quarter of the response time, with 256 threads: dimm4",
        "109.0450 / 392.7660 = 0.2776, to be less than the printed 0.25 ×",
    ),
    (
        EXFLASH,
        "DIMMs have less than a quarter of the response time, with 256 threads: dimm8",
        "101.6300 / 392.7660 = 0.2588, to be less than the printed 0.25 ×",
    ),
];

/// Every undecided check that would fail under its assumption.
pub const UNSURE: [(&str, &str, &str); 10] = [
    (
        PERCONA,
        "2.5T and 4.7T, by their rows",
        "2.5 × 20 / 10 = 5 (4.9 to 5.1), printed 4.7 (4.65 to 4.75) T",
    ),
    (
        PERCONA,
        "440G and 2.5T, by their tables, with T as 1000 G",
        "440 × 540 / 100 / 1000 = 2.376 (2.349 to 2.403), printed 2.5 (2.45 to 2.55) T",
    ),
    (
        PERCONA,
        "ScaleFlux has the advantage with the larger default data",
        "mean(−12, 19, −14) = −2.333 (−2.83 to −1.83), to be more than 0 %",
    ),
    (
        PERCONA,
        "Intel has the advantage in the blog's first test",
        "1 (0.5 to 1.5), to be less than 0 %",
    ),
    (
        EXFLASH,
        "mean response time, if samples were means of transactions: dimm4_128",
        "Little's law: 1000 × 128 / 5996.5105 = 21.35 (18.1 to 24.5), printed 37.931489 ms; 15 % \
        allowed",
    ),
    (
        EXFLASH,
        "mean response time, if samples were means of transactions: dimm4_256",
        "Little's law: 1000 × 256 / 6162.4271 = 41.54 (35 to 48), printed 90.789317 ms; 15 % \
        allowed",
    ),
    (
        EXFLASH,
        "mean response time, if samples were means of transactions: dimm8_128",
        "Little's law: 1000 × 128 / 7140.5038 = 17.93 (15.2 to 20.6), printed 28.796017 ms; 15 % \
        allowed",
    ),
    (
        EXFLASH,
        "mean response time, if samples were means of transactions: dimm8_256",
        "Little's law: 1000 × 256 / 6498.1460 = 39.4 (33 to 45), printed 94.060628 ms; 15 % \
        allowed",
    ),
    (
        EXFLASH,
        "mean response time, if samples were means of transactions: fio_128",
        "Little's law: 1000 × 128 / 1855.4304 = 68.99 (59 to 79), printed 138.052150 ms; 15 % \
        allowed",
    ),
    (
        EXFLASH,
        "mean response time, if samples were means of transactions: fio_256",
        "Little's law: 1000 × 256 / 2187.5271 = 117 (99 to 135), printed 304.851844 ms; 15 % \
        allowed",
    ),
];
