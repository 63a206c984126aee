//! Kills in the middle of load.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Request, Server, home, run};

const KILLS: usize = 50;
const WRITERS: usize = 8;
const READERS: usize = 4;

/// Sends a request on a connection of its own; `None` if the server is gone before it has answered.
fn try_send(address: &str, request: &Request) -> Option<(u16, Vec<u8>)> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    stream.write_all(&request.bytes(address)).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let end = answer.windows(4).position(|part| part == b"\r\n\r\n")?;
    let status = std::str::from_utf8(answer.get(9..12)?).ok()?.parse().ok()?;
    let body = answer.get(end + 4..)?.to_vec();
    // A truncated answer acknowledges nothing.
    serde_json::from_slice::<Value>(&body).is_ok().then_some((status, body))
}

/// Writes turns to one session until the server is gone. Each has a key; the last one may be unanswered.
fn write(server: &Server, writer: usize, sent: &mut Vec<(String, bool)>) {
    let path = format!("/api/v1/sessions/load-{}/append", writer % 2);
    loop {
        // What was not answered before the kill is sent again, with the same key.
        let text = match sent.last() {
            Some((text, false)) => text.clone(),
            _ => {
                let text = format!("w{writer}n{}.", sent.len());
                sent.push((text.clone(), false));
                text
            }
        };
        let body = json!({"data": {"actor": "player", "narration": text}}).to_string();
        let request = Request::new("POST", &path)
            .json(&body)
            .header("Idempotency-Key", &text)
            .header("Authorization", &format!("Bearer {}", server.token));
        let Some((status, body)) = try_send(&server.address, &request) else { return };
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
        sent.last_mut().unwrap().1 = true;
    }
}

fn read(server: &Server, reader: usize, is_over: &AtomicBool) {
    let path = format!("/api/v1/sessions/load-{}/entries?last=5", reader % 2);
    let token = format!("Bearer {}", server.token);
    while !is_over.load(Ordering::Relaxed) {
        let request = Request::new("GET", &path).header("Authorization", &token);
        let Some((status, body)) = try_send(&server.address, &request) else { return };
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    }
}

#[test]
fn kills_under_load_lose_no_acknowledged_turn_and_store_none_twice() {
    let dir = home();
    for number in 0..2 {
        run(dir.path(), &["new", "game", "--id", &format!("load-{number}")], "");
    }
    let sent: Vec<Mutex<Vec<(String, bool)>>> = (0..WRITERS).map(|_| Mutex::default()).collect();
    for kill in 0..KILLS {
        let server = Server::start(dir.path(), &[]);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for (writer, sent) in sent.iter().enumerate() {
                let server = &server;
                scope.spawn(move || write(server, writer, &mut sent.lock().unwrap()));
            }
            for reader in 0..READERS {
                let (server, is_over) = (&server, &is_over);
                scope.spawn(move || read(server, reader, is_over));
            }
            // Any moment will do; an uneven step makes the kills fall differently.
            std::thread::sleep(Duration::from_millis(20 + (kill as u64 * 37) % 180));
            server.signal("-KILL");
            is_over.store(true, Ordering::Relaxed);
        });
    }
    let shown: Vec<String> = (0..2)
        .map(|number| run(dir.path(), &["show", &format!("load-{number}"), "--json"], ""))
        .collect();
    let mut acknowledged = 0;
    for (writer, sent) in sent.iter().enumerate() {
        for (text, is_acknowledged) in sent.lock().unwrap().iter() {
            let count = shown[writer % 2].matches(&format!("{text}\"")).count();
            let expected = if *is_acknowledged { 1..=1 } else { 0..=1 };
            assert!(expected.contains(&count), "{text} is stored {count} times");
            acknowledged += usize::from(*is_acknowledged);
        }
    }
    println!("{KILLS} kills, {acknowledged} acknowledged turns, each stored once");
    assert!(acknowledged > KILLS, "{acknowledged}");
    run(dir.path(), &["check"], "");
}
