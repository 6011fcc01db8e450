//! Texts of the kernel with missing or odd lines: no parser panics, or allocates as they say.

use std::path::Path;

use assay_testing::mutate::{self, Random};

use super::process_snapshot::Process;
use super::{cpu, disk, interference, process, throttle};

/// Texts as Linux 6.1 writes them, shortened.
const TEXTS: [&str; 7] = [
    "cpu  1050 10 520 8100 225 5 15 20 340 0\ncpu0 550 5 270 4000 125 5 15 10 190 0\ncpu1 500 5 \
     250 4100 100 0 0 10 150 0\nintr 5 0 1\nctxt 99\n",
    "42 (my (odd) name) S 1 42 42 0 -1 4194560 100 0 0 0 7 3 1 2 20 0 4 0 12345 1000000 250 \
     18446744073709551615\n",
    "Name:\tmysqld\nThreads:\t38\nVmRSS:\t  123456 kB\n",
    "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345\nfull avg10=0.00 avg60=0.00 avg300=0.00 \
     total=99\n",
    "       1        2        3        4        5        6        7        8        0\
     \x20      10       11       12       13       14       15       16       17\n",
    "usage_usec 5\nnr_throttled 3\nthrottled_usec 42\nthrottled_time 42\n",
    "0::/user.slice/session-1.scope\n4:cpu,cpuacct:/a/b\n100000 100000\n",
];

#[test]
fn any_text_of_the_kernel_is_read_or_passed_over() {
    let rounds = assay_testing::count(3_000, 100_000);
    for seed in 0..rounds {
        let mut random = Random::new(seed);
        let text = mutate::text(random.pick(&TEXTS), &mut random);
        let cores = cpu::core_numbers(&text);
        assert!(cores.len() <= text.lines().count(), "seed {seed}");
        let _ = (cpu::class_seconds(&text), cpu::stalled_seconds(&text));
        let _ = interference::user_seconds(&text, &cores);
        let _ = (process::cpu_seconds(&text), process::ended_children_cpu_seconds(&text));
        let _ = (process::threads_and_rss(&text), Process::of(&text));
        assert!(disk::column_count(&text).is_none_or(|count| count <= 17), "seed {seed}");
        let _ = (throttle::quota(&text), throttle::seconds(&text));
        let groups = throttle::stat_files(Path::new("/sys/fs/cgroup"), &text);
        assert!(groups.iter().all(|file| file.starts_with("/sys/fs/cgroup")), "seed {seed}");
    }
}
