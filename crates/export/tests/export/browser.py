"""Opens pages in headless Chromium, through its own protocol on a pipe.

    browser.py check PAGE       prints, as JSON, what the page did and what could be seen of it
    browser.py picture PAGE PNG WIDTH HEIGHT light|dark [SELECTOR]

Only what Python has by itself is needed, and Chromium.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path



# How many seconds the browser may say nothing.
PATIENCE = 60


class Browser:
    """A browser with one page."""

    def __init__(self):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        if program is None:
            sys.exit("there is no chromium; Debian's package chromium has it, and ./test installs it")
        self.profile = tempfile.TemporaryDirectory()
        # The browser reads from 3 and writes to 4, so ours must not be these.
        ends = os.pipe() + os.pipe()
        from_browser, self.to_us, self.from_us, to_browser = [
            fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends
        ]
        for end in ends:
            os.close(end)
        self.reading = from_browser
        self.received = b""
        self.writing = to_browser
        arguments = [
            program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--hide-scrollbars", "--no-first-run", "--disable-background-networking", "--disable-sync",
            "--disable-component-update", "--disable-extensions", "--force-color-profile=srgb",
            "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "about:blank",
        ]

        def pipes():
            os.dup2(self.from_us, 3)
            os.dup2(self.to_us, 4)

        environment = dict(os.environ, HOME=self.profile.name)
        self.process = subprocess.Popen(
            arguments, preexec_fn=pipes, close_fds=False, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(self.from_us)
        os.close(self.to_us)
        self.number = 0
        self.events = []
        self.session = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Network", "Runtime", "Log", "DOM"]:
            self.ask(f"{domain}.enable")

    def receive(self):
        while b"\0" not in self.received:
            ready, _, _ = select.select([self.reading], [], [], PATIENCE)
            piece = os.read(self.reading, 1 << 16) if ready else b""
            if not piece:
                self.process.kill()
                sys.exit("the browser is gone" if ready else "the browser does not answer")
            self.received += piece
        message, self.received = self.received.split(b"\0", 1)
        message = json.loads(message)
        if "method" in message:
            self.events.append(message)
            if message["method"] == "Page.javascriptDialogOpening":
                self.send("Page.handleJavaScriptDialog", accept=True)
        return message

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writing, json.dumps(message).encode() + b"\0")
        return self.number

    def ask(self, method, **parameters):
        number = self.send(method, **parameters)
        while True:
            message = self.receive()
            if message.get("id") == number:
                if "error" in message:
                    sys.exit(f"{method}: {message['error']}")
                return message["result"]

    def run(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            sys.exit(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def open(self, page):
        seen = len(self.events)
        self.ask("Page.navigate", url=Path(page).resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events[seen:]):
            self.receive()

    def look(self, width, height, scheme):
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=2 if width < 500 else 1, mobile=width < 500,
        )
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, file):
        data = self.ask("Page.captureScreenshot", format="png")["data"]
        Path(file).write_bytes(base64.b64decode(data))

    def close(self):
        os.close(self.writing)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.reading)
        self.profile.cleanup()


# Everything that could set off something that was smuggled in: links are clicked, and every element gets the events that
# handlers wait for.
PROVOKE = """
(async () => {
  for (const element of document.querySelectorAll('main *')) {
    for (const name of ['load', 'error', 'focus', 'mouseover', 'toggle', 'loadstart', 'animationstart', 'pointerenter'])
      element.dispatchEvent(new Event(name, {bubbles: false}));
  }
  for (const details of document.querySelectorAll('details')) details.open = true;
  for (const link of document.querySelectorAll('main .text a')) {
    if (!['http:', 'https:', 'mailto:', 'file:'].includes(link.protocol)) link.click();
  }
  await new Promise((done) => setTimeout(done, 300));
  return typeof window.ran_with === 'undefined' ? [] : window.ran_with;
})()
"""

# What of a text may become part of a page.
DOM = """
(() => {
  const odd = [];
  const fine = new Set(['DIV','P','BR','EM','STRONG','DEL','CODE','PRE','UL','OL','LI','BLOCKQUOTE','HR','TABLE','THEAD','TBODY',
    'TR','TH','TD','H4','H5','H6','A','SUP']);
  for (const element of document.querySelectorAll('main .text *')) {
    if (!fine.has(element.tagName)) odd.push(element.outerHTML.slice(0, 200));
    for (const attribute of element.attributes) {
      const name = attribute.name, value = attribute.value;
      const known = ['href', 'rel', 'title', 'align', 'start', 'class', 'dir'].includes(name);
      const leads = name !== 'href' || /^(https?:|mailto:)/i.test(value) || !/^[a-z][a-z0-9+.-]*:/i.test(value);
      if (!known || !leads) odd.push(`${element.tagName} ${name}=${value}`.slice(0, 200));
    }
  }
  return odd;
})()
"""

LOOKS = """
(() => {
  const style = getComputedStyle(document.body);
  const filter = document.getElementById('filter');
  return {
    text: document.body.innerText,
    background: style.backgroundColor,
    colour: style.color,
    filter: filter.getClientRects().length > 0,
    width: document.documentElement.scrollWidth,
    articles: document.querySelectorAll('main article').length,
    without_name: [...document.querySelectorAll('main article')].filter((it) => !it.id || !it.querySelector(`a[href="#${it.id}"]`)).length,
  };
})()
"""


def check(page):
    browser = Browser()
    # Whatever runs calls this.
    hook = "window.ran = (what) => { (window.ran_with = window.ran_with || []).push(String(what)); };"
    browser.ask("Page.addScriptToEvaluateOnNewDocument", source=hook)
    browser.look(1280, 900, "light")
    browser.open(page)
    report = {"ran": browser.run(PROVOKE), "odd": browser.run(DOM), "light": browser.run(LOOKS)}
    browser.run("document.getElementById('theme-dark').click()")
    report["chosen_dark"] = browser.run(LOOKS)["background"]
    browser.look(390, 844, "dark")
    browser.open(page)
    report["phone"] = browser.run(LOOKS)
    browser.run("document.getElementById('theme-light').click()")
    report["chosen_light"] = browser.run(LOOKS)["background"]
    browser.run("""(() => { const input = document.querySelector('#filter input'); input.value = 'AFTER every';
        input.dispatchEvent(new Event('input')); })()""")
    browser.run("new Promise((done) => setTimeout(done, 400))")
    report["filtered"] = browser.run(
        "[...document.querySelectorAll('main article')].filter((it) => it.getClientRects().length > 0).map((it) => it.id)")
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(page)
    report["silent"] = browser.run(LOOKS)
    report["dialogs"] = [
        event["params"]["message"] for event in browser.events if event["method"] == "Page.javascriptDialogOpening"
    ]
    document = Path(page).resolve().as_uri()
    report["requests"] = [
        event["params"]["request"]["url"]
        for event in browser.events
        if event["method"] == "Network.requestWillBeSent"
        and event["params"]["request"]["url"].split("#")[0] not in (document, "about:blank")
    ]
    report["complaints"] = [
        event["params"]["entry"]["text"] for event in browser.events if event["method"] == "Log.entryAdded"
    ] + [
        event["params"]["exceptionDetails"]["text"]
        for event in browser.events
        if event["method"] == "Runtime.exceptionThrown"
    ]
    browser.close()
    json.dump(report, sys.stdout)


def picture(page, file, width, height, scheme, selector=None):
    browser = Browser()
    browser.look(int(width), int(height), scheme)
    browser.open(page)
    if selector:
        browser.run(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{behavior: 'instant'}})")
    browser.run("new Promise((done) => setTimeout(done, 200))")
    browser.picture(file)
    browser.close()


if __name__ == "__main__":
    {"check": check, "picture": picture}[sys.argv[1]](*sys.argv[2:])
