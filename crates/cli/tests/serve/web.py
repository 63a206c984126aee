"""Uses the web app in headless Chromium, as a person would: keys, clicks, what can be seen.

    web.py URL SESSION [PICTURES]     URL has the one-time code; SESSION is the ID of a game with three turns

Prints one line of JSON: what was seen, and everything that went wrong in the page. Pictures are for people.
"""

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "export" / "tests" / "export"))
from browser import Browser  # noqa: E402


class App(Browser):
    def go(self, url):
        seen = len(self.events)
        self.ask("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events[seen:]):
            self.receive()

    def wait(self, expression, what):
        """Waits until an expression is true."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            value = self.run(f"Boolean({expression})")
            if value:
                return
            time.sleep(0.05)
        sys.exit(f"not seen: {what}; the page says: {self.run('document.body.innerText')!r}")

    def press(self, key, text=None):
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, text=text or (key if len(key) == 1 else ""))
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text):
        self.ask("Input.insertText", text=text)

    def problems(self):
        """Exceptions, refused contents, errors of the console, and requests to elsewhere."""
        found = []
        for event in self.events:
            method, parameters = event["method"], event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"].get("exception", {}).get("description", "exception"))
            if method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                found.append(parameters["entry"]["text"])
            if method == "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                if not url.startswith(("http://127.0.0.1:", "data:", "about:")):
                    found.append(f"request to {url}")
        return found


def text_of(selector):
    return f"(document.querySelector({json.dumps(selector)})?.innerText ?? '')"


# The page is busy until both timers are due: the address changes first, and then the key takes effect.
LEAVE_AFTER_A_KEY = """(() => {
  setTimeout(() => { location.hash = '#/session/session-other'; }, 1);
  document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', bubbles: true }));
  const end = performance.now() + 150;
  while (performance.now() < end) { /* busy */ }
})()"""


def main():
    url, session = sys.argv[1:3]
    pictures = Path(sys.argv[3]) if len(sys.argv) > 3 else None
    app = App()
    seen = {}

    def picture(name, width, height, scheme):
        if pictures:
            app.look(width, height, scheme)
            time.sleep(0.3)
            app.picture(pictures / f"web-{name}.png")
            app.look(1280, 800, "light")

    app.look(1280, 800, "light")
    app.go(url)
    seen["url"] = app.run("location.href")

    # The list, filtered by typing, opened with the keyboard.
    app.wait(f"{text_of('.window')}.includes('turns')", "the list of sessions")
    seen["list"] = app.run(text_of(".window"))
    picture("sessions", 1280, 800, "light")
    app.press("/")
    app.type(session)
    app.wait("document.querySelectorAll('.window-row').length === 1", "one session after filtering")
    app.press("ArrowDown")
    app.press("Enter")

    # The session at its end, and its state.
    app.wait("document.querySelectorAll('article.entry').length >= 3", "the turns")
    seen["text"] = app.run(text_of(".turns"))
    app.wait(f"{text_of('#panel')}.includes('As of turn 3')", "the state of the last turn")
    seen["state"] = app.run(text_of("#panel"))
    picture("session", 1280, 800, "light")
    picture("session-dark", 1280, 800, "dark")
    picture("session-phone", 390, 800, "light")

    # One turn back with a key: the state goes back, too.
    app.run("document.activeElement.blur()")
    app.press("k")
    app.wait(f"{text_of('#panel')}.includes('As of turn 2')", "the state one turn earlier")
    seen["earlier"] = app.run(text_of("#panel"))

    # A turn from the composer, and it is seen.
    app.run("document.querySelector('.composer textarea').focus()")
    app.type("I look around. <img src=x onerror=alert(1)>")
    app.run("document.querySelector('.composer').requestSubmit()")
    app.wait(f"{text_of('.turns')}.includes('I look around')", "the new turn")
    seen["appended"] = app.run(text_of(".turns"))

    # Live: a turn of another process appears without a reload.
    print("append", flush=True)
    sys.stdin.readline()
    app.wait(f"{text_of('.turns')}.includes('A bell rings')", "the turn of another process")

    # Fork at turn 1, from the button.
    app.run("document.activeElement.blur()")
    app.press("g")
    app.press("k")
    app.wait(f"{text_of('.turn-number')}.startsWith('0 /')", "the first turn")
    app.press("j")
    app.wait(f"{text_of('.turn-number')}.startsWith('1 /')", "turn 1")
    app.run("[...document.querySelectorAll('button')].find(each => each.innerText === 'Fork here').click()")
    app.wait(f"location.hash.includes('session/') && {text_of('.turn-number')} === '1 / 1'", "the fork")
    seen["fork"] = app.run("decodeURIComponent(location.hash)")

    # A session of 60 turns opens at its last turn, stays there, and scrolling by hand moves the timeline.
    app.run("location.hash = '#/session/session-long'")
    app.wait(f"{text_of('.turn-number')} === '60 / 60'", "the end of a long session")
    time.sleep(0.6)
    seen["opened"] = app.run(text_of(".turn-number"))
    app.ask("Input.dispatchMouseEvent", type="mouseWheel", x=300, y=400, deltaX=0, deltaY=-100000)
    app.wait(f"Number.parseInt({text_of('.turn-number')}) <= 1", "the first turn after scrolling up")
    app.ask("Input.dispatchMouseEvent", type="mouseWheel", x=300, y=400, deltaX=0, deltaY=100000)
    app.wait(f"{text_of('.turn-number')} === '60 / 60'", "the last turn after scrolling down")

    # A turn that was chosen just before a link was followed does not lead back.
    app.run(LEAVE_AFTER_A_KEY)
    app.wait(f"{text_of('h1')}.includes('Ann')", "the other session")

    # Search and statistics.
    app.press("s")
    app.wait("document.querySelector('[aria-label=\"Search in all sessions\"]')", "the search")
    app.run("document.querySelector('.filters input').focus()")
    app.type("Luna")
    app.wait(f"{text_of('.hits')}.includes('Luna')", "a hit")
    seen["hits"] = app.run("document.querySelector('.hits mark')?.innerText ?? ''")
    picture("search", 1280, 800, "light")
    app.run("location.hash = '#/stats'")
    app.wait(f"{text_of('main')}.includes('Tokens and costs')", "the statistics")

    # The command palette opens and closes with keys.
    app.run("document.getElementById('palette').click()")
    app.wait("document.querySelectorAll('dialog.palette li').length > 3", "the palette")
    picture("palette", 1280, 800, "light")

    seen["problems"] = app.problems()
    print(json.dumps(seen, ensure_ascii=False))
    app.close()


main()
