//! What the server refuses: each line of "safe by default" in docs/serve.md, attacked.

use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::client::{Answer, Request, Server, everturn, foreign_session, home, run};

const APPEND: &str = "/api/v1/sessions/demo/append";
const TURN: &str = r#"{"data":{"actor":"player","narration":"Attack."}}"#;

/// The number of turns that the files have, as another process sees it.
fn turns(dir: &std::path::Path) -> u64 {
    let shown = run(dir, &["show", "demo", "--json"], "");
    shown.lines().count() as u64
}

#[test]
fn an_address_that_others_can_reach_needs_consent() {
    let dir = home();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let output = everturn(dir.path()).args(["serve", "--addr", address]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains("without encryption"), "{errors}");
        assert!(errors.contains("--i-know-this-is-not-encrypted"), "{errors}");
    }
    let words = ["--addr", "0.0.0.0:0", "--i-know-this-is-not-encrypted"];
    let server = Server::start_only(dir.path(), &words);
    assert!(server.address.starts_with("127.0.0.1:"));
    let listened = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let port =
        format!("{:04X}", server.address.rsplit(':').next().unwrap().parse::<u16>().unwrap());
    assert!(
        listened.contains(&format!("00000000:{port} 00000000:0000 0A")),
        "not on all addresses"
    );
    // The default is the loopback address.
    let server = Server::start_only(dir.path(), &[]);
    let listened = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let port =
        format!("{:04X}", server.address.rsplit(':').next().unwrap().parse::<u16>().unwrap());
    assert!(listened.contains(&format!("0100007F:{port} 00000000:0000 0A")), "not on loopback");
    assert!(!listened.contains(&format!("00000000:{port} ")));
}

