-- Peak shaving: the battery covers what the site draws above peakKw and recharges below rechargeKw.
-- In between it has nothing to say and does not force 0, so that self-consumption may use the battery.
-- P0 is the grid power as it would be without the battery: P0 = P_grid + P_battery (import +, discharge +).

local p0 = point("site.withoutBattery")
local soc = point("battery1.soc")
local dischargeLimit = point("limits.discharge")
local chargeLimit = point("limits.charge")

local function setShaving(isShaving)
  if isShaving == state.shaving then
    return
  end
  state.shaving = isShaving
  if isShaving then
    alarm.raise("battery.shaving")
  else
    alarm.clear("battery.shaving")
  end
  mqtt.publish("events/peak-shaving", {active = isShaving, withoutBatteryKw = p0.value})
end

-- A bad input is no number: leave the output alone, battery-limits stops the battery when it lasts.
if not (p0.good and soc.good and dischargeLimit.good and chargeLimit.good) then
  return
end

local excess = p0.value - param.peakKw
if excess > 0 then
  local power = math.min(excess, dischargeLimit.value)
  control.write("battery1.setpoint", power)
  aggregation.write("demand.shaved", power)
  setShaving(true)
elseif p0.value < param.rechargeKw and soc.value < param.maxSoc then
  control.write("battery1.setpoint", math.max(p0.value - param.rechargeKw, -chargeLimit.value))
  setShaving(false)
elseif excess < -param.deadbandKw then
  -- The deadband keeps a load that hovers at the peak from raising and clearing the alarm each second.
  setShaving(false)
end
