//! [`ScriptedServer`]: a small HTTP server that answers from a script.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The handling of one connection.
pub(super) enum ServerStep {
    /// Answers with a status, headers and a body.
    Reply(u16, &'static str, String),
    /// Sends the pieces of a text as events, and ends the stream properly.
    Stream(Vec<String>),
    /// Sends the pieces of a text with pauses.
    Slow(Vec<String>),
    /// Sends a first event, and the rest after a signal.
    Gated(String, Receiver<()>, String),
    /// Sends this and closes, as if there were more to come.
    CutOff(String),
    /// Closes the connection before the request has been read.
    Reset,
    /// Sends nothing until the client gives up.
    Silent,
    /// Sends an endless stream, a byte at a time.
    Drip,
    /// Sends more than the client accepts.
    Flood,
}

/// A server on the loopback interface.
pub(super) struct ScriptedServer {
    pub(super) url: String,
    requests: Receiver<String>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedServer {
    /// Answers one connection for each step, and no more.
    pub(super) fn start(steps: Vec<ServerStep>) -> ScriptedServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (told, requests) = channel();
        let thread = std::thread::spawn(move || {
            for step in steps {
                let Ok((stream, _)) = listener.accept() else { return };
                serve(stream, step, &told);
            }
        });
        ScriptedServer { url, requests, thread: Some(thread) }
    }

    /// Returns the received requests, each with its head and its body.
    pub(super) fn finish(mut self) -> Vec<String> {
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
        self.requests.try_iter().collect()
    }
}

fn read_request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    head + &String::from_utf8(body).unwrap()
}

const STREAM: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

/// Returns a piece of text as an event.
pub(super) fn event(piece: &str) -> String {
    let delta = serde_json::json!({"choices": [{"index": 0, "delta": {"content": piece}}]});
    format!("data: {delta}\n\n")
}

fn serve(mut stream: TcpStream, step: ServerStep, told: &Sender<String>) {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    if matches!(step, ServerStep::Reset) {
        // Unread request data makes the system reset the connection.
        std::thread::sleep(Duration::from_millis(20));
        return;
    }
    told.send(read_request(&stream)).unwrap();
    let mut send = |text: &str| stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
    match step {
        ServerStep::Reply(status, headers, body) => {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n"
            );
            send(&(head + &body)).unwrap();
        }
        ServerStep::Stream(pieces) => {
            send(STREAM).unwrap();
            send(": a comment\r\n\r\nevent: x\n").unwrap();
            for piece in pieces {
                send(&event(&piece)).unwrap();
            }
            send("data: {\"choices\": [{\"delta\": {}, \"finish_reason\": \"stop\"}]}\n\n")
                .unwrap();
            send("data: {\"choices\": [], \"usage\": {}}\n\ndata: [DONE]\n\n").unwrap();
        }
        ServerStep::Slow(pieces) => {
            send(STREAM).unwrap();
            for piece in pieces {
                std::thread::sleep(Duration::from_millis(30));
                send(&event(&piece)).unwrap();
            }
            send("data: [DONE]\n\n").unwrap();
        }
        ServerStep::Gated(first, gate, rest) => {
            send(STREAM).unwrap();
            send(&event(&first)).unwrap();
            gate.recv_timeout(Duration::from_secs(20)).unwrap();
            send(&event(&rest)).unwrap();
            send("data: [DONE]\n\n").unwrap();
        }
        ServerStep::CutOff(text) => {
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nConnection: close\r\n\r\n";
            send(&format!("{head}{text}")).unwrap();
        }
        ServerStep::Silent => {
            let mut rest = Vec::new();
            (&stream).read_to_end(&mut rest).ok();
        }
        ServerStep::Drip => {
            send(STREAM).ok();
            let drop = || ": x\n".bytes().cycle();
            for byte in drop() {
                std::thread::sleep(Duration::from_millis(10));
                if stream.write_all(&[byte]).is_err() {
                    return;
                }
            }
        }
        ServerStep::Flood => {
            send(STREAM).ok();
            let piece = event(&"flood ".repeat(1000));
            while send(&piece).is_ok() {}
        }
        ServerStep::Reset => {}
    }
}
