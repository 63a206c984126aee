# Runs a program on a pseudo-terminal of 80 columns and 24 rows, sends keys when a text has appeared, and prints
# what became of it all as JSON.
#
# Its arguments: the program and its words, then `--`, then what is to be waited for and what is sent then, in
# pairs. It needs nothing but Python.
import fcntl, json, os, pty, select, signal, struct, sys, termios, time

mark = sys.argv.index('--')
words, steps = sys.argv[1:mark], sys.argv[mark + 1:]
keys, screen = pty.openpty()
fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
raw = lambda: not termios.tcgetattr(screen)[3] & termios.ICANON
raw_before = raw()
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(screen, termios.TIOCSCTTY, 0)
    for stream in (0, 1, 2):
        os.dup2(screen, stream)
    own = {name: value for name, value in os.environ.items() if name.startswith('EVERTURN_')}
    if 'TERMINAL_HOME' in os.environ:
        own['HOME'] = os.environ['TERMINAL_HOME']
    os.execve(words[0], words, {'TERM': 'xterm', **own})

seen, start, status = b'', 0, None
def look():
    global seen, status
    if select.select([keys], [], [], 0.05)[0]:
        seen += os.read(keys, 65536)
    elif status is None:
        gone, code = os.waitpid(pid, os.WNOHANG)
        status = code if gone else None
    return status is None

def wait_for(text):
    global start
    deadline = time.time() + 30
    while seen.find(text, start) < 0:
        if not look() or time.time() > deadline:
            return False
    start = seen.find(text, start) + len(text)
    return True

found, raw_during = [], False
for text, send in zip(steps[::2], steps[1::2]):
    found.append(wait_for(text.encode()))
    if send == 'SIGTERM':
        # The prompt is printed just before the terminal becomes raw.
        end = time.time() + 10
        while not raw() and time.time() < end:
            time.sleep(0.01)
    raw_during = raw_during or raw()
    if send == 'SIGTERM':
        os.kill(pid, signal.SIGTERM)
    elif send:
        os.write(keys, send.encode())
deadline = time.time() + 30
while look():
    if time.time() > deadline:
        os.kill(pid, signal.SIGKILL)
print(json.dumps({
    'found': found, 'exit': os.waitstatus_to_exitcode(status), 'seen': seen.decode(),
    'raw': [raw_before, raw_during, raw()],
}))
