-- Demand of the running quarter-hour: the mean power that is billed, projected to the end of the window.
-- P_proj = (E + P_grid * (T - t)) / T;  P_allow = (P_lim * T - E) / (T - t), with E the energy since the window began.

local grid = point("meter1.activePower")
local T = param.windowS

-- Quarter-hours of UTC are those of local time in every zone whose offset is a multiple of 15 min.
local start = run.time // T * T
if state.start ~= start then
  -- A window that was not seen from its begin is extrapolated from the part that was seen.
  state.start, state.energy, state.seen = start, 0, 0
  state.last = nil
end

-- Without a good value the gap is not filled with an invented one: the projection uses the time that was seen.
if not grid.good then
  state.last = nil
  return
end
if state.last then
  local dt = run.time - state.last
  state.energy = state.energy + grid.value * dt
  state.seen = state.seen + dt
end
state.last = run.time

local rest = math.max(start + T - run.time, 1)
local mean = state.seen > 0 and state.energy / state.seen or grid.value
local energy = mean * (T - rest)
local projected = (energy + grid.value * rest) / T
local allowed = (param.limitKw * T - energy) / rest
aggregation.write("demand.projected", projected)

-- 5 % between raising and clearing, so that the forecast does not flap.
if projected > param.limitKw and not state.raised then
  alarm.raise("grid.demandForecast", string.format("projected %.1f kW of %.1f kW", projected, param.limitKw))
  state.raised = true
elseif projected < param.limitKw * 0.95 and state.raised then
  alarm.clear("grid.demandForecast")
  state.raised = false
end

state.runs = (state.runs or 0) + 1
if state.runs % param.publishEvery == 0 then
  mqtt.publish("demand", {projectedKw = projected, allowedKw = allowed, restS = math.floor(rest)})
end
