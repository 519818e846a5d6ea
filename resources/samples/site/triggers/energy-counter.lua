-- Imported energy: one row with each step of the meter's counter, and an event when the counter was reset.
-- A reset or a step that cannot be is no energy: it gives no row, never a wrong one.

local counter = point("meter1.importedEnergy")
if not counter.good then
  return
end

local last, lastTime = state.value, state.time
state.value, state.time = counter.value, run.time
if not last then
  return
end

local step = counter.value - last
local possible = param.maxKw * 1000 * (run.time - lastTime + 1) / 3600
if step < 0 or step > possible then
  alarm.raise("grid.counterReset", string.format("from %d to %d Wh", last, counter.value))
  state.reset = true
  return
end
if state.reset then
  alarm.clear("grid.counterReset")
  state.reset = false
end
aggregation.write("energy.importStep", step)
mqtt.publish("energy", {importedWh = counter.value, stepWh = step})
