"""A reader that reads nothing: its variant says how it behaves."""

import json
import sys


def say(message):
    print(json.dumps(message), flush=True)


variant = sys.argv[sys.argv.index("--variant") + 1]
if variant == "refuses":
    say({"ready": False, "reason": "not my kind"})
    sys.exit(0)
if variant == "dies":
    sys.exit("no such library")
say({"ready": True, "reader": "fake", "version": "1.2", "details": "fake"})
passes = 0
for line in sys.stdin:
    if line.strip() == "close":
        break
    passes += 1
    if variant == "errs" and passes == 2:
        say({"error": "disk on fire"})
        continue
    if variant == "babbles":
        print("hello", flush=True)
        continue
    checksum = {"wrong": "00000000000000bb", "drifts": f"{passes:016x}"}.get(variant, "00000000000000aa")
    answer = {"seconds": 0.001 * passes, "checksum": checksum, "user_seconds": 0.5, "system_seconds": 0.25}
    say(answer | {"latencies_ns": [passes * 1000]})
