//! sysbench 1.0.20's command line and report.
