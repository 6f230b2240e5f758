"""One holder of a lock by kazoo, which does what it is told on standard input.

contender.go beside this folder says what the commands are and what it answers. The arguments are the servers, the path,
its own name, the session's time in milliseconds, and the recipe: "patterns" for a Lock with extra_lock_patterns, or
"default". The program ends with its input.
"""

import json
import os
import queue
import random
import sys
import threading
import time

from kazoo.client import KazooClient

told = queue.Queue()


def listen():
    for line in sys.stdin:
        told.put(line.split())
    os._exit(1)  # the test has died, or it is about to kill this process


def tell(who, start, end):
    print(json.dumps({"Who": who, "From": start, "To": end}), flush=True)


def take(lock, who, turns, micros):
    for _ in range(turns):
        lock.acquire()
        start = time.monotonic_ns()
        tell(who, start, 0)
        time.sleep(random.random() * micros / 1e6)
        tell(who, start, time.monotonic_ns())
        lock.release()
    print("done", flush=True)


def main():
    servers, path, who, session, recipe = sys.argv[1:]
    threading.Thread(target=listen, daemon=True).start()
    client = KazooClient(hosts=servers, timeout=int(session) / 1000)
    client.start()
    options = {"extra_lock_patterns": ["-lock-"]} if recipe == "patterns" else {}
    lock = client.Lock(path, who, **options)
    print("ready", flush=True)
    while True:
        words = told.get()
        if words[0] == "turns":
            take(lock, who, int(words[1]), int(words[2]))
        elif words[0] == "lock":
            lock.acquire()
            print("held", flush=True)
        elif words[0] == "unlock":
            lock.release()
            print("free", flush=True)
        else:
            break
    client.stop()


main()
