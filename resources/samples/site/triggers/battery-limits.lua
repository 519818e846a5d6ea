-- Battery limits: what the battery may do now, by its own management system (BMS) and by the state of charge.
-- Runs every 100 ms and outranks every economic function. It writes the setpoint only to take power back or to stop;
-- otherwise the output stays free for the others, who read the limits from limits.charge and limits.discharge.
-- Signs: discharge +, charge -.

local soc = point("battery1.soc")
local setpoint = point("battery1.setpoint")
local bmsCharge = point("battery1.chargeLimit")
local bmsDischarge = point("battery1.dischargeLimit")
local grid = point("meter1.activePower")

local function fresh(p)
  return p.good and p.age <= param.maxAgeS
end

-- Tells the battery that somebody is in charge; without it, it goes to its safe value after 60 s.
state.runs = (state.runs or 0) + 1
if state.runs % 10 == 0 then
  control.write("battery1.heartbeat", (state.runs // 10) % 65536)
end

-- Without its inputs control would be guessing: stop the battery until they are back.
if not (fresh(soc) and fresh(bmsCharge) and fresh(bmsDischarge) and fresh(setpoint) and fresh(grid)) then
  -- Not in the first second: nothing was read yet.
  if state.runs > 10 then
    if not state.blind then
      alarm.raise("battery.blind")
      state.blind = true
    end
    control.write("battery1.setpoint", 0, {priority = "safety"})
  end
  return
end
if state.blind then
  alarm.clear("battery.blind")
  state.blind = false
end

-- Derate linearly inside a band at both ends: a step would make the power jump to and fro at the border.
local function share(distance)
  return math.max(0, math.min(1, distance / param.bandPercent))
end
local discharge = bmsDischarge.value * share(soc.value - param.minSoc)
local charge = bmsCharge.value * share(param.maxSoc - soc.value)

-- A row per tenth of a kilowatt is enough; once in 10 s it is repeated, so that a reader after a restart has it soon.
-- One row a run: at ten runs a second the other one is 0.1 s late, and each run has one row to answer for.
local function tenths(kw)
  return math.floor(kw * 10 + 0.5) / 10
end
if state.discharge ~= tenths(discharge) or state.runs % 100 == 1 then
  state.discharge = tenths(discharge)
  aggregation.write("limits.discharge", state.discharge)
elseif state.charge ~= tenths(charge) or state.runs % 100 == 51 then
  state.charge = tenths(charge)
  aggregation.write("limits.charge", state.charge)
end

-- 0.1 kW of tolerance: the limits above are rounded to it.
if setpoint.value > discharge + 0.1 then
  control.write("battery1.setpoint", discharge)
elseif setpoint.value < -charge - 0.1 then
  control.write("battery1.setpoint", -charge)
end