#[test]
fn nothing_is_served_without_a_secret_of_this_start() {
    let dir = home();
    let server = Server::start(dir.path(), &[]);
    let old = server.token.clone();
    for path in ["/api/v1", "/api/v1/sessions", "/api/v1/sessions/demo", "/api/v1/openapi.json"] {
        let answer = server.send(&Request::new("GET", path));
        assert_eq!(answer.status, 401, "{path}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        assert_eq!(answer.json()["code"], "unauthorized");
        assert!(answer.header("www-authenticate").is_some());
    }
    for secret in ["", "x", &old[1..], &format!("{old}0"), &server.code] {
        let request =
            Request::new("GET", "/api/v1").header("Authorization", &format!("Bearer {secret}"));
        assert_eq!(server.send(&request).status, 401, "{secret:?}");
        let cookie = format!("everturn_{}={secret}", server.address.rsplit(':').next().unwrap());
        assert_eq!(
            server.send(&Request::new("GET", "/api/v1").header("Cookie", &cookie)).status,
            401
        );
    }
    // In a URL, no secret is accepted.
    let with_token = format!("/api/v1?token={old}&access_token={old}");
    assert_eq!(server.send(&Request::new("GET", &with_token)).status, 401);
    let other = Server::start(dir.path(), &[]);
    let request = Request::new("GET", "/api/v1").header("Authorization", &format!("Bearer {old}"));
    assert_eq!(other.send(&request).status, 401, "the token of another start");
    assert_ne!(other.token, old);
    // The page at the top has no data, and needs no secret.
    let page = server.send(&Request::new("GET", "/"));
    assert_eq!(page.status, 200);
    assert!(!String::from_utf8_lossy(&page.body).contains("demo"));
}

#[test]
fn a_code_works_once_and_becomes_a_strict_cookie() {
    let dir = home();
    let server = Server::start_only(dir.path(), &[]);
    let login = format!("/login?code={}", server.code);
    assert_eq!(server.send(&Request::new("GET", "/login?code=0000")).status, 401);
    assert_eq!(server.send(&Request::new("GET", "/login")).status, 401);
    let cross = Request::new("GET", &login).header("Sec-Fetch-Site", "cross-site");
    assert_eq!(server.send(&cross).status, 403);
    let answer = server.send(&Request::new("GET", &login).header("Sec-Fetch-Site", "none"));
    assert_eq!(answer.status, 303, "{answer:?}");
    // The code leaves the URL.
    assert_eq!(answer.header("location"), Some("/"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains("Domain") && cookie.contains("; Path=/"), "{cookie}");
    let pair = cookie.split(';').next().unwrap();
    assert!(!pair.contains(&server.code));
    assert_eq!(server.send(&Request::new("GET", "/api/v1").header("Cookie", pair)).status, 200);
    // The second use fails, also as a token.
    assert_eq!(server.send(&Request::new("GET", &login)).status, 401);
    let body = format!(r#"{{"code":"{}"}}"#, server.code);
    assert_eq!(server.send(&Request::new("POST", "/api/v1/token").json(&body)).status, 401);
    // After a logout the cookie is void.
    let origin = format!("http://{}", server.address);
    let logout =
        Request::new("POST", "/api/v1/logout").header("Cookie", pair).header("Origin", &origin);
    assert_eq!(server.send(&logout).status, 200);
    assert_eq!(server.send(&Request::new("GET", "/api/v1").header("Cookie", pair)).status, 401);
    server.wait_for_log("by=nobody operation=logIn status=401");
    server.wait_for_log("by=browser operation=logIn status=303");
    assert!(!server.log.lock().unwrap().contains(&server.code), "a secret is in the log");
}

#[test]
fn another_host_is_refused_whatever_else_is_right() {
    let dir = home();
    let server = Server::start(dir.path(), &["--host", "studio.example"]);
    let port = server.address.rsplit(':').next().unwrap().to_owned();
    let ask = |host: &str| server.ask(Request::new("GET", "/api/v1/sessions").host(host)).status;
    for host in
        ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", "localhost", "127.0.0.1:1"]
    {
        assert_eq!(ask(host), 403, "{host}");
    }
    for host in
        [format!("LOCALHOST:{port}"), format!("[::1]:{port}"), format!("studio.example:{port}")]
    {
        assert_eq!(ask(&host), 200, "{host}");
    }
    assert_eq!(ask(""), 400);
    let twice = Request::new("GET", "/api/v1").header("Host", "evil.example");
    assert_eq!(server.ask(twice).status, 400);
    let absolute = Request::new("GET", "http://evil.example/api/v1/sessions");
    assert_eq!(server.ask(absolute).status, 403);
    // Pages without data and logins are protected, too.
    assert_eq!(server.send(&Request::new("GET", "/").host("evil.example")).status, 403);
    assert_eq!(server.send(&Request::new("GET", "/login?code=1").host("evil.example")).status, 403);
}

#[test]
fn changes_of_another_origin_change_nothing() {
    let dir = home();
    let server = Server::start_only(dir.path(), &[]);
    let login = server.send(&Request::new("GET", &format!("/login?code={}", server.code)));
    let cookie = login.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let own = format!("http://{}", server.address);
    let port: u16 = server.address.rsplit(':').next().unwrap().parse().unwrap();
    let post = |headers: &[(&str, &str)]| {
        let mut request = Request::new("POST", APPEND).json(TURN).header("Cookie", &cookie);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        server.send(&request).status
    };
    assert_eq!(post(&[]), 403);
    assert_eq!(post(&[("Origin", "http://evil.example")]), 403);
    assert_eq!(post(&[("Origin", "null")]), 403);
    assert_eq!(post(&[("Origin", &format!("http://127.0.0.1:{}", port ^ 1))]), 403);
    assert_eq!(post(&[("Origin", &own), ("Sec-Fetch-Site", "same-site")]), 403);
    assert_eq!(post(&[("Sec-Fetch-Site", "cross-site")]), 403);
    assert_eq!(post(&[("Sec-Fetch-Site", "none")]), 403);
    // What a form of another page could send.
    let form = Request::new("POST", APPEND)
        .header("Cookie", &cookie)
        .header("Origin", &own)
        .body("text/plain", TURN.as_bytes());
    assert_eq!(server.send(&form).status, 415);
    // A read with the cookie of a page on another port.
    let near = Request::new("GET", "/api/v1/sessions").header("Cookie", &cookie);
    assert_eq!(server.send(&near.header("Sec-Fetch-Site", "same-site")).status, 403);
    assert_eq!(turns(dir.path()), 1);
    assert_eq!(post(&[("Origin", &own), ("Sec-Fetch-Site", "same-origin")]), 200);
    assert_eq!(turns(dir.path()), 2);
}

#[test]
fn no_answer_allows_another_origin() {
    let dir = home();
    let server = Server::start(dir.path(), &[]);
    let preflight = Request::new("OPTIONS", APPEND)
        .header("Origin", "http://evil.example")
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Private-Network", "true");
    let answers = [
        server.send(&preflight),
        server.ask(Request::new("OPTIONS", APPEND)),
        server.ask(Request::new("GET", "/api/v1/sessions")),
        server.ask(Request::new("GET", "/api/v1/sessions").header("Origin", "http://evil.example")),
        server.send(&Request::new("GET", "/")),
    ];
    for answer in &answers {
        let allows = answer.headers.iter().find(|(name, _)| name.starts_with("access-control-"));
        assert_eq!(allows, None, "{answer:?}");
    }
    assert_eq!(answers.map(|answer| answer.status), [403, 405, 200, 403, 200]);
}

#[test]
fn every_answer_has_the_protecting_headers() {
    let dir = home();
    let server = Server::start(dir.path(), &[]);
    let page = server.send(&Request::new("GET", "/"));
    let policy = page.header("content-security-policy").unwrap().to_owned();
    assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    let answers = [
        page,
        server.send(&Request::new("GET", "/app.css")),
        server.send(&Request::new("GET", "/api/v1")),
        server.ask(Request::new("GET", "/api/v1")),
        server.ask(Request::new("GET", "/nothing")),
        server.ask(Request::new("POST", "/api/v1/openapi.json")),
        server.send(&Request::new("GET", "/").host("evil.example")),
        server.ask(Request::new("POST", APPEND).json("{")),
    ];
    for answer in answers {
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{answer:?}");
        assert!(policy.contains("frame-ancestors 'none'"), "{answer:?}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{answer:?}");
        assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{answer:?}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{answer:?}");
        assert_eq!(
            answer.header("cross-origin-resource-policy"),
            Some("same-origin"),
            "{answer:?}"
        );
        let cache = answer.header("cache-control").unwrap();
        assert!(["no-store", "private, no-cache"].contains(&cache), "{answer:?}");
    }
}

#[test]
fn foreign_sessions_and_a_read_only_server_are_not_changed() {
    let dir = home();
    let file = foreign_session(dir.path());
    let before = std::fs::read(&file).unwrap();
    let server = Server::start(dir.path(), &[]);
    let id = "aaaa1111-0000-4000-8000-000000000001";
    let found = server.get(&format!("/api/v1/sessions/{id}"));
    assert_eq!((&found["format"], &found["writable"]), (&"pi".into(), &false.into()));
    for (path, body) in [
        ("append", TURN),
        ("undo", "{}"),
        ("rewind", r#"{"turn":1}"#),
        ("trash", "{}"),
        ("marks", r#"{"name":"x"}"#),
        ("pause", "{}"),
    ] {
        let (status, answer) = server.post(&format!("/api/v1/sessions/{id}/{path}"), body);
        assert_eq!((status, &answer["code"]), (403, &"read_only".into()), "{path}: {answer}");
    }
    let pin = server.ask(Request::new("PUT", &format!("/api/v1/sessions/{id}/pin")));
    assert_eq!(pin.status, 403);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert!(!dir.path().join(".pi/agent/.everturn").exists());
    drop(server);
    let server = Server::start(dir.path(), &["--read-only"]);
    for (method, path, body) in [
        ("POST", APPEND, TURN),
        ("POST", "/api/v1/sessions", r#"{"format":"game"}"#),
        ("POST", "/api/v1/sessions/demo/trash", "{}"),
        ("PUT", "/api/v1/sessions/demo/pin", "{}"),
    ] {
        let answer = server.ask(Request::new(method, path).json(body));
        assert_eq!((answer.status, &answer.json()["code"]), (403, &"read_only".into()), "{path}");
    }
    assert_eq!(turns(dir.path()), 1);
}

#[test]
fn paths_are_not_names() {
    let dir = home();
    let outside = dir.path().join("outside");
    run(dir.path(), &["new", "game", "--id", "hidden", "--root", outside.to_str().unwrap()], "");
    let server = Server::start(dir.path(), &[]);
    let root = dir.path().join(".everturn");
    for name in [
        "../outside/sessions/active/hidden".to_owned(),
        "sessions/active/demo".to_owned(),
        root.join("sessions/active/demo").to_string_lossy().into_owned(),
        outside.join("sessions/active/hidden").to_string_lossy().into_owned(),
        "root:game:../../outside/sessions/active/hidden".to_owned(),
        "latest".to_owned(),
        "hidden".to_owned(),
        "dem".to_owned(),
        "demo\0".to_owned(),
    ] {
        let encoded: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let answer = server.ask(Request::new("GET", &format!("/api/v1/sessions/{encoded}")));
        assert_eq!((answer.status, &answer.json()["code"]), (404, &"not_found".into()), "{name}");
    }
    for path in ["/..%2f..%2fetc/passwd", "/../../etc/passwd", "/web/index.html", "/%2e%2e/app.css"]
    {
        let answer = server.ask(Request::new("GET", path));
        assert_eq!(answer.status, 404, "{path}");
    }
    for id in ["../x", "a/b", "..", "a\\u0000b", "latest"] {
        let (status, answer) =
            server.post("/api/v1/sessions", &format!(r#"{{"format":"game","id":"{id}"}}"#));
        assert_eq!(status, 400, "{id}: {answer}");
    }
}

#[test]
fn requests_are_limited_in_size_and_time() {
    let dir = home();
    let server = Server::start(dir.path(), &[]);
    let long = "x".repeat((16 << 20) + 1);
    let answer = server.ask(Request::new("POST", APPEND).json(&long));
    assert_eq!((answer.status, &answer.json()["code"]), (413, &"too_long".into()));
    // Without a length, the body is cut off, too.
    let mut stream = server.connect();
    let head = format!(
        "POST {APPEND} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
        server.address, server.token
    );
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = [b"100000\r\n".as_slice(), &[b'x'; 1 << 20], b"\r\n"].concat();
    for _ in 0..18 {
        if stream.write_all(&chunk).is_err() {
            break;
        }
    }
    assert_eq!(Answer::read(&mut BufReader::new(stream)).status, 413);
    // A head that never ends is cut off by its size, and by time.
    let mut stream = server.connect();
    let header = format!("X-Long: {}\r\n", "a".repeat(1000));
    stream.write_all(b"GET /api/v1 HTTP/1.1\r\n").unwrap();
    for _ in 0..1000 {
        if stream.write_all(header.as_bytes()).is_err() {
            break;
        }
    }
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).ok();
    assert!(
        rest.is_empty() || rest.starts_with(b"HTTP/1.1 431"),
        "{}",
        String::from_utf8_lossy(&rest)
    );
    let start = Instant::now();
    let mut slow: TcpStream = server.connect();
    slow.write_all(b"GET /api/v1 HTTP/1.1\r\nHost: ").unwrap();
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).ok();
    let waited = start.elapsed();
    assert!(waited > Duration::from_secs(8) && waited < Duration::from_secs(20), "{waited:?}");
    assert_eq!(turns(dir.path()), 1);
}

#[test]
fn requests_are_limited_in_rate() {
    let dir = home();
    let server = Server::start(dir.path(), &["--rate", "10"]);
    let statuses: Vec<u16> =
        (0..60).map(|_| server.ask(Request::new("GET", "/api/v1")).status).collect();
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(statuses.first(), Some(&200));
    drop(server);
    // Guesses are limited much earlier, and do not lock the owner out.
    let server = Server::start(dir.path(), &[]);
    let guess = |_| server.send(&Request::new("GET", "/login?code=guess")).status;
    let statuses: Vec<u16> = (0..60).map(guess).collect();
    assert!(statuses.iter().filter(|status| **status == 401).count() < 40, "{statuses:?}");
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(server.ask(Request::new("GET", "/api/v1")).status, 200);
}

#[test]
fn secrets_are_masked_until_they_are_revealed() {
    let dir = home();
    let secret = "glpat-Ab3dEf6hIj9lMn2pQr5t";
    let turn = format!(r#"{{"actor":"player","narration":"The token is {secret}."}}"#);
    run(dir.path(), &["append", "demo"], &turn);
    let server = Server::start(dir.path(), &[]);
    for query in ["", "?raw=true", "?raw=true&reveal=false"] {
        let path = format!("/api/v1/sessions/demo/entries{query}");
        let shown = server.get(&path).to_string();
        assert!(!shown.contains(secret) && shown.contains("[secret:gitlab-token:"), "{shown}");
    }
    assert!(!server.log.lock().unwrap().contains("operation=listEntries"));
    let shown = server.get("/api/v1/sessions/demo/entries?reveal=true").to_string();
    assert!(shown.contains(secret), "{shown}");
    server.wait_for_log("by=program operation=listEntries session=\"demo\" status=200");
}

#[test]
fn every_change_is_one_line_in_the_log() {
    let dir = home();
    let server = Server::start(dir.path(), &[]);
    assert_eq!(server.post(APPEND, TURN).0, 200);
    server.wait_for_log("by=program operation=appendTurn session=\"demo\" status=200");
    assert_eq!(server.post("/api/v1/sessions/a%0Ab/append", TURN).0, 404);
    server.wait_for_log("operation=appendTurn session=\"a\\nb\" status=404");
    server.get("/api/v1/sessions");
    let log = server.log.lock().unwrap().clone();
    assert!(!log.contains("listSessions"), "{log}");
    assert!(!log.contains(&server.token), "a secret is in the log");
}

#[test]
fn a_unix_socket_is_only_for_its_owner() {
    let dir = home();
    let socket = dir.path().join("serve.sock");
    let words = ["serve", "--json", "--unix-socket", socket.to_str().unwrap()];
    let mut child = everturn(dir.path()).args(words).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut BufReader::new(child.stdout.take().unwrap()), &mut line)
        .unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o700);
    let send = |request: Request, host: &str| {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(&request.bytes(host)).unwrap();
        Answer::read(&mut BufReader::new(stream))
    };
    let body = format!(r#"{{"code":"{}"}}"#, ready["code"].as_str().unwrap());
    let answer = send(Request::new("POST", "/api/v1/token").json(&body), "localhost");
    let token = format!("Bearer {}", answer.json()["token"].as_str().unwrap());
    let list = || Request::new("GET", "/api/v1/sessions").header("Authorization", &token);
    assert_eq!(send(list(), "localhost").status, 200);
    assert_eq!(send(list(), "evil.example").status, 403);
    assert_eq!(send(Request::new("GET", "/api/v1/sessions"), "localhost").status, 401);
    // A second server does not take the socket of the first.
    let second = everturn(dir.path()).args(words).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert_eq!(send(list(), "localhost").status, 200);
    // After a kill the socket is left, and is replaced.
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(socket.exists());
    let mut child = everturn(dir.path()).args(words).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut BufReader::new(child.stdout.take().unwrap()), &mut line)
        .unwrap();
    assert!(line.contains("code"), "{line}");
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").arg(&pid).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!socket.exists());
}

#[test]
fn a_signal_ends_the_server_and_keeps_every_turn() {
    let dir = home();
    for signal in ["-TERM", "-INT", "-HUP"] {
        let before = turns(dir.path());
        let mut server = Server::start(dir.path(), &[]);
        // A connection that is open and idle does not delay the end.
        let idle = server.connect();
        assert_eq!(server.post(APPEND, TURN).0, 200);
        let start = Instant::now();
        server.signal(signal);
        assert_eq!(server.wait(), Some(0), "{signal}");
        assert!(start.elapsed() < Duration::from_secs(4), "{signal}: {:?}", start.elapsed());
        drop(idle);
        assert_eq!(turns(dir.path()), before + 1);
        run(dir.path(), &["check", "demo"], "");
    }
}
