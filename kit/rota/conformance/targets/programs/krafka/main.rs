//! Starts the broker of krafka's tests on 127.0.0.1, prints its host and port and ends when
//! its standard input does.

use std::io::Read;

use krafka::testing::FakeBroker;

#[tokio::main]
async fn main() {
    let broker = FakeBroker::start().await.expect("cannot listen");
    let address = broker.broker_addr(0).expect("it listens on TCP");
    println!("{} {}", address.ip(), address.port());
    let ended = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let _ = ended.await;
}
