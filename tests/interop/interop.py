# SPDX-License-Identifier: Apache-2.0
"""Gridloom against programs of others. Usage: interop.py BINDIR

python3-pymodbus is the device, mosquitto the broker, mosquitto_sub the subscriber, the sqlite3 command line reads the
records, and mbpoll reads the simulator. Every payload passes Python's strict JSON parser."""

import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

BIN = Path(sys.argv.pop(1))
HERE = Path(__file__).resolve().parent
MOSQUITTO = shutil.which("mosquitto") or "/usr/sbin/mosquitto"  # not on the PATH of an ordinary user


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def strict(text):
    def refuse(name):
        raise ValueError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


class Interop(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gridloom-interop-"))
        self.children = []

    def tearDown(self):
        for child in reversed(self.children):
            child.kill()
            child.wait()
        subprocess.run(["rm", "-rf", str(self.folder)], check=True)

    def start(self, *command, **options):
        child = subprocess.Popen([str(c) for c in command], preexec_fn=die_with_parent, **options)
        self.children.append(child)
        return child

    def wait_for_port(self, port, child):
        until = time.monotonic() + 15
        while time.monotonic() < until:
            self.assertIsNone(child.poll(), f"{child.args} ended early")
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.02)  # between two tries, not instead of one
        self.fail(f"{child.args} does not listen on {port}")

    def start_broker(self):
        port = free_port()
        conf = self.folder / "mosquitto.conf"
        lines = [f"listener {port} 127.0.0.1", "allow_anonymous true", "persistence false", "log_type all",
                 f"log_dest file {self.folder / 'mosquitto.log'}"]
        if os.geteuid() == 0:
            lines.append("user root")
        conf.write_text("\n".join(lines) + "\n")
        self.wait_for_port(port, self.start(MOSQUITTO, "-c", conf, stderr=subprocess.DEVNULL))
        return port

    def write_design(self, files):
        for path, content in files.items():
            target = self.folder / "design" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")

    def test_pymodbus_mosquitto_sqlite(self):
        device_port, broker_port = free_port(), self.start_broker()
        device = self.start(sys.executable, HERE / "pymodbus_device.py", device_port,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_for_port(device_port, device)
        messages = self.folder / "messages"
        with messages.open("wb") as out:
            self.start("stdbuf", "-oL", "mosquitto_sub", "-h", "127.0.0.1", "-p", broker_port, "-q", 1, "-v", "-d",
                       "-t", "gridloom/v1/#", stdout=out, stderr=out)
        until = time.monotonic() + 10
        while b"SUBACK" not in messages.read_bytes():
            self.assertLess(time.monotonic(), until, "mosquitto_sub did not subscribe")
            time.sleep(0.02)

        def point(pid, address, kind="measured", **more):
            return {"id": pid, "name": pid, "kind": kind, "address": f"holding:{address}", "periodMs": 200, **more}

        # PC-15: names with what MQTT reserves, and the last level of their topics as bytes.
        names = {"T2 candle 5W RGB+CW": b"T2 candle 5W RGB%2BCW", "A#1": b"A%231", "a/b": b"a%2Fb",
                 "$SYS/x": b"$SYS%2Fx", "Z\u00e4hler K\u00fcche": bytes.fromhex("5AC3A4686C6572204BC3BC636865")}
        extra = {f"extra{i}": name for i, name in enumerate(list(names)[1:])}
        for pid, name in extra.items():
            self.write_design({f"devices/{pid}.json": {"id": pid, "name": name, "channel": "bus", "params": {"unit": 1},
                                                       "points": [point("energy", 5, type="int64")]}})
        self.write_design({
            "gridloom.json": {"schema": 1, "site": {"id": "s", "name": "S", "zone": "Europe/Vienna"},
                              "gateway": {"id": "gw", "name": "G"}, "storage": {"mode": "realTime"}},
            "channels/bus.json": {"id": "bus", "name": "bus", "driver": "modbus",
                                  "params": {"host": "127.0.0.1", "port": device_port}},
            "devices/dev.json": {"id": "dev", "name": "T2 candle 5W RGB+CW", "channel": "bus", "params": {"unit": 1},
                                 "points": [point("abcd", 0, type="float32", order="ABCD"),
                                            point("cdab", 2, type="float32", order="CDAB"),
                                            point("temperature", 4, type="int16", scale=0.1),
                                            point("energy", 5, type="int64"),
                                            point("negative", 10, type="int64"),  # PC-02
                                            point("greatest", 14, type="uint64"),
                                            point("nan", 18, type="float32"),  # PC-17
                                            point("infinite", 20, type="float32"),
                                            point("minus-infinite", 22, type="float32"),
                                            point("set-energy", 68, "setpoint", type="int64", write={}),
                                            point("set-negative", 60, "setpoint", type="int64", write={}),
                                            point("set-greatest", 64, "setpoint", type="uint64", write={}),
                                            point("set", 50, "setpoint", type="uint32", write={})]},
            "alarms/site.json": {"id": "site", "name": "site",
                                 "alarms": [{"id": "event", "name": "event", "severity": "low"}]},
            "triggers/task.json": {"id": "task", "name": "task", "when": {"kind": "periodic", "periodMs": 200}},
            "triggers/task.lua": """
local device = "T2 candle 5W RGB+CW"
state.active = not state.active
control.write(device .. ".set", run.number)
for _, name in ipairs({"energy", "negative", "greatest"}) do -- each to a setpoint, as it was read
  local p = point(device .. "." .. name)
  if p.good then control.write(device .. ".set-" .. name, p.value) end
end
if state.active then alarm.raise("site.event") else alarm.clear("site.event") end
mqtt.publish("numbers", {run = run.number, energy = point(device .. ".energy").value})
""",
            "sinks/mqtt.json": {"id": "mqtt", "name": "mqtt", "sink": "mqtt",
                                "params": {"host": "127.0.0.1", "port": broker_port},
                                "publications": [{"id": pid, "device": pid, "periodMs": 500, "qos": 1}
                                                 for pid in ("dev", *extra)]},
            "stores/local.json": {"id": "local", "name": "local", "store": "embedded", "params": {}}})
        report = self.folder / "report.json"
        runtime = self.start(BIN / "gridloomd", "--design", self.folder / "design", "--state-dir",
                             self.folder / "state", "--report", report)
        # The device itself says how far the runs have come: the setpoint it holds is the newest run's number.
        until = time.monotonic() + 30
        while self.mbpoll(device_port, 1, "4:int", 50) < 10:
            self.assertLess(time.monotonic(), until, "no tenth run was written to the device")
        runtime.send_signal(signal.SIGTERM)
        self.assertEqual(runtime.wait(20), 0)
        status = strict(report.read_text())
        self.assertEqual(status["ledger"]["triggers"]["done"], status["ledger"]["triggers"]["offered"])

        received = {}
        until = time.monotonic() + 10
        while len(received) < status["ledger"]["mqtt"]["done"] and time.monotonic() < until:
            received = self.messages_in(messages)
        self.assertEqual(len(received), status["ledger"]["mqtt"]["done"])
        topics = {topic for topic, _ in received.values()}
        self.assertIn("gridloom/v1/gw/alarm/site/event", topics)
        prefix = b"gridloom/v1/gw/telemetry/"
        self.assertEqual({t.encode() for t in topics if "/gw/telemetry/" in t},
                         {prefix + level for level in names.values()})
        for name, level in names.items():
            last = [p for t, p in received.values() if t.encode() == prefix + level][-1]
            self.assertEqual(last["device"], name)
            self.assertEqual(last["values"]["energy"]["v"], 9007199254740993)
        self.check_connections("gridloom-gw")

        telemetry = [p["values"] for t, p in received.values() if t.encode() == prefix + b"T2 candle 5W RGB%2BCW"][-1]
        values = {name: value["v"] for name, value in telemetry.items()}
        self.assertGreater(values.pop("set"), 0)
        for name in ("nan", "infinite", "minus-infinite"):
            self.assertIsNone(values.pop(name))
            self.assertEqual(telemetry[name]["q"], "Bad_OutOfRange")
        numbers = {"energy": 9007199254740993, "negative": -9007199254740993, "greatest": 18446744073709551615}
        setpoints = {f"set-{name}": number for name, number in numbers.items()}
        self.assertEqual(values, {"abcd": 230.5, "cdab": 230.5, "temperature": -1.3, **numbers, **setpoints})
        for setpoint, number in setpoints.items():
            rows = self.sqlite("SELECT DISTINCT value, read_back FROM control_records"
                               f" WHERE point_id = 'dev.{setpoint}' AND state = 'Confirmed'")
            self.assertEqual(rows, f"{number}|{number}")
        energies = {p["energy"] for t, p in received.values() if t.endswith("/numbers") and p.get("energy")}
        self.assertEqual(energies, {9007199254740993})

        self.assertEqual(self.sqlite("SELECT count(*) FROM alarm_transitions"),
                         str(status["ledger"]["alarms"]["done"]))
        self.assertEqual(self.sqlite("SELECT count(*) FROM control_records WHERE state = 'Confirmed'"),
                         str(status["control"]["confirmed"]))
        self.assertEqual(self.sqlite("SELECT count(*) FROM run_records WHERE outcome = 'Ok'"),
                         str(status["ledger"]["triggers"]["done"]))
        self.assertEqual(self.sqlite("SELECT count(*) FROM outbox"), "0")
        self.assertEqual(self.sqlite("PRAGMA integrity_check"), "ok")

    def check_connections(self, client):
        """By the broker's log: one connection of this client, ended by itself, and nothing it did was wrong."""
        path, end = self.folder / "mosquitto.log", f"Client {client} disconnected"
        until = time.monotonic() + 10
        while end not in (log := path.read_text(encoding="utf-8")):
            self.assertLess(time.monotonic(), until, "the broker saw no end of the connection")
            time.sleep(0.02)
        lines = log.splitlines()
        self.assertEqual(len([l for l in lines if "New client connected" in l and f" as {client} " in l]), 1)
        self.assertEqual([l.split(": ", 1)[1] for l in lines if f"Client {client} " in l], [end + "."])
        self.assertNotRegex(log.lower(), "protocol error|malformed|bad socket|error:")

    @staticmethod
    def messages_in(path):
        """The messages by id, without those of the status topic and mosquitto_sub's own talk."""
        received = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            if not line.startswith("gridloom/v1/") or "{" not in line:
                continue
            topic, payload = line[:line.index("{") - 1], line[line.index("{"):]
            if not topic.endswith("/status") and payload.endswith("}"):
                content = strict(payload)
                received[content["id"]] = (topic, content)
        return received

    def sqlite(self, query):
        done = subprocess.run(["sqlite3", "-readonly", str(self.folder / "state" / "records.db"), query],
                              capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def mbpoll(self, port, unit, kind, address, *options):
        # -B: the high word first, as ABCD; -0: addresses from 0.
        done = subprocess.run(["mbpoll", "-m", "tcp", "-p", str(port), "-a", str(unit), "-t", kind, "-r", str(address),
                               "-0", "-1", "-q", "-B", *options, "127.0.0.1"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        line = next(l for l in done.stdout.splitlines() if l.startswith(f"[{address}]"))
        return float(line.split(":")[1].split("(")[0])

    def test_mbpoll_reads_the_simulator(self):
        scenario, ports = self.folder / "scenario.json", self.folder / "ports.json"
        scenario.write_text(json.dumps({"devices": [{"id": "meter1", "type": "gridMeter"},
                                                    {"id": "battery1", "type": "battery", "capacityKwh": 60,
                                                     "ratedKw": 30, "socPercent": 55}]}))
        simulator = self.start(BIN / "gridloom-sim", "--scenario", scenario, "--port-file", ports,
                               stdout=subprocess.PIPE, text=True)
        self.assertEqual(simulator.stdout.readline().strip(), "ready")
        port = json.loads(ports.read_text())["devices"]
        self.assertAlmostEqual(self.mbpoll(port["meter1"], 1, "3:float", 24), 50.0, delta=0.5)  # Hz
        self.assertAlmostEqual(self.mbpoll(port["battery1"], 1, "3", 0), 550, delta=5)  # 0.1 %
        simulator.stdout.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
