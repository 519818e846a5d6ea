-- Self-consumption: uses the battery to hold the grid power at targetKw, as long as peak shaving does not need it.
-- P_set = P_battery + Kp * e + Ki * integral(e), with e = P_grid - target; the integral decays inside the deadband.

local grid = point("meter1.activePower")
local battery = point("battery1.activePower")
local p0 = point("site.withoutBattery")
local soc = point("battery1.soc")
local dischargeLimit = point("limits.discharge")
local chargeLimit = point("limits.charge")

if not (grid.good and battery.good and p0.good and soc.good and dischargeLimit.good and chargeLimit.good) then
  state.quiet, state.integral = 0, 0
  return
end

-- An output has one owner. Peak shaving outranks this function, and its claim outlives its last write by 3 s: a write
-- before that would only be rejected. So wait until the power has been in between for some runs.
if p0.value > param.peakKw - param.deadbandKw or p0.value < param.rechargeKw then
  state.quiet, state.integral = 0, 0
  return
end
state.quiet = (state.quiet or 0) + 1
if state.quiet <= param.quietRuns then
  return
end

local e = grid.value - param.targetKw
if math.abs(e) <= param.deadbandKw then
  state.integral = (state.integral or 0) * 0.9
else
  state.integral = (state.integral or 0) + e
end
-- The integral alone may move the battery by 5 kW at most, whatever has piled up while a limit held (anti-windup).
local reach = 5 / param.ki
state.integral = math.max(-reach, math.min(reach, state.integral))

-- Below the reserve the energy is kept for peaks; above maxSoc there is no room.
local most = soc.value > param.reserveSoc and dischargeLimit.value or 0
local least = soc.value < param.maxSoc and -chargeLimit.value or 0
local power = battery.value + param.kp * e + param.ki * state.integral
control.write("battery1.setpoint", math.max(least, math.min(most, power)))
