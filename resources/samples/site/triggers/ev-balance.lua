-- Charging within the main fuse: vehicles share what the rest of the site leaves on the fullest phase.
-- I_free = k * I_main - (I_grid - sum of I_ev), per phase; below 6 A a charger pauses (IEC 61851-1).

local chargers = {"ev1", "ev2"}
local phases = {"L1", "L2", "L3"}

local free = math.huge
for _, phase in ipairs(phases) do
  local current = point("meter1.current" .. phase)
  local power = point("meter1.power" .. phase)
  if not (current.good and power.good) then
    return
  end
  -- A meter's current has no sign; the power tells whether it flows out.
  local other = power.value < 0 and -current.value or current.value
  for _, name in ipairs(chargers) do
    local own = point(name .. ".current" .. phase)
    -- A charger that does not answer counts as part of the rest: that errs to the safe side.
    if own.good then
      other = other - own.value
    end
  end
  free = math.min(free, param.share * param.mainA - other)
end

local plugged = {}
for _, name in ipairs(chargers) do
  if point(name .. ".plugged").good and point(name .. ".plugged").value then
    plugged[#plugged + 1] = name
  end
end

-- With too little for all, the last in the list pauses first. A pause lasts: contactors must not chatter.
local count = #plugged
while count > 0 and free / count < param.minA do
  count = count - 1
end
if count < #plugged then
  state.pausedUntil = run.time + param.pauseS
  state.pausedCount = count
elseif state.pausedUntil and run.time < state.pausedUntil then
  count = math.min(count, state.pausedCount)
end

local isLimited = count < #plugged
for i, name in ipairs(plugged) do
  local greatest = point(name .. ".greatestCurrent")
  if greatest.good then
    -- Whole amperes: finer steps only wear the link to the vehicle.
    local limit = i <= count and math.floor(math.min(free / count, greatest.value)) or 0
    control.write(name .. ".currentLimit", limit)
    isLimited = isLimited or limit < math.floor(greatest.value)
  end
end

if isLimited ~= (state.limited or false) then
  state.limited = isLimited
  if isLimited then
    alarm.raise("charging.limited")
  else
    alarm.clear("charging.limited")
  end
end
