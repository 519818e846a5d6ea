# SPDX-License-Identifier: Apache-2.0
"""The demo as a newcomer starts it, only shorter. Usage: demo.py GRIDLOOM-BENCH

Its exit code says whether every count agrees; here it must also have done something of each kind."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory(prefix="gridloom-demo-") as folder:
    report = Path(folder) / "demo.json"
    subprocess.run([sys.argv[1], "demo", "--seconds", "30", "--headless", "--json", str(report)], check=True)
    result = json.loads(report.read_text())
idle = [name for name in ("points", "triggers", "control", "mqtt", "alarms") if result["ledger"][name]["done"] == 0]
idle += [name for name in ("simReads", "simWrites", "subscriberMessages", "dbAggregationRows", "dbAlarmRows")
         if result["outside"][name] == 0]
if result["requests"]["readBacks"] == 0:
    idle.append("readBacks")
sys.exit(f"nothing was counted of: {', '.join(idle)}" if idle else 0)
