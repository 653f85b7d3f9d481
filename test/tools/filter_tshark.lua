-- SPDX-License-Identifier: Apache-2.0
-- tshark's half of the filter oracle test: prints what test/tools/filter_select.c
-- prints, by one listener per filter in a single run over the capture:
--
--     EF_FILTERS=FILTERS tshark -q -r CAPTURE -X lua_script:filter_tshark.lua
--
-- A filter that tshark refuses gets the line "error".
local selected = {}
for line in io.lines(os.getenv("EF_FILTERS")) do
    local numbers = {}
    selected[#selected + 1] = numbers
    local ok, listener = pcall(Listener.new, "frame", line ~= "" and line or nil)
    if ok then
        listener.packet = function(pinfo)
            numbers[#numbers + 1] = pinfo.number .. " "
        end
    else
        numbers[1] = "error"
    end
end

local last = Listener.new("frame")
last.draw = function()
    for _, numbers in ipairs(selected) do
        print(table.concat(numbers))
    end
end
