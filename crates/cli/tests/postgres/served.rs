//! `everturn serve` on a root of PostgreSQL.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use crate::{everturn, new_address, succeed};

#[test]
fn the_server_lists_shows_and_checks_sessions_of_a_server() {
    let dir = tempfile::tempdir().unwrap();
    let address = new_address();
    succeed(dir.path(), &["new", "thread", "--id", "tale", "--root", &address], "");
    let turn = r#"{"role":"user","content":"Open the gate."}"#;
    succeed(dir.path(), &["append", "tale", "--root", &address], turn);
    let words = ["serve", "--addr", "127.0.0.1:0", "--json", "--root", &address];
    let mut server = everturn(dir.path(), &words).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let field = |name: &str| {
        let rest = line.split_once(&format!("\"{name}\":\"")).unwrap().1;
        rest.split('"').next().unwrap().to_owned()
    };
    let (base, code) = (field("base"), field("code"));
    let host = base.trim_start_matches("http://").to_owned();
    let ask = |method: &str, path: &str, headers: &str, body: &str| {
        let mut stream = TcpStream::connect(&host).unwrap();
        let len = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {len}\r\n{headers}\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let json = "Content-Type: application/json\r\n";
    let answer = ask("POST", "/api/v1/token", json, &format!("{{\"code\":\"{code}\"}}"));
    let token = answer.split_once("\"token\":\"").unwrap().1.split('"').next().unwrap();
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let listed = ask("GET", "/api/v1/sessions", &bearer, "");
    let key = listed.split_once("\"key\":\"").unwrap().1.split('"').next().unwrap();
    let shown = ask("GET", &format!("/api/v1/sessions/{key}/entries"), &bearer, "");
    let checked = ask("GET", &format!("/api/v1/sessions/{key}/check"), &bearer, "");
    let found = ask("GET", "/api/v1/search?q=gate", &bearer, "");
    let body = r#"{"role":"user","content":"And close it."}"#;
    let written =
        ask("POST", &format!("/api/v1/sessions/{key}/turns"), &format!("{bearer}{json}"), body);
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(listed.contains("tale"), "{listed}");
    assert!(shown.contains("Open the gate."), "{shown}");
    assert!(checked.contains("\"findings\":[]"), "{checked}");
    assert!(found.contains("tale"), "{found}");
    println!("{written}");
}
