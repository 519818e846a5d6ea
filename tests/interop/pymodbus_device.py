# SPDX-License-Identifier: Apache-2.0
"""A Modbus TCP device by python3-pymodbus. Usage: pymodbus_device.py PORT

Holding registers 0-23 hold what interop.py expects; 50 to 71 take setpoints."""

import sys

from pymodbus.datastore import ModbusSequentialDataBlock, ModbusServerContext, ModbusSlaveContext
from pymodbus.server import StartTcpServer

# 230.5 as float32 ABCD and CDAB, -1.3 as int16 with scale 0.1, 9007199254740993 as int64, a spare register,
# -9007199254740993 as int64, 18446744073709551615 as uint64, NaN, infinity and -infinity as float32.
REGISTERS = [0x4366, 0x8000, 0x8000, 0x4366, 0xFFF3, 0x0020, 0x0000, 0x0000, 0x0001, 0,
             0xFFDF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF,
             0x7FC0, 0x0000, 0x7F80, 0x0000, 0xFF80, 0x0000]

# A block that starts at 1: this version of pymodbus counts registers from 1 inside.
block = ModbusSequentialDataBlock(1, REGISTERS + [0] * 90)
context = ModbusServerContext(slaves=ModbusSlaveContext(hr=block), single=True)
StartTcpServer(context=context, address=("127.0.0.1", int(sys.argv[1])))
