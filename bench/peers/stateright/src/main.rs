//! KGROUP on Stateright: `kgroup bfs|dfs THREADS N G L C E ND` prints one line of JSON.
//!
//! distinct and generated are Stateright's unique and total states; depth is in edges, null but for
//! breadth-first search by one thread (others do not go level by level); seconds are those of the search;
//! peak_kib is the process's peak resident memory, null where the system does not tell. Exit 1 if a
//! property is violated, 2 for a mistake in the command.

mod codes;
mod invariants;
mod model;
mod steps;

use model::Kgroup;
use stateright::{Checker, Model};
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str =
    "kgroup: usage: kgroup bfs|dfs THREADS N G L C E ND (N 2 to 4, L 1 to 4, E and ND 0 or 1)";

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u8> = given.iter().skip(1).filter_map(|text| text.parse().ok()).collect();
    let (Some(search), &[threads, n, g, l, c, e, nd]) = (given.first(), &numbers[..]) else {
        return usage();
    };
    let breadth = search == "bfs";
    if given.len() != 8
        || !(breadth || search == "dfs")
        || threads == 0
        || !(1..=4).contains(&l)
        || e.max(nd) > 1
    {
        return usage();
    }
    let (threads, expiry, free) = (threads as usize, e == 1, nd == 1);
    match n {
        2 => run(Kgroup::<2> { generations: g, lists: l, crashes: c, expiry, free }, breadth, threads),
        3 => run(Kgroup::<3> { generations: g, lists: l, crashes: c, expiry, free }, breadth, threads),
        4 => run(Kgroup::<4> { generations: g, lists: l, crashes: c, expiry, free }, breadth, threads),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

fn run<const N: usize>(model: Kgroup<N>, breadth: bool, threads: usize) -> ExitCode {
    let checker = model.checker().threads(threads);
    let began = Instant::now();
    if breadth {
        report(checker.spawn_bfs().join(), began, threads == 1)
    } else {
        report(checker.spawn_dfs().join(), began, false)
    }
}

fn report<const N: usize>(done: impl Checker<Kgroup<N>>, began: Instant, levels: bool) -> ExitCode {
    let seconds = began.elapsed().as_secs_f64();
    let violated: Vec<_> = done.discoveries().into_keys().collect();
    // Stateright counts the states on a path, not its edges.
    let depth = if levels { (done.max_depth() - 1).to_string() } else { "null".to_string() };
    let peak = peak_kib().map_or("null".to_string(), |kib| kib.to_string());
    println!(
        "{{\"distinct\": {}, \"generated\": {}, \"depth\": {depth}, \"seconds\": {seconds:.6}, \
         \"peak_kib\": {peak}, \"violated\": {violated:?}}}",
        done.unique_state_count(),
        done.state_count(),
    );
    ExitCode::from(u8::from(!violated.is_empty()))
}

fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
